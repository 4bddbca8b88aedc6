/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "config.h"

#include "collector/daemon/instance.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/call.h"
#include "common/cleanup.h"

#define BPFFS "/sys/fs/bpf"

char *instance_pin_dir(const char *runtime_dir)
{
    char *name;

    if (!strcmp(runtime_dir, JOBIO_RUNTIME_DIR))
        return strdup(BPFFS "/jobio");
    while (*runtime_dir == '/')
        runtime_dir++;
    if (asprintf(&name, BPFFS "/jobio-%s", runtime_dir) < 0)
        return NULL;
    /* bpffs does not allow dots in names. */
    for (char *c = name + strlen(BPFFS "/"); *c; c++)
        if (*c == '/' || *c == '.')
            *c = '-';
    return name;
}

static int make_dir(const char *path, mode_t mode, struct error *error)
{
    _free_ char *parent = strdup(path);

    for (char *c = parent ? parent + 1 : NULL; c && *c; c++)
        if (*c == '/') {
            *c = '\0';
            (void)mkdir(parent, 0755);
            *c = '/';
        }
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "cannot make %s", path);
    return 0;
}

/* The kernel releases the lock when the process ends, even if it crashes. */
int instance_lock(const char *runtime_dir, struct error *error)
{
    char path[512], pid[32] = "";
    _close_ int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/lock", runtime_dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_errno(error, -errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        ssize_t n = read(fd, pid, sizeof(pid) - 1);

        pid[n > 0 ? n : 0] = '\0';
        pid[strcspn(pid, "\n")] = '\0';
        return error_set(error, -EBUSY, "another jobiod (process %s) serves %s", pid, runtime_dir);
    }
    (void)snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || write(fd, pid, strlen(pid)) < 0)
        return error_errno(error, -errno, "cannot write %s", path);
    return TAKE_FD(fd);
}

int instance_claim(const char *runtime_dir, const char *state_dir, struct error *error)
{
    int r = make_dir(runtime_dir, 0755, error);

    if (!r)
        r = make_dir(state_dir, 0750, error);
    return r < 0 ? r : instance_lock(runtime_dir, error);
}

int instance_open_store(struct store **ret, const struct store_options *options,
                        struct error *error)
{
    int r;

    /* Migrating a store of an older release may take longer than the start timeout of systemd. */
    (void)sd_notify(0, "EXTEND_TIMEOUT_USEC=1800000000");
    r = store_open(ret, options, error);
    if (store_error_lasts(r))
        r = -ENOTRECOVERABLE;
    return r < 0 ? error_prefix(error, r, "the store") : 0;
}
