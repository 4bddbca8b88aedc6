/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What others ask the tracker. */
#include "collector/track/tracker.h"

#include <stdlib.h>
#include <string.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/sample/sampler.h"
#include "collector/store/store.h"
#include "collector/track/tracker_impl.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define SECOND 1000000000ull

/* How old the numbers of a running job may be that somebody asks for. */
#define FRESH SECOND

static int refresh(struct tracker *tracker, uint64_t age_ns, struct error *error)
{
    bool fresh = clock_ns(CLOCK_BOOTTIME) - tracker->pass_at_ns < age_ns;

    return fresh || !tracker->n_jobs ? 0 : tracker_pass(tracker, false, error);
}

int tracker_report(struct tracker *tracker, uint32_t jobid, uint32_t restart, bool fresh,
                   struct job_account **ret, struct error *error)
{
    struct tracked_job *job = tracked_find_job(tracker, jobid, restart);
    struct job_account *account;
    int r;

    if (!job)
        return error_set(error, -ENOENT, "job %u was never tagged on this node", jobid);
    /* Reports of many jobs that end at once share a reading, so that all are in time. */
    r = refresh(tracker, fresh ? 0 : tracker->pass_cost_ns * 4, error);
    if (r < 0)
        return r;
    tracked_describe(job);
    for (size_t i = 0; i < job->n_steps; i++)
        tracked_resolve_doubt(job->steps[i], false);
    account = tracked_snapshot(job);
    if (!account || tracked_list_ended(job, account) < 0) {
        job_account_destroy(account);
        return error_set(error, -ENOMEM, "no memory for the account of job %u", jobid);
    }
    *ret = account;
    return 0;
}

typedef bool (*is_meant_f)(const struct job_account *job, uint32_t number, uint32_t task);

static bool is_job(const struct job_account *job, uint32_t number, uint32_t task)
{
    (void)task;
    return !number || job->key.jobid == number;
}

static bool is_task(const struct job_account *job, uint32_t number, uint32_t task)
{
    return job->array_job == number && job->array_task == task;
}

static int find_jobs(struct tracker *tracker, is_meant_f is_meant, uint32_t number, uint32_t task,
                     struct job_account ***ret, struct error *error)
{
    struct job_account **jobs = calloc(tracker->n_jobs + 1, sizeof(*jobs));
    size_t n = 0;

    (void)refresh(tracker, FRESH, NULL);
    for (size_t i = 0; jobs && i < tracker->n_jobs; i++) {
        struct tracked_job *job = tracker->jobs[i];

        if (!is_meant(job->sum, number, task))
            continue;
        jobs[n] = tracked_snapshot(job);
        if (!jobs[n++]) {
            store_jobs_free(jobs);
            jobs = NULL;
        }
    }
    if (!jobs)
        return error_set(error, -ENOMEM, "no memory for the accounts of running jobs");
    *ret = jobs;
    return 0;
}

int tracker_jobs(struct tracker *tracker, uint32_t jobid, struct job_account ***ret,
                 struct error *error)
{
    return find_jobs(tracker, is_job, jobid, 0, ret, error);
}

int tracker_task_jobs(struct tracker *tracker, uint32_t array, uint32_t task,
                      struct job_account ***ret, struct error *error)
{
    return find_jobs(tracker, is_task, array, task, ret, error);
}

const char *tracker_nodes(struct tracker *tracker, const struct job_key *key)
{
    struct tracked_job *job = tracked_find_job(tracker, key->jobid, key->restart);

    return job ? job->nodes : NULL;
}

/* On the writer's thread, behind all rows that were handed over before the first node was known. */
struct handing {
    struct tracker *tracker;
    struct job_key key;
    char *sink;
};

static void handing_free(struct handing *h)
{
    free(h->key.cluster);
    free(h->sink);
    free(h);
}

static int put_handing(struct store *store, void *arg, struct error *error)
{
    const struct handing *h = arg;

    return store_outbox_put_all(store, &h->key, h->sink, error);
}

static void on_handed(int result, const struct error *error, void *arg)
{
    struct handing *h = arg;
    struct tracker *tracker = h->tracker;

    if (result < 0)
        tracker_say(tracker, LOG_LEVEL_WARNING,
                    "job %u: its ended steps do not go to its first node: %s", h->key.jobid,
                    error->text);
    else if (tracker->hooks.queued)
        tracker->hooks.queued(tracker->hooks.arg);
    handing_free(h);
}

static void hand_over(struct tracked_job *job)
{
    struct handing *h = calloc(1, sizeof(*h));

    if (!h)
        return;
    h->tracker = job->tracker;
    h->key = job->sum->key;
    h->key.cluster = strdup(job->sum->key.cluster);
    if (!h->key.cluster || tracked_peer_sink(job, &h->sink) < 0 || !h->sink ||
        !job->tracker->writer ||
        writer_submit(job->tracker->writer, true, put_handing, on_handed, h) < 0)
        handing_free(h);
}

void tracker_gathered_by(struct tracker *tracker, const struct job_key *key, const char *node)
{
    struct tracked_job *job = tracked_find_job(tracker, key->jobid, key->restart);

    if (!job || job->gatherer || job->nodes || !tracker->peers || !*node)
        return;
    job->gatherer = strdup(node);
    if (job->gatherer)
        hand_over(job);
}

bool tracker_has_batch(struct tracker *tracker, const struct job_key *key)
{
    const struct tracked_job *job = tracked_find_job(tracker, key->jobid, key->restart);

    for (size_t i = 0; job && i < job->n_steps; i++)
        if (job->steps[i]->tag.step == STEP_BATCH)
            return true;
    return false;
}

bool tracker_knows(struct tracker *tracker, const struct job_key *key)
{
    for (size_t i = 0; i < tracker->n_jobs; i++)
        if (tracker->jobs[i]->sum->key.jobid == key->jobid &&
            tracker->jobs[i]->sum->key.restart == key->restart)
            return true;
    return false;
}

int tracker_totals(struct tracker *tracker, struct io_mounts *ret)
{
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    int r = io_mounts_copy(&tracker->totals, &totals);

    for (size_t i = 0; i < tracker->n_jobs && !r; i++)
        for (size_t j = 0; j < tracker->jobs[i]->n_steps && !r; j++) {
            const struct tracked_step *step = tracker->jobs[i]->steps[j];
            const struct io_mounts *mounts =
                step->summed ? NULL : sampler_mounts(tracker->sampler, step->number);

            if (mounts)
                r = tracked_add_totals(&totals, mounts);
        }
    if (r < 0)
        return r;
    *ret = totals;
    totals = (struct io_mounts){0};
    return 0;
}

static bool is_below(const char *path, const char *parent)
{
    size_t n = strlen(parent);

    return !strncmp(path, parent, n) && (path[n] == '/' || path[n] == '\0');
}

uint32_t tracker_covers(struct tracker *tracker, pid_t pid, const char *path)
{
    char freezer[512] = "";

    (void)hierarchy_freezer_of(pid, freezer, NULL);
    for (size_t i = 0; i < tracker->n_jobs; i++)
        for (size_t j = 0; j < tracker->jobs[i]->n_steps; j++) {
            const struct tracked_step *step = tracker->jobs[i]->steps[j];
            const char *where = step->tag.version == 1 ? freezer : path;

            if (step->state == TRACKED_RUNNING && is_below(where, step->tag.cgroup))
                return step->tag.jobid;
        }
    return 0;
}

size_t tracker_tasks(struct tracker *tracker, uint32_t number, uint32_t *pids, size_t max)
{
    for (size_t i = 0; i < tracker->n_jobs; i++)
        for (size_t j = 0; j < tracker->jobs[i]->n_steps; j++) {
            const struct tracked_step *step = tracker->jobs[i]->steps[j];

            if (step->number == number)
                return hierarchy_tasks(tracker->hierarchy, step->tag.version, step->tag.cgroup,
                                       pids, max);
        }
    return 0;
}

void tracker_stats(const struct tracker *tracker, struct tracker_stats *ret)
{
    *ret = tracker->stats;
    for (size_t i = 0; i < tracker->n_jobs; i++) {
        const struct tracked_job *job = tracker->jobs[i];

        ret->jobs += !job->over;
        for (size_t j = 0; j < job->n_steps; j++) {
            ret->steps += job->steps[j]->state == TRACKED_RUNNING;
            ret->unsaved +=
                job->steps[j]->state != TRACKED_RUNNING && job->steps[j]->state != TRACKED_SAVED;
        }
    }
}
