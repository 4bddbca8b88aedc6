/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A slurmstepd that is none: jobio.so in a small SPANK host (spank_host.h: a fake), with real
 * cgroups. Its socket and its files lie in a directory of the test. What cannot be done fails the
 * test.
 */
#ifndef JOBIO_TESTS_UNIT_STEPD_H
#define JOBIO_TESTS_UNIT_STEPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tests/unit/cgroups.h"
#include "tests/unit/spank_host.h"

extern char stepd_folder[];
extern char *stepd_words[];                   /* of plugstack.conf: the socket there */
extern const struct spank_handle stepd_batch; /* step 17.batch, requeued twice */

/* Of the group of tests, and after each: what the plugin said and made goes. */
int stepd_set_up(void **state);
int stepd_clean(void **state);
int stepd_tear_down(void **state);

/* Real cgroups, or the test is skipped. */
void stepd_cgroups(struct cgroups *c, int version, const char *name);
/* The life of a slurmstepd, in a process of its own: all hooks give ESPANK_SUCCESS. `option` (may
 * be NULL) is that of --io-summary. */
void stepd_run(const struct spank_handle *handle, char **av, const struct cgroups *c,
               const char *option);

/* --- files in the directory
 * -----------------------------------------------------------------------
 */
bool stepd_has(const char *name);
/* "" if there is none; good until the next call. */
char *stepd_read(const char *name);
/* Make it if need be, and date it so many seconds back. */
void stepd_age(const char *name, time_t seconds);
/* In a mount namespace of our own. */
void stepd_mount(const char *type, const char *path, const char *options);

uint64_t stepd_now_ms(void);
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);
size_t stepd_count(const char *text, const char *part);

#endif
