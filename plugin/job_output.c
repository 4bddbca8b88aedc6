/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "plugin/job_output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "plugin/fork.h"

/* slurmstepd has fewer. */
#define DESCRIPTORS_MAX 16384

/* How long an abandoned writer may wait for a slow file system, in seconds. */
#ifndef LATE_S
#define LATE_S 30
#endif

/* Only system calls: other threads of slurmstepd may have held locks at the fork. */
static void __attribute__((noreturn)) write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, text, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(n < 0 ? errno : EIO);
        text += n;
        size -= (size_t)n;
    }
    _exit(0);
}

/* A hung writer must not hold the sockets and pipes of slurmstepd, because the peer would wait for
 * it. Files stay open: closing one on a hung server would hang, too. */
static void close_sockets_and_pipes(int keep)
{
    struct rlimit limit = {.rlim_cur = 0};
    int type;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd < DESCRIPTORS_MAX && (rlim_t)fd < limit.rlim_cur; fd++) {
        socklen_t size = sizeof(type);

        if (fd != keep && (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ||
                           fcntl(fd, F_GETPIPE_SZ) >= 0))
            (void)close(fd);
    }
}

/* The user can give the job an output that never takes anything, such as a FIFO that nobody reads.
 * slurmstepd blocks signals. */
static void die_after(unsigned seconds)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGALRM);
    (void)sigaction(SIGALRM, &action, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)alarm(seconds);
}

static unsigned seconds_until(uint64_t deadline_ns)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

    return deadline_ns > now_ns ? (unsigned)((deadline_ns - now_ns) / NS_PER_S) + 1 : 1;
}

/* Move the process to the root of every hierarchy that Slurm may use. Returns false if it may still
 * be in a cgroup of the step. */
static bool leave_cgroups(pid_t pid)
{
    static const char *const files[] = {
        "/sys/fs/cgroup/cgroup.procs",         "/sys/fs/cgroup/unified/cgroup.procs",
        "/sys/fs/cgroup/cpuacct/cgroup.procs", "/sys/fs/cgroup/cpuset/cgroup.procs",
        "/sys/fs/cgroup/devices/cgroup.procs", "/sys/fs/cgroup/freezer/cgroup.procs",
        "/sys/fs/cgroup/memory/cgroup.procs",
    };
    bool left = false;

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        _close_ int fd = open(files[i], O_WRONLY | O_CLOEXEC);

        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0 || dprintf(fd, "%d", (int)pid) < 0)
            return false;
        left = true;
    }
    return left;
}

/* Slurm cannot remove a step's cgroup that has a process. */
static void abandon(pid_t pid)
{
    if (!leave_cgroups(pid))
        (void)kill(pid, SIGKILL);
}

/* Polls, because SIGCHLD belongs to slurmstepd. */
static int wait_until(pid_t pid, uint64_t deadline_ns, int *status)
{
    struct timespec pause = {0, 200000};

    for (;;) {
        pid_t r = waitpid(pid, status, WNOHANG);

        if (r == pid)
            return 0;
        if (r < 0 && errno != EINTR)
            return -errno;
        if (clock_ns(CLOCK_MONOTONIC) >= deadline_ns)
            return -ETIMEDOUT;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000)
            pause.tv_nsec *= 2;
    }
}

int job_output_write(int fd, const char *text, size_t size, uint64_t deadline_ns,
                     struct error *error)
{
    unsigned seconds = seconds_until(deadline_ns) + LATE_S;
    int status = 0, r;
    pid_t pid;

    pid = fork_without_handlers();
    if (pid < 0)
        return error_errno(error, -errno, "fork to write the summary");
    if (pid == 0) {
        die_after(seconds);
        close_sockets_and_pipes(fd);
        write_all(fd, text, size);
    }
    r = wait_until(pid, deadline_ns, &status);
    if (r == -ETIMEDOUT) {
        abandon(pid);
        return error_set(error, r, "the job's output did not take the summary in time");
    }
    if (r < 0)
        return error_errno(error, r, "wait for the writer of the summary");
    if (WIFSIGNALED(status))
        return error_set(error, -EIO, "the writer of the summary died of signal %d",
                         WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return error_errno(error, -WEXITSTATUS(status), "write the summary to the job's output");
    return 0;
}
