/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/runs_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"

void ending_free(struct ending *ending)
{
    ending->run->ending = NULL;
    sd_event_source_disable_unref(ending->timer);
    free(ending);
}

static void ending_abandon(struct ending *ending)
{
    request_error(ending->request, "the run is not counted any more");
    ending_free(ending);
}

void run_leave(struct run *run)
{
    if (run->over)
        return;
    run->over = true;
    if (run->ending)
        ending_abandon(run->ending);
    sampler_forget(run->runs->options.sampler, run->step);
    run->watch = sd_event_source_disable_unref(run->watch);
    run->timer = sd_event_source_disable_unref(run->timer);
    cleanup_close(&run->process);
    run->process = -1;
}

void run_stop(struct run *run)
{
    run->in_maps |= !run->over;
    run_leave(run);
}

void run_free(struct run *run)
{
    struct run **at = &run->runs->list;

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    free(run->missed);
    free(run);
}

struct removed {
    struct run *run; /* used by the main thread only */
    char path[sizeof(((struct hierarchy_leaf *)0)->path)];
    bool gone;
};

/* Only its end frees these runs, but others may be added to the list meanwhile. */
struct removal {
    struct runs *runs;
    struct probe_cgroup *cgroups; /* to be removed from the maps */
    size_t n_cgroups;
    struct removed *items;
    size_t n;
};

static void removal_destroy(struct removal *removal)
{
    if (!removal)
        return;
    free(removal->cgroups);
    free(removal->items);
    free(removal);
}
DEFINE_CLEANUP(struct removal, removal_destroy)

static bool is_removable(const struct run *run)
{
    return run->over && !run->starting;
}

static void removal_add(struct removal *removal, struct run *run)
{
    struct removed *item = &removal->items[removal->n++];

    item->run = run;
    memcpy(item->path, run->leaf.path, sizeof(item->path));
    if (run->in_maps)
        removal->cgroups[removal->n_cgroups++] = (struct probe_cgroup){run->leaf.id, 2};
}

/* Returns NULL if there is nothing to remove, or on out-of-memory: then the tick tries again. */
static struct removal *removal_create(struct runs *runs)
{
    CLEANUP(removal_destroyp) struct removal *removal = calloc(1, sizeof(*removal));
    size_t n = 0;

    for (const struct run *run = runs->list; run; run = run->next)
        n += is_removable(run);
    if (!removal || !n)
        return NULL;
    removal->runs = runs;
    removal->cgroups = calloc(n, sizeof(*removal->cgroups));
    removal->items = calloc(n, sizeof(*removal->items));
    if (!removal->cgroups || !removal->items)
        return NULL;
    for (struct run *run = runs->list; run; run = run->next)
        if (is_removable(run))
            removal_add(removal, run);
    (void)probe_drop_start(runs->options.probe, removal->cgroups, removal->n_cgroups, NULL);
    return TAKE_PTR(removal);
}

/* On the thread. */
static int execute_removal(struct store *store, void *arg, struct error *error)
{
    struct removal *removal = arg;
    const struct runs *runs = removal->runs;
    int r = removal->n_cgroups ? probe_drop_wait(runs->options.probe, error) : 0;

    (void)store;
    for (size_t i = 0; i < removal->n; i++)
        removal->items[i].gone =
            hierarchy_remove(runs->hierarchy, removal->items[i].path) != -EBUSY;
    return r;
}

static void finish_removal(struct removal *removal, int result)
{
    /* After a failed wait programs may still use the counters: probe_sweep() removes them. */
    if (result >= 0)
        (void)probe_drop_finish(removal->runs->options.probe, removal->cgroups, removal->n_cgroups,
                                NULL);
    for (size_t i = 0; i < removal->n; i++) {
        struct run *run = removal->items[i].run;

        run->in_maps = false;
        if (removal->items[i].gone) {
            run_file_remove(run);
            run_free(run);
        }
    }
    removal_destroy(removal);
}

static void on_removed(int result, const struct error *error, void *arg)
{
    struct removal *removal = arg;
    struct runs *runs = removal->runs;
    bool more = false;

    (void)error;
    finish_removal(removal, result);
    runs->removing = false;
    for (const struct run *run = runs->list; run; run = run->next)
        more |= run->in_maps; /* the cgroups that have processes can wait for the tick */
    if (more)
        runs_remove(runs);
}

void runs_remove(struct runs *runs)
{
    struct removal *removal = runs->removing ? NULL : removal_create(runs);
    const struct worker_task task = {.run = execute_removal, .done = on_removed, .arg = removal};

    if (!removal)
        return;
    runs->removing = worker_submit(runs->worker, &task) == 0;
    if (!runs->removing)
        removal_destroy(removal); /* the tick tries again */
}

void runs_remove_now(struct runs *runs)
{
    struct removal *removal = removal_create(runs);
    struct error error;

    if (removal)
        finish_removal(removal, execute_removal(NULL, removal, &error));
}
