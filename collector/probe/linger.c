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
#include "common/clock.h"
#include "common/numbers.h"

/* The kernel needs some tens of milliseconds to move a process to another cgroup. */
#define LINGER_MS 1000

DEFINE_CLEANUP(DIR, closedir)

/* Held by each process that detaches, at the byte of the time at which its caller ended. */
#define LOCK_FILE "/run/jobio-detach.lock"

static bool is_bpf(int fd)
{
    char path[64], target[32] = "";

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof(target) - 1) > 0 && !strncmp(target, "anon_inode:bpf", 14);
}

/* Close all descriptors except those of BPF, because a process may wait for the end of a pipe; or
 * those of BPF. */
static void close_all(bool bpf, int except)
{
    CLEANUP(closedirp) DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        uint64_t fd;

        if (number_parse(entry->d_name, 0, INT_MAX, &fd) == 0 && (int)fd != dirfd(dir) &&
            (int)fd != except && is_bpf((int)fd) == bpf)
            (void)close((int)fd);
    }
}

static int open_lock(void)
{
    return open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Returns a descriptor, which the children inherit together with the lock; -1: it cannot be locked,
 * and the next run does not wait. */
static int lock_now(void)
{
    struct flock lock = {
        .l_type = F_RDLCK, .l_start = (off_t)clock_ns(CLOCK_MONOTONIC), .l_len = 1};
    _close_ int fd = open_lock();

    return fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0 ? TAKE_FD(fd) : -1;
}

bool probe_is_lingering(uint64_t before_ns)
{
    struct flock lock = {.l_type = F_WRLCK, .l_len = (off_t)before_ns};
    _close_ int fd = open_lock();

    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
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

/* Returns after the parent has closed all its descriptors. */
static void wait_for_end(pid_t parent)
{
    sigset_t signals;
    int number;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 && getppid() == parent)
        (void)sigwait(&signals, &number);
}

/* Keep nothing of the caller: not its terminal, cgroup, files or working directory. */
static void linger(pid_t parent, const char *cgroup, int lock, const int gone[2])
{
    (void)setsid();
    (void)!chdir("/");
    leave_cgroup(cgroup);
    close_all(false, lock);
    (void)close(gone[0]); /* also if /proc could not be read */
    (void)close(gone[1]);
    wait_for_end(parent);
    close_all(true, lock); /* the lock goes last, with the process */
    _exit(0);
}

void probe_linger(const struct probe *probe, const char *cgroup)
{
    pid_t parent = getpid(), pid;
    _close_ int lock = -1;
    int gone[2];

    /* Kprobe events can only be removed when no process holds them any more. */
    if (!probe->skel || probe->directory || probe->by_kprobes || pipe2(gone, O_CLOEXEC) < 0)
        return;
    lock = lock_now();
    pid = fork();
    if (pid == 0)
        linger(parent, cgroup, lock, gone);
    (void)close(gone[1]);
    /* The child closes its end of the pipe after it has moved to the other cgroup. */
    if (pid > 0)
        (void)poll(&(struct pollfd){.fd = gone[0]}, 1, LINGER_MS);
    (void)close(gone[0]);
}
