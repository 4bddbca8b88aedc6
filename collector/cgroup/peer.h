/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that asked. The socket names it as it was at the connect: since then it may have
 * ended, with the socket handed on, and its number may be another's.
 */
#ifndef JOBIO_COLLECTOR_CGROUP_PEER_H
#define JOBIO_COLLECTOR_CGROUP_PEER_H

#include <sys/types.h>

#include "common/error.h"

/* A descriptor of the process `pid`, readable when it ends; the caller closes it. -ESRCH: it is
 * gone. -EPERM: it is not, or not in all its ids, of `uid`. */
int peer_open(pid_t pid, uid_t uid, struct error *error);
/* 0: the process still runs, so its number was no other's since peer_open(). -ESRCH. */
int peer_check(int pidfd, struct error *error);

#endif
