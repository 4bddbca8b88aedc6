/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe_internal.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/cleanup.h"

DEFINE_CLEANUP(DIR, closedir)

/* Of all that is open keep what belongs to the programs: somebody may wait for the end of a pipe. */
static void keep_bpf(void)
{
    CLEANUP(closedirp) DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char *end, target[32] = "";
        long fd = strtol(entry->d_name, &end, 10);

        if (*end || end == entry->d_name || fd == dirfd(dir) ||
            readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) < 0)
            continue;
        if (strncmp(target, "anon_inode:bpf", 14))
            (void)close((int)fd);
    }
}

void probe_linger(const struct probe *probe)
{
    pid_t parent = getpid();

    /* The events of kprobes can only be removed when nobody holds them any more. */
    if (probe->folder || probe->by_kprobes || fork() != 0)
        return;
    (void)setsid();
    keep_bpf();
    /* The signal comes when the other process has closed all that it had. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        (void)pause();
    _exit(0);
}
