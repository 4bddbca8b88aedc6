/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the modes of jobio-record share. Each mode is given the arguments of main and returns the
 * exit status. */
#ifndef JOBIO_RECORD_RECORD_IMPL_H
#define JOBIO_RECORD_RECORD_IMPL_H

#include <stdint.h>

#include "record/accounting.h"

#define EXIT_USAGE 2
#define EXIT_LEFT 3 /* of the backlog: jobs remain in it */

int mode_backlog(int argc, char *argv[]);
int mode_show(int argc, char *argv[]);

/* The AdminComment that slurmctld has of the job, malloc'd; NULL: none. */
char *live_comment(const struct accounting_id *id);

/* One line on standard error, and EXIT_FAILURE. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Kills the program, with a word, when it takes longer: libslurm waits for as long as it likes. */
int start_timer(uint64_t timeout_ns);

#endif
