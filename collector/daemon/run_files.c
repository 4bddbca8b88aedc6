/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of runs: from them, the next jobiod continues to count a run (run_adoption.c), or
 * removes its cgroup. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/daemon/runs_impl.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/message.h"
#include "common/numbers.h"

int run_files_open(const char *runtime_dir)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/runs", runtime_dir);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static const char *file_name(const struct run *run, char buf[32])
{
    (void)snprintf(buf, 32, "%" PRIu64, run->number);
    return buf;
}

void run_file_write(const struct run *run, pid_t pid)
{
    _free_ struct message *m = malloc(sizeof(*m));
    _free_ char *missed = sampler_missed(run->runs->options.sampler);
    _close_ int fd = -1;
    char name[32];

    if (!m)
        return;
    message_init(m, "run");
    (void)message_put(m, "CGROUP", run->leaf.path);
    (void)message_put_u64(m, "CGROUP_ID", run->leaf.id);
    (void)message_put_u64(m, "CGROUP_LEVEL", run->leaf.level);
    (void)message_put_u64(m, "UID", run->uid);
    (void)message_put_u64(m, "PID", (uint64_t)pid);
    (void)message_put_u64(m, "STARTED_AT", run->start_ns);
    (void)message_put_u64(m, "STARTED_BOOT", run->start_boot_ns);
    if (missed)
        (void)message_put(m, "MISSED", missed);
    fd =
        openat(run->runs->dir, file_name(run, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, m->data, m->size) != (ssize_t)m->size)
        (void)unlinkat(run->runs->dir, name, 0);
}

void run_file_remove(const struct run *run)
{
    char name[32];

    (void)unlinkat(run->runs->dir, file_name(run, name), 0);
}

/* The cgroup, if it is that of the run with this number. */
static int take_path(struct run *run, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char own[64];

    (void)snprintf(own, sizeof(own), "jobio-run-%" PRIu64, run->number);
    if (!slash || strcmp(slash + 1, own) != 0 || strlen(path) >= sizeof(run->leaf.path))
        return -EINVAL;
    (void)strcpy(run->leaf.path, path);
    return 0;
}

static int take_fields(struct run *run, const struct message *m, pid_t *pid)
{
    struct {
        const char *key;
        uint64_t max, value;
    } fields[] = {
        {"CGROUP_ID", UINT64_MAX, 0}, {"CGROUP_LEVEL", UINT32_MAX, 0},
        {"UID", UINT32_MAX, 0},       {"PID", INT32_MAX, 0},
        {"STARTED_AT", INT64_MAX, 0}, {"STARTED_BOOT", INT64_MAX, 0},
    };
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!message_get(m, fields[i].key) ||
            message_get_u64(m, fields[i].key, fields[i].max, 0, &fields[i].value, &error) < 0)
            return -EINVAL;
    run->leaf.id = fields[0].value;
    run->leaf.level = (unsigned)fields[1].value;
    run->uid = (uid_t)fields[2].value;
    *pid = (pid_t)fields[3].value;
    run->start_ns = fields[4].value;
    run->start_boot_ns = fields[5].value;
    if (message_get(m, "MISSED"))
        run->missed = strdup(message_get(m, "MISSED"));
    return 0;
}

static int read_message(int dir, const char *name, struct message *m)
{
    _close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, m->data, sizeof(m->data));
    struct error error;

    if (n <= 0)
        return -EINVAL;
    m->size = (size_t)n;
    return message_check(m, &error);
}

int run_file_read(int dir, const char *name, struct run *run, pid_t *pid)
{
    _free_ struct message *m = malloc(sizeof(*m));
    int r = m ? read_message(dir, name, m) : -ENOMEM;

    if (r < 0 || number_parse(name, 0, UINT64_MAX, &run->number) < 0)
        return r < 0 ? r : -EINVAL;
    *pid = 0;
    r = take_path(run, message_get(m, "CGROUP"));
    if (r == 0)
        (void)take_fields(run, m, pid);
    return r;
}
