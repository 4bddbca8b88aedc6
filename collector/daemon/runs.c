/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/runs_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "report/top/top.h"

/* --- start and stop --------------------------------------------------------------------------- */

void runs_destroy(struct runs *runs)
{
    if (!runs)
        return;
    worker_destroy(runs->worker);
    sd_event_source_disable_unref(runs->outcomes);
    runs_remove_now(runs);
    while (runs->list) {
        run_leave(runs->list);
        run_free(runs->list);
    }
    hierarchy_destroy(runs->hierarchy);
    cleanup_close(&runs->dir);
    sd_event_unref(runs->loop);
    free(runs);
}
DEFINE_CLEANUP(struct runs, runs_destroy)

static void execute(struct worker_task *tasks, size_t n, void *owner)
{
    (void)n, (void)owner;
    for (struct worker_task *task = tasks; task; task = task->next)
        task->result = task->run(NULL, task->arg, &task->error);
}

static int on_outcome(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct runs *runs = arg;

    (void)source, (void)fd, (void)events;
    (void)worker_dispatch(runs->worker);
    return 0;
}

static int start_thread(struct runs *runs, struct error *error)
{
    const struct worker_options options = {
        .name = "jobiod-runs",
        .capacity = RUNS_MAX + 1, /* and a removal */
        .each = RUNS_A_USER,
        .batch = 1,
        .execute = execute,
    };
    int r = hierarchy_create(&runs->hierarchy, "/proc/self/mountinfo", error);

    if (!r)
        r = worker_create(&runs->worker, &options, error);
    if (r < 0)
        return r;
    r = sd_event_add_io(runs->loop, &runs->outcomes, worker_fd(runs->worker), EPOLLIN, on_outcome,
                        runs);
    return r < 0 ? error_errno(error, r, "cannot set up the event loop") : 0;
}

int runs_create(struct runs **ret, sd_event *loop, const struct runs_options *options,
                struct error *error)
{
    CLEANUP(runs_destroyp) struct runs *runs = calloc(1, sizeof(*runs));
    int r;

    if (!runs)
        return error_set(error, -ENOMEM, "no memory for runs");
    runs->dir = -1;
    runs->loop = sd_event_ref(loop);
    runs->options = *options;
    r = start_thread(runs, error);
    if (r < 0)
        return r;
    /* The numbers of an earlier process must not be reused. */
    runs->last = clock_ns(CLOCK_REALTIME);
    runs->dir = run_files_open(options->runtime_dir);
    *ret = TAKE_PTR(runs);
    return 0;
}

void runs_tick(struct runs *runs)
{
    runs_remove(runs);
}

size_t runs_count(const struct runs *runs)
{
    size_t n = 0;

    for (const struct run *run = runs->list; run; run = run->next)
        n += !run->over;
    return n;
}

int runs_top(const struct runs *runs, struct top_reading *reading)
{
    for (const struct run *run = runs->list; run; run = run->next) {
        const struct io_mounts *mounts =
            run->over ? NULL : sampler_mounts(runs->options.sampler, run->step);
        struct top_who *who =
            mounts ? top_add(reading, TOP_RUN, run->number, NULL, "jobio run") : NULL;

        if (!mounts)
            continue;
        if (!who || top_add_mounts(who, mounts) < 0)
            return -ENOMEM;
        who->uid = run->uid;
        who->since_ns = run->start_boot_ns;
        who->steps = 1;
    }
    return 0;
}

/* Includes the client: the command started in its mount namespace, which may not be the host's nor
 * have a live task of the command. */
static size_t list_tasks(const struct run *run, uint32_t *pids, size_t max)
{
    size_t n = hierarchy_tasks(run->runs->options.hierarchy, 2, run->leaf.path, pids, max - 1);

    if (run->client)
        pids[n++] = (uint32_t)run->client;
    return n;
}

size_t runs_tasks(const struct runs *runs, uint32_t number, uint32_t *pids, size_t max)
{
    for (const struct run *run = runs->list; run; run = run->next)
        if (run->step == number)
            return list_tasks(run, pids, max);
    return 0;
}
