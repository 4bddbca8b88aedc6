/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of /proc/PID/stat, by their numbers in proc(5). */
#ifndef JOBIO_COMMON_PROC_STAT_H
#define JOBIO_COMMON_PROC_STAT_H

#include <stdint.h>

#define PROC_STAT_STATE 3
#define PROC_STAT_THREADS 20
#define PROC_STAT_START 22 /* in clock ticks since the boot */
#define PROC_STAT_STACK 28 /* the address of the start of the stack */

/* Returns a field of the line, 3 or later; NULL: there is none. Field 2, the name of the program in
 * brackets, may contain blanks and brackets. */
const char *proc_stat_field(const char *line, unsigned number);
/* Read a field that is not negative. 0; -EINVAL: there is none. */
int proc_stat_number(const char *line, unsigned number, uint64_t *ret);

#endif
