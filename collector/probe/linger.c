/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/probe/probe_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/numbers.h"

/* The kernel needs some tens of milliseconds to move a process to another cgroup. */
#define LINGER_MS 1000

DEFINE_CLEANUP(DIR, closedir)

/* Close all descriptors except those of BPF, because a process may wait for the end of a pipe. */
static void keep_bpf(void)
{
    CLEANUP(closedirp) DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char target[32] = "";
        uint64_t fd;

        if (number_parse(entry->d_name, 0, INT_MAX, &fd) < 0 || (int)fd == dirfd(dir) ||
            readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) < 0)
            continue;
        if (strncmp(target, "anon_inode:bpf", 14))
            (void)close((int)fd);
    }
}

static void leave_cgroup(const char *to)
{
    char path[PATH_MAX];
    _close_ int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", to);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)!write(fd, "0", 1);
}

/* Keep nothing of the caller: not its terminal, cgroup, files or working directory. */
static void linger(pid_t parent, const char *cgroup, const int gone[2])
{
    (void)setsid();
    (void)!chdir("/");
    leave_cgroup(cgroup);
    keep_bpf();
    (void)close(gone[0]); /* also if /proc could not be read */
    (void)close(gone[1]);
    /* The signal arrives after the parent has closed all its descriptors. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        (void)pause();
    _exit(0);
}

void probe_linger(const struct probe *probe, const char *cgroup)
{
    pid_t parent = getpid(), pid;
    int gone[2];

    /* Kprobe events can only be removed when no process holds them any more. */
    if (!probe->skel || probe->directory || probe->by_kprobes || pipe2(gone, O_CLOEXEC) < 0)
        return;
    pid = fork();
    if (pid == 0)
        linger(parent, cgroup, gone);
    (void)close(gone[1]);
    /* The child closes its end of the pipe after it has moved to the other cgroup. */
    if (pid > 0)
        (void)poll(&(struct pollfd){.fd = gone[0]}, 1, LINGER_MS);
    (void)close(gone[0]);
}
