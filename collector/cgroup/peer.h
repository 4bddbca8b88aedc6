/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process at the other end of a socket. The socket reports its number as of the connect: since
 * then the process may have ended, after it passed the socket on, and its number may be reused.
 */
#ifndef JOBIO_COLLECTOR_CGROUP_PEER_H
#define JOBIO_COLLECTOR_CGROUP_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

/* A descriptor of the process `pid`; the caller closes it. It is readable when the process has
 * ended; before Linux 5.3 it is a directory that cannot be polled, and only peer_check() reports
 * that the process has ended. -ESRCH: the process is gone. -EPERM: not all of its user ids are
 * `uid`. */
int peer_open(pid_t pid, uid_t uid, struct error *error);
/* 0: the process still runs, so its number has not been reused since peer_open(). Else -ESRCH. */
int peer_check(int process, struct error *error);

/* Check that no other process gets this number in the next moment: cgroup.procs accepts only
 * numbers, and a process may end between a peer_check() and the write. Numbers are assigned in
 * ascending order, so those of the newest half of them are safe. 0; -EAGAIN: an older
 * process; -EIO: /proc cannot be read. */
int peer_check_number(pid_t pid, struct error *error);
/* For tests. last: the number of the newest process. */
bool peer_number_is_recent(pid_t pid, pid_t last, pid_t max);

#define PEER_NO_OWNER ((uid_t)-1)

/* Who is accountable for a process, whose uid may be a subordinate one. A process that has no login
 * uid can choose one, so do not hold a user responsible for others with that login uid. */
struct peer_owners {
    uid_t login;           /* the login uid; PEER_NO_OWNER: none, or root's */
    uid_t namespace_owner; /* the creator of its outermost user namespace; or PEER_NO_OWNER */
};
struct peer_owners peer_owners(pid_t pid);

#endif
