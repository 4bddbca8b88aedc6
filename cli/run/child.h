/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command of `jobio run`: a process that is held back until it may start, so that nothing of it
 * is missed and nothing of ours is counted.
 */
#ifndef JOBIO_CLI_RUN_CHILD_H
#define JOBIO_CLI_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

struct child;

/* Where the shell would find the program; malloc'd. -ENOENT, or -EACCES when all that has the name
 * cannot be executed. */
int child_resolve(const char *name, char **ret, struct error *error);

/* In the new process, before the program starts: may put it into a cgroup. *ret is handed to the
 * parent. May use all of libc; it was forked from a process with one thread. */
typedef int (*child_prepare_f)(void *arg, uint64_t *ret, struct error *error);

/* Fork. From now on SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 and SIGCHLD are blocked in
 * this process, SIGPIPE is ignored; the command gets both as they were. */
int child_create(struct child **ret, const char *program, char *const argv[],
                 child_prepare_f prepare, void *arg, struct error *error);
pid_t child_pid(const struct child *child);

/* Let it go on: prepare, then execute. Returns when the program runs. *ret is what prepare gave.
 * What failed tells child_failure(): 0 nothing or prepare, else the errno of execve. */
int child_start(struct child *child, uint64_t *ret, struct error *error);
int child_failure(const struct child *child);

/* A descriptor that is readable when child_handle() has to be called. */
int child_fd(const struct child *child);
/* Pass signals on that somebody sent to us (not those of the terminal: these go to the command
 * anyway), and see whether it has ended. True: it has. */
bool child_handle(struct child *child);

/* Block until child_fd() is readable. */
void child_wait(const struct child *child);

/* Once it has ended: as a shell says it, 128 + n for signal n. */
int child_status(const struct child *child);

/* Kills what was not started; what runs is left alone. NULL is fine. */
void child_destroy(struct child *child);

#endif
