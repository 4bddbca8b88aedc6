/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modes of jobio-record and their common functions. Each mode gets the arguments of main and
 * returns the exit status. */
#ifndef JOBIO_RECORD_RECORD_IMPL_H
#define JOBIO_RECORD_RECORD_IMPL_H

#include <stdint.h>

#include "record/accounting.h"

#define EXIT_USAGE 2
#define EXIT_LEFT 3   /* jobs remain in the backlog */
#define EXIT_NO_JOB 4 /* of --nodes and --state */

int mode_backlog(int argc, char *argv[]);
int mode_nodes(int argc, char *argv[]);
int mode_show(int argc, char *argv[]);
int mode_state(int argc, char *argv[]);

/* Returns the AdminComment of the job in slurmctld, malloc'd; NULL: none. */
char *find_live_comment(const struct accounting_id *id);

/* Print a line to standard error. Returns EXIT_FAILURE. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Exit with a message after this time, because libslurm may wait longer. */
int start_timer(uint64_t timeout_ns);

#endif
