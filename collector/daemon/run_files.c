/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of runs: from them, the next jobiod continues to count a run, or removes its cgroup. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/daemon/runs_impl.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/log.h"
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

/* --- runs of an earlier process --------------------------------------------------------------- */

/* The cgroup, if it is that of the run with this number. */
static int take_path(const char *path, uint64_t number, char ret[static RUN_PATH_MAX])
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char own[64];

    (void)snprintf(own, sizeof(own), "jobio-run-%" PRIu64, number);
    if (!slash || strcmp(slash + 1, own) != 0 || strlen(path) >= RUN_PATH_MAX)
        return -EINVAL;
    (void)strcpy(ret, path);
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
    return 0;
}

/* A descriptor of the process that sent the request. If it has ended, its parent has asked for the
 * account in vain. */
static int open_client(const struct run *run, pid_t pid, struct error *error)
{
    _close_ int fd = peer_open(pid, run->uid, error);
    char path[sizeof(run->leaf.path)];
    int r = fd < 0 ? fd : hierarchy_of(pid, path, error);

    if (r == 0)
        r = peer_check(fd, error); /* the path is that of this process */
    if (r == 0 && !run_has_path(run, path))
        r = error_set(error, -ESRCH, "another process has its number");
    return r < 0 ? r : TAKE_FD(fd);
}

/* Continue to count it, from the counters that are still in the maps. */
static int resume(struct run *run, pid_t pid, struct error *error)
{
    const struct runs_options *o = &run->runs->options;
    _close_ int fd = open_client(run, pid, error);
    int r = fd < 0 ? fd : hierarchy_check(o->hierarchy, 2, run->leaf.path, run->leaf.id, error);

    if (r == 0 && !probe_has(o->probe, run->leaf.id, 2))
        r = error_set(error, -ENOENT, "its counters are gone");
    if (r == 0)
        r = probe_add(o->probe, run->leaf.id, run->leaf.level, 2, &run->step, error);
    if (r == 0)
        r = sampler_add(o->sampler, run->step, run->start_boot_ns, run->start_ns, NULL, error);
    if (r < 0)
        return r;
    run->over = false;
    run->owners = peer_owners(pid);
    r = run_watch(run, TAKE_FD(fd), error);
    if (r < 0)
        run_stop(run);
    return r;
}

static int read_file(int dir, const char *name, struct message *m, uint64_t *number)
{
    _close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, m->data, sizeof(m->data));
    struct error error;

    if (n <= 0 || number_parse(name, 0, UINT64_MAX, number) < 0)
        return -EINVAL;
    m->size = (size_t)n;
    return message_check(m, &error);
}

int run_file_cgroup(int dir, const char *name, char ret[static RUN_PATH_MAX])
{
    _free_ struct message *m = malloc(sizeof(*m));
    uint64_t number;
    int r = m ? read_file(dir, name, m, &number) : -ENOMEM;

    return r < 0 ? r : take_path(message_get(m, "CGROUP"), number, ret);
}

static int adopt(struct run *run, const char *name, struct message *m)
{
    struct error error;
    pid_t pid;
    int r = read_file(run->runs->dir, name, m, &run->number);

    if (r == 0)
        r = take_path(message_get(m, "CGROUP"), run->number, run->leaf.path);
    if (r < 0)
        return r;
    /* What cannot be counted is removed by the tick, once its cgroup is empty. */
    if (take_fields(run, m, &pid) < 0)
        return 0;
    if (resume(run, pid, &error) < 0)
        log_info("jobio run %" PRIu64 " of user %u is not counted any more: %s", run->number,
                 (unsigned)run->uid, error.text);
    return 0;
}

static void adopt_file(struct runs *runs, const char *name, struct message *m)
{
    struct run *run = calloc(1, sizeof(*run));

    if (!run)
        return;
    run->runs = runs;
    run->owners = (struct peer_owners){PEER_NO_OWNER, PEER_NO_OWNER};
    run->over = true;
    run->pidfd = -1;
    run->next = runs->list;
    runs->list = run;
    if (adopt(run, name, m) < 0) {
        (void)unlinkat(runs->dir, name, 0);
        run_free(run);
    }
}

void run_files_adopt(struct runs *runs)
{
    _free_ struct message *m = malloc(sizeof(*m));
    int fd = runs->dir < 0 ? -1 : fcntl(runs->dir, F_DUPFD_CLOEXEC, 3);
    _closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (m && dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            adopt_file(runs, entry->d_name, m);
}
