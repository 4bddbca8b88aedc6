/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/cgroup/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/proc_stat.h"

/* The headers of EL 8 do not have it. Its kernel does not have the call either. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

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

/* Before Linux 5.3: the directory of the process in /proc. Its files cannot be read any more once
 * the process has been reaped, even if its number is reused. The first thread may end before the
 * others. Other errors, such as too many open files, do not mean that it has ended. */
static bool has_ended(int directory)
{
    _close_ int fd = openat(directory, "stat", O_RDONLY | O_CLOEXEC);
    char text[1024];
    const char *state;
    uint64_t threads;
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT || errno == ESRCH;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return errno == ESRCH;
    text[n] = '\0';
    state = proc_stat_field(text, PROC_STAT_STATE);
    return proc_stat_number(text, PROC_STAT_THREADS, &threads) == 0 && threads <= 1 &&
           (*state == 'Z' || *state == 'X');
}

static int open_process(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    char name[64];

    if (fd >= 0 || errno != ENOSYS)
        return fd;
    (void)snprintf(name, sizeof(name), "/proc/%d", (int)pid);
    fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        errno = ESRCH;
    return fd;
}

int peer_check(int process, struct error *error)
{
    struct pollfd watched = {.fd = process, .events = POLLIN};
    struct stat st;
    bool ended = fstat(process, &st) == 0 && S_ISDIR(st.st_mode) ? has_ended(process)
                                                                 : poll(&watched, 1, 0) != 0;

    return ended ? error_set(error, -ESRCH, "the process that asked has ended") : 0;
}

int peer_open(pid_t pid, uid_t uid, struct error *error)
{
    _close_ int process = open_process(pid);
    int r;

    if (process < 0)
        return error_errno(error, -errno, "cannot watch process %d", (int)pid);
    r = read_owner(pid, uid, error);
    /* It still runs, so what was read by its number belongs to this process. */
    if (!r)
        r = peer_check(process, error);
    return r < 0 ? r : TAKE_FD(process);
}

/* --- the number ------------------------------------------------------------------------------- */

/* The kernel's RESERVED_PIDS: after the highest number come those from here. */
#define FIRST_PID 300

bool peer_number_is_recent(pid_t pid, pid_t last, pid_t max)
{
    pid_t n = max - FIRST_PID;

    return (last >= pid ? last - pid : last + n - pid) < n / 2;
}

int peer_check_number(pid_t pid, struct error *error)
{
    _fclose_ FILE *load = fopen("/proc/loadavg", "re");
    _fclose_ FILE *limit = fopen("/proc/sys/kernel/pid_max", "re");
    pid_t last, max;

    if (!load || fscanf(load, "%*s %*s %*s %*s %d", &last) != 1 || !limit ||
        fscanf(limit, "%d", &max) != 1)
        return error_set(error, -EIO, "cannot read /proc/loadavg and /proc/sys/kernel/pid_max");
    if (peer_number_is_recent(pid, last, max))
        return 0;
    return error_set(error, -EAGAIN,
                     "the number of process %d may be reused soon: start the command again",
                     (int)pid);
}

/* --- the owner -------------------------------------------------------------------------------- */

static uid_t read_login(pid_t pid)
{
    _fclose_ FILE *file = NULL;
    char name[64];
    unsigned uid;

    (void)snprintf(name, sizeof(name), "/proc/%d/loginuid", (int)pid);
    file = fopen(name, "re");
    return file && fscanf(file, "%u", &uid) == 1 && uid != 0 ? uid : PEER_NO_OWNER;
}

/* The owners of inner namespaces may be subordinate users. */
static uid_t read_namespace_owner(pid_t pid)
{
    struct stat ours, theirs;
    _close_ int fd = -1;
    char name[64];
    uid_t uid;

    (void)snprintf(name, sizeof(name), "/proc/%d/ns/user", (int)pid);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || stat("/proc/self/ns/user", &ours) < 0 || fstat(fd, &theirs) < 0 ||
        theirs.st_ino == ours.st_ino)
        return PEER_NO_OWNER;
    for (;;) {
        _close_ int parent = ioctl(fd, NS_GET_PARENT);

        if (parent < 0 || fstat(parent, &theirs) < 0)
            return PEER_NO_OWNER;
        if (theirs.st_ino == ours.st_ino)
            return ioctl(fd, NS_GET_OWNER_UID, &uid) < 0 ? PEER_NO_OWNER : uid;
        cleanup_close(&fd);
        fd = TAKE_FD(parent);
    }
}

struct peer_owners peer_owners(pid_t pid)
{
    return (struct peer_owners){read_login(pid), read_namespace_owner(pid)};
}
