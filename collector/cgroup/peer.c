/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/cgroup/peer.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

/* From the list of ids, because the owner of /proc/PID is root for a process that cannot be
 * dumped. */
static int read_owner(pid_t pid, uid_t uid, struct error *error)
{
    char name[64], line[256];
    _fclose_ FILE *file = NULL;
    unsigned real, effective, saved;

    (void)snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
    file = fopen(name, "re");
    if (!file)
        return error_set(error, -ESRCH, "the process that asked (%d) has ended", (int)pid);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Uid: %u %u %u", &real, &effective, &saved) != 3)
            continue;
        if (real == uid && effective == uid && saved == uid)
            return 0;
        return error_set(error, -EPERM, "process %d is not one of uid %u", (int)pid, (unsigned)uid);
    }
    return error_set(error, -ESRCH, "the process that asked (%d) has ended", (int)pid);
}

int peer_check(int pidfd, struct error *error)
{
    struct pollfd watched = {.fd = pidfd, .events = POLLIN};

    return poll(&watched, 1, 0) == 0 ? 0
                                     : error_set(error, -ESRCH, "the process that asked has ended");
}

int peer_open(pid_t pid, uid_t uid, struct error *error)
{
    _close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int r;

    if (pidfd < 0)
        return error_errno(error, -errno, "cannot watch process %d", (int)pid);
    r = read_owner(pid, uid, error);
    /* It still runs, so what was read by its number belongs to this process. */
    if (!r)
        r = peer_check(pidfd, error);
    return r < 0 ? r : TAKE_FD(pidfd);
}
