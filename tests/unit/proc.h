/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory that stands for /proc: tasks "1", "self", "7" and "8" with their tables of mounts. */
#ifndef JOBIO_TESTS_UNIT_PROC_H
#define JOBIO_TESTS_UNIT_PROC_H

#include <stdint.h>

#include "collector/mounts/mounts.h"

#define DEV(major, minor) ((uint32_t)(major) << 20 | (minor))

extern char proc_folder[];

/* Of the group of tests. */
int proc_set_up(void **state);
int proc_tear_down(void **state);

/* The path of the task, or of a file below it (may be NULL). */
void proc_path(char path[256], const char *pid, const char *file);
/* Its mountinfo. */
void proc_write(const char *pid, const char *text);
/* Its namespace, that of `like` if not NULL, and when it was born. */
void proc_task(const char *pid, const char *like, unsigned born);
void proc_remove(const char *pid);
/* Over this directory; the caller's. */
struct mounts *proc_mounts(void);

#endif
