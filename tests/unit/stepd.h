/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake slurmstepd: jobio.so in a small SPANK host (spank_host.h) with real cgroups. Its socket
 * and files are in a directory of the test. Errors fail the test.
 */
#ifndef JOBIO_TESTS_UNIT_STEPD_H
#define JOBIO_TESTS_UNIT_STEPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tests/unit/cgroups.h"
#include "tests/unit/spank_host.h"

extern char stepd_directory[];
extern char *stepd_words[];                   /* arguments in plugstack.conf: the socket */
extern const struct spank_handle stepd_batch; /* step 17.batch, requeued twice */

/* The plugin of a second line of plugstack.conf; NULL: there is none. */
extern const char *stepd_second;

extern bool stepd_mpi;    /* --io-mpi is given */
extern bool stepd_stacks; /* --io-stacks is given */
extern bool stepd_trace;  /* --io-trace is given, with this value or NULL: */
extern const char *stepd_trace_of;

/* Set up the group of tests; clean the log and the files of the plugin after each test. */
int stepd_set_up(void **state);
int stepd_clean(void **state);
int stepd_tear_down(void **state);

/* Make real cgroups; skips the test if that is not possible. */
void stepd_cgroups(struct cgroups *c, int version, const char *name);
/* Run all hooks of a slurmstepd in a process; each must return ESPANK_SUCCESS. `option` is the
 * value of
 * --io-summary or NULL. */
void stepd_run(const struct spank_handle *handle, char **av, const struct cgroups *c,
               const char *option);

/* --- files in the directory
 * -----------------------------------------------------------------------
 */
bool stepd_has(const char *name);
/* "" if there is none; valid until the next call. */
char *stepd_read(const char *name);
/* Make the file if it is missing, and set its time so many seconds back. */
void stepd_age(const char *name, time_t seconds);
/* In a new mount namespace. */
void stepd_mount(const char *type, const char *path, const char *options);

uint64_t stepd_now_ms(void);
void assert_has(const char *text, const char *part);
void assert_has_not(const char *text, const char *part);
size_t stepd_count(const char *text, const char *part);

#endif
