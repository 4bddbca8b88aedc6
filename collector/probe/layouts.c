/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other layouts: what another version of jobio pinned, as long as a step is counted there. Its
 * programs go on counting these steps in its maps, from which this process reads them. New steps
 * are counted in the maps of this layout. A step is in one layout only, and its number, which comes
 * from its cgroup, is the same in all.
 */
#include "collector/probe/probe_impl.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/cleanup.h"
#include "common/numbers.h"

/* The pin that says which shape the maps of a directory have. */
static int shape_path(char path[PATH_MAX], const char *directory, int shape)
{
    int n = snprintf(path, PATH_MAX, "%s/shape_%d", directory, shape);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The pin of any shape that this version can read. -ENOENT: there is none. */
static int find_shape(char path[PATH_MAX], const char *directory)
{
    for (int shape = JOBIO_SHAPE; shape >= JOBIO_FIRST_SHAPE; shape--)
        if (shape_path(path, directory, shape) == 0 && access(path, F_OK) == 0)
            return 0;
    return -ENOENT;
}

int layouts_mark(const struct probe *probe)
{
    char path[PATH_MAX];
    int r = shape_path(path, probe->directory, JOBIO_SHAPE);

    if (r == 0)
        r = bpf_obj_pin(bpf_map__fd(probe->skel->maps.steps), path);
    return r == -EEXIST ? 0 : r;
}

bool layouts_can_read(const char *directory)
{
    char path[PATH_MAX];

    return find_shape(path, directory) == 0;
}

/* --- the links, for their statistics ---------------------------------------------------------- */

static void adopt_links(struct probe *other)
{
    hooks_adopt(other);
    if (kprobes_adopt(other)) {
        kprobes_use(other);
        elements_open(other);
    } else {
        other->by_syscalls = syscalls_adopt(other);
    }
}

static int open_maps(struct probe *other, struct error *error)
{
    int r;

    other->skel = maps_skeleton(&other->features);
    if (!other->skel)
        return error_errno(error, -errno, "cannot open the BPF object");
    r = maps_adopt(other->skel, other->directory, error);
    if (r <= 0)
        return r < 0
                   ? r
                   : error_set(error, -ENOENT, "the maps in '%s' are incomplete", other->directory);
    r = maps_open(other, error);
    if (r == 0)
        r = slots_open(other, true, error);
    return r < 0 ? r : shares_recount(other, error);
}

DEFINE_CLEANUP(struct probe, probe_destroy)

static int open_layout(struct probe *probe, const char *directory, struct error *error)
{
    CLEANUP(probe_destroyp) struct probe *other = calloc(1, sizeof(*other));
    int r;

    if (!other || !(other->directory = strdup(directory)))
        return error_errno(error, -ENOMEM, "cannot open '%s'", directory);
    other->features = probe->features;
    r = hooks_resolve(other, error);
    if (r == 0)
        r = open_maps(other, error);
    if (r < 0)
        return r;
    adopt_links(other);
    r = rpc_adopt(other, error);
    if (r < 0)
        return r;
    other->ring = ring_buffer__new(bpf_map__fd(other->skel->maps.new_mounts), probe_report_mount,
                                   other, NULL);
    if (!other->ring)
        return error_errno(error, -errno, "cannot open the ring buffer");
    other->others = probe->others;
    probe->others = TAKE_PTR(other);
    return 0;
}

/* --- open and close --------------------------------------------------------------------------- */

/* One descriptor for the new mounts of all layouts. */
static int watch_rings(struct probe *probe, struct error *error)
{
    struct epoll_event event = {.events = EPOLLIN};
    int r = 0;

    if (!probe->others)
        return 0;
    probe->rings = epoll_create1(EPOLL_CLOEXEC);
    if (probe->rings < 0)
        r = -errno;
    for (const struct probe *p = probe; p && r == 0; p = p->others)
        if (epoll_ctl(probe->rings, EPOLL_CTL_ADD, ring_buffer__epoll_fd(p->ring), &event) < 0)
            r = -errno;
    return r < 0 ? error_errno(error, r, "cannot watch the ring buffers") : 0;
}

int layouts_open(struct probe *probe, const char *pin_dir, struct error *error)
{
    _closedir_ DIR *dir = opendir(pin_dir);
    const struct dirent *entry;
    char path[PATH_MAX], mark[PATH_MAX];
    struct error why;
    int r;

    while (dir && (entry = readdir(dir))) {
        uint64_t number;

        if (number_parse(entry->d_name, JOBIO_LAYOUT, JOBIO_LAYOUT, &number) != -ERANGE ||
            snprintf(path, sizeof(path), "%s/%s", pin_dir, entry->d_name) >= (int)sizeof(path) ||
            !layouts_can_read(path))
            continue;
        r = open_layout(probe, path, &why);
        /* Its steps are counted on meanwhile. */
        if (error_is_temporary(r))
            return error_set(error, -EAGAIN, "%s", why.text);
        /* Otherwise no process would read it or remove its programs: probe_unpin_others() does. */
        if (r < 0) {
            if (find_shape(mark, path) == 0)
                (void)unlink(mark);
            probe->unreadable = why;
        }
    }
    (void)layouts_retire(probe, &why); /* on failure, probe_sweep() tries it again */
    return watch_rings(probe, error);
}

static int see_step(const void *key, const void *value, void *arg)
{
    (void)key, (void)value, (void)arg;
    return 1;
}

/* probe_drop_wait() follows the list on other threads. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void layouts_hold(void)
{
    (void)pthread_rwlock_rdlock(&lock);
}

void layouts_release(void)
{
    (void)pthread_rwlock_unlock(&lock);
}

/* Detach the programs and remove the pins. Can be repeated after a failure. */
static int retire(struct probe *other, struct error *error)
{
    struct probe_removed removed = {0};

    for (size_t i = 0; i < HOOK_COUNT; i++) {
        links_close(&other->fentry[i]);
        links_close(&other->kprobes[i]);
    }
    links_close(&other->syscall_links);
    return probe_detach_layout(other->directory, &removed, error);
}

int layouts_retire(struct probe *probe, struct error *error)
{
    struct probe **next = &probe->others, *other;
    int result = 0;

    if (pthread_rwlock_trywrlock(&lock) != 0) /* do not wait on the main loop */
        return error_set(error, -EAGAIN, "another thread reads the layouts");
    while ((other = *next)) {
        int r = map_each(other, other->skel->maps.steps, see_step, NULL, error);

        if (r == 0)
            r = retire(other, error);
        if (r != 0) { /* it counts a step, or cannot be removed now */
            result = r < 0 ? r : result;
            next = &other->others;
            continue;
        }
        *next = other->others;
        other->others = NULL;
        probe_destroy(other);
    }
    (void)pthread_rwlock_unlock(&lock);
    return result;
}

void layouts_close(struct probe *probe)
{
    while (probe->others) {
        struct probe *other = probe->others;

        probe->others = other->others;
        other->others = NULL;
        probe_destroy(other);
    }
    if (probe->rings > 0)
        (void)close(probe->rings);
}

struct probe *layouts_find(struct probe *probe, uint64_t key)
{
    struct step_record record;
    struct probe *other = probe->others;

    while (other && map_get(other, other->skel->maps.steps, &key, &record) < 0)
        other = other->others;
    return other;
}

void probe_destroy(struct probe *probe)
{
    if (!probe)
        return;
    layouts_close(probe);
    ring_buffer__free(probe->ring);
    spans_close(probe);
    stacks_close(probe);
    rpc_close(probe);
    hooks_close(probe);
    accounts_close(probe);
    elements_close(probe);
    slots_close(probe);
    maps_close(probe);
    programs_close(probe);
    data_bpf__destroy(probe->skel);
    free(probe->directory);
    free(probe->blind);
    free(probe);
}
