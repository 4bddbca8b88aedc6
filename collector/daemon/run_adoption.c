/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of an earlier process. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/daemon/runs_impl.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

/* A descriptor of the process that sent the request, or a negative errno. */
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

/* Takes the descriptor. Without one, the process has ended while no jobiod ran, or it is not known
 * any more by its user or cgroup: its parent may still request the account. */
static int follow(struct run *run, pid_t pid, int process, struct error *error)
{
    if (process < 0) {
        run->orphaned_ns = clock_ns(CLOCK_BOOTTIME);
        run->orphans = hierarchy_processes(run->runs->options.hierarchy, run->leaf.path);
        return run_start_grace(run, error);
    }
    run->owners = peer_owners(pid);
    return run_watch(run, process, error);
}

/* With what was missed between its start and the start of this process. */
static int add_to_sampler(struct run *run, struct error *error)
{
    struct sampler *sampler = run->runs->options.sampler;
    const char *none = "missed:"; /* so all that was missed since the programs were attached */
    int r = sampler_resume_missed(sampler, run->missed ? run->missed : none);

    if (r < 0)
        return error_errno(error, r, "cannot continue to count it");
    r = sampler_add(sampler, run->step, run->start_boot_ns, run->start_ns, NULL, error);
    (void)sampler_resume_missed(sampler, NULL);
    return r;
}

/* Continue to count it, from the counters that are still in the maps. */
static int resume(struct run *run, pid_t pid, struct error *error)
{
    const struct runs_options *o = &run->runs->options;
    _close_ int fd = open_client(run, pid, NULL);
    int r = hierarchy_check(o->hierarchy, 2, run->leaf.path, run->leaf.id, error);

    if (r == 0 && !probe_has(o->probe, run->leaf.id, 2))
        r = error_set(error, -ENOENT, "its counters are gone");
    if (r == 0)
        r = probe_add(o->probe, run->leaf.id, run->leaf.level, 2, &run->step, error);
    if (r == 0)
        r = add_to_sampler(run, error);
    if (r < 0)
        return r;
    run->over = false;
    r = follow(run, pid, TAKE_FD(fd), error);
    if (r < 0)
        run_stop(run);
    return r;
}

static int adopt(struct run *run, const char *name)
{
    struct error error;
    pid_t pid;
    int r = run_file_read(run->runs->dir, name, run, &pid);

    /* What cannot be counted is removed by the tick, once its cgroup is empty. */
    if (r == 0 && pid && resume(run, pid, &error) < 0)
        log_info("jobio run %" PRIu64 " of user %u is not counted any more: %s", run->number,
                 (unsigned)run->uid, error.text);
    return r;
}

static void adopt_file(struct runs *runs, const char *name)
{
    struct run *run = calloc(1, sizeof(*run));

    if (!run)
        return;
    run->runs = runs;
    run->owners = (struct peer_owners){PEER_NO_OWNER, PEER_NO_OWNER};
    run->over = true;
    run->process = -1;
    run->next = runs->list;
    runs->list = run;
    if (adopt(run, name) < 0) {
        (void)unlinkat(runs->dir, name, 0);
        run_free(run);
    }
}

void runs_adopt(struct runs *runs)
{
    int fd = runs->dir < 0 ? -1 : fcntl(runs->dir, F_DUPFD_CLOEXEC, 3);
    _closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            adopt_file(runs, entry->d_name);
    runs_remove(runs);
}
