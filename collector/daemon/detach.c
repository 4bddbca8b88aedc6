/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/detach.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/daemon/instance.h"
#include "collector/daemon/runs_impl.h"
#include "collector/probe/probe.h"
#include "common/cleanup.h"

/* Returns whether the cgroup of that `jobio run` is gone. */
static bool remove_run(struct hierarchy *hierarchy, int dir, const char *name)
{
    struct run run = {0};
    pid_t pid;

    int r = run_file_read(dir, name, &run, &pid);

    free(run.missed);
    if (r < 0 || hierarchy_remove(hierarchy, run.leaf.path) < 0)
        return false;
    (void)unlinkat(dir, name, 0);
    return true;
}

static unsigned remove_runs(struct hierarchy *hierarchy, const char *runtime_dir)
{
    char path[512];
    _closedir_ DIR *dir = NULL;
    const struct dirent *entry;
    unsigned n = 0;

    (void)snprintf(path, sizeof(path), "%s/runs", runtime_dir);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            n += remove_run(hierarchy, dirfd(dir), entry->d_name);
    return n;
}

struct cgroups {
    struct hierarchy *hierarchy;
    unsigned n;
};

/* A jobiod that was killed in its self-test leaves one. */
static void remove_selftest(const struct hierarchy_leaf *child, void *arg)
{
    struct cgroups *cgroups = arg;
    const char *name = strrchr(child->path, '/');

    if (name && !strncmp(name, "/selftest-", strlen("/selftest-")))
        cgroups->n += hierarchy_remove(cgroups->hierarchy, child->path) == 0;
}

static unsigned remove_cgroups(const char *runtime_dir)
{
    struct cgroups cgroups = {0};
    struct error error;

    if (hierarchy_create(&cgroups.hierarchy, "/proc/self/mountinfo", &error) < 0)
        return 0;
    cgroups.n = remove_runs(cgroups.hierarchy, runtime_dir);
    if (hierarchy_children(cgroups.hierarchy, "/jobio", remove_selftest, &cgroups) == 0)
        cgroups.n += hierarchy_remove(cgroups.hierarchy, "/jobio") == 0;
    hierarchy_destroy(cgroups.hierarchy);
    return cgroups.n;
}

static void print(FILE *out, const char *pin_dir, const struct probe_removed *removed,
                  unsigned cgroups)
{
    if (!removed->layouts && !cgroups)
        (void)fprintf(out, "nothing is attached in %s\n", pin_dir);
    if (removed->layouts)
        (void)fprintf(out, "removed from %s: %u links, %u maps\n", pin_dir, removed->links,
                      removed->maps);
    if (cgroups)
        (void)fprintf(out, "removed: %u empty cgroups\n", cgroups);
    if (removed->steps)
        (void)fprintf(out,
                      "the counters of %u running step(s) are lost; if jobiod is started again, it "
                      "counts them from zero and marks them as incomplete\n",
                      removed->steps);
}

int detach_instance(const struct daemon_options *options, FILE *out, struct error *error)
{
    _free_ char *pin_dir =
        options->pin_dir ? strdup(options->pin_dir) : instance_pin_dir(options->runtime_dir);
    _close_ int lock = -1;
    struct probe_removed removed;
    unsigned cgroups;
    char path[512];
    int r;

    if (!pin_dir)
        return error_set(error, -ENOMEM, "no memory");
    if (access(options->runtime_dir, F_OK) == 0) {
        lock = instance_lock(options->runtime_dir, error);
        if (lock < 0)
            return lock;
    }
    /* First, so that no plugin tags a step meanwhile. */
    (void)snprintf(path, sizeof(path), "%s/probe", options->runtime_dir);
    if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
        return error_errno(error, -errno, "cannot remove %s", path);
    r = probe_detach(pin_dir, &removed, error);
    cgroups = remove_cgroups(options->runtime_dir);
    print(out, pin_dir, &removed, cgroups);
    return r;
}
