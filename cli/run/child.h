/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command of `jobio run`: a process that waits until counting has started before it executes
 * the program, so that all of its I/O is counted, and nothing of ours.
 */
#ifndef JOBIO_CLI_RUN_CHILD_H
#define JOBIO_CLI_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

struct child;

/* The path at which a shell would find the program; malloc'd. -ENOENT, or -EACCES if all files of
 * that name are not executable. */
int child_resolve(const char *name, char **ret, struct error *error);

/* Called in the new process before the program starts: may put it into a cgroup. *ret is handed to
 * the parent. May use all of libc; it was forked from a process with one thread. */
typedef int (*child_prepare_f)(void *arg, uint64_t *ret, struct error *error);

/* Fork. From now on SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 and SIGCHLD are blocked in
 * this process, and SIGPIPE is ignored; the command inherits what was set before. */
int child_create(struct child **ret, const char *program, char *const argv[],
                 child_prepare_f prepare, void *arg, struct error *error);
pid_t child_pid(const struct child *child);

/* Let it continue: prepare, then execute. Returns when the program runs. *ret is from prepare.
 * After a failure child_failure() returns the errno of execve, or 0 if execve has not failed. */
int child_start(struct child *child, uint64_t *ret, struct error *error);
int child_failure(const struct child *child);

/* A descriptor that is readable when child_handle() must be called. */
int child_fd(const struct child *child);
/* Forward signals that were sent to this process (not those of the terminal, which the command
 * receives itself), and check for its end. True: it has ended. */
bool child_handle(struct child *child);

/* Block until child_fd() is readable. */
void child_wait(const struct child *child);

/* Before the start or after the end: wait at most `ms` milliseconds for a signal that ends this
 * process, too (HUP, INT, QUIT, TERM). True: there was one. Others are ignored. */
bool child_wait_interrupt(const struct child *child, unsigned ms);

/* After the end: the exit status as a shell reports it, 128 + n for signal n. */
int child_status(const struct child *child);

/* For a command that was not started: kill it and undo what child_create() has changed, so that
 * another one can be created. Signals that were blocked since take effect now. NULL is fine. */
void child_cancel(struct child *child);

/* Kills a command that was not started; a running one is left alone. NULL is fine. */
void child_destroy(struct child *child);

#endif
