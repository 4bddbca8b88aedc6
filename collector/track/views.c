/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries of the tracker. */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/mpi/watcher.h"
#include "collector/stacks/watcher.h"
#include "collector/trace/tracer.h"
#include "collector/store/store.h"
#include "collector/track/accounts.h"
#include "collector/track/job_files.h"
#include "collector/track/late_tag.h"
#include "collector/track/records.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

/* The maximum age of the numbers of a running job in an answer. */
#define FRESH NS_PER_S
/* tracker_refresh() reads for at most 1/SHARE of the time. */
#define SHARE 20

/* --- readings --------------------------------------------------------------------------------- */

static bool is_open_in(const struct step *step, const void *arg)
{
    return step->job == arg && step_is_open(step);
}

/* Reports of many jobs that end at once share a reading, so that each meets its deadline. */
static int refresh(const struct job *job, bool fresh, struct error *error)
{
    struct tracker *tracker = job->tracker;
    uint64_t age = clock_ns(CLOCK_BOOTTIME) - tracker->read_at_ns;

    return !fresh && age < tracker->read_cost_ns * TRACKER_READ_SHARE
               ? 0
               : tracker_read_steps(tracker, is_open_in, job, error);
}

int tracker_refresh(struct tracker *tracker, uint64_t max_age_ns, struct error *error)
{
    uint64_t age = clock_ns(CLOCK_BOOTTIME) - tracker->read_at_ns;
    uint64_t least = tracker->read_cost_ns * SHARE;

    return age <= max_age_ns || age < least ? 0 : tracker_read(tracker, false, error);
}

uint64_t tracker_read_at(const struct tracker *tracker)
{
    return tracker->read_at_ns;
}

/* --- accounts --------------------------------------------------------------------------------- */

int tracker_report(struct tracker *tracker, uint32_t jobid, uint32_t restart, bool fresh,
                   struct job_account **ret, struct error *error)
{
    struct job *job = jobs_find(&tracker->jobs, jobid, restart);
    int r;

    if (!job)
        return error_set(error, -ENOENT, "job %u was never tagged on this node", jobid);
    r = refresh(job, fresh, error);
    if (r < 0)
        return r;
    job_file_read(job);
    for (size_t i = 0; i < job->n_steps; i++)
        late_tag_check(job->steps[i], false);
    *ret = job_report(job);
    return *ret ? 0 : error_set(error, -ENOMEM, "no memory for the account of job %u", jobid);
}

/* The jobs that the caller wants. */
struct wanted {
    uint32_t uid; /* UINT32_MAX: of all users */
    uint32_t job; /* 0: all jobs; of a task: the array */
    bool is_task;
    uint32_t task;
};

static bool is_wanted(const struct wanted *wanted, const struct job_account *job)
{
    if (wanted->uid != UINT32_MAX && job->uid != wanted->uid)
        return false;
    if (wanted->is_task)
        return job->array_job == wanted->job && job->array_task == wanted->task;
    return !wanted->job || job->key.jobid == wanted->job;
}

static size_t count_wanted(const struct tracker *tracker, const struct wanted *wanted)
{
    size_t n = 0;

    for (size_t i = 0; i < tracker->jobs.n; i++)
        n += is_wanted(wanted, tracker->jobs.items[i]->sum);
    return n;
}

/* A reading and a copy take long for jobs with many mounts: users must not cause them for the jobs
 * of others. */
static int find_jobs(struct tracker *tracker, const struct wanted *wanted,
                     struct job_account ***ret, struct error *error)
{
    struct job_account **jobs;
    size_t n = 0;

    if (count_wanted(tracker, wanted))
        (void)tracker_refresh(tracker, FRESH, NULL);
    jobs = calloc(count_wanted(tracker, wanted) + 1, sizeof(*jobs));
    for (size_t i = 0; jobs && i < tracker->jobs.n; i++) {
        struct job *job = tracker->jobs.items[i];

        if (!is_wanted(wanted, job->sum))
            continue;
        jobs[n] = job_snapshot(job);
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

int tracker_jobs(struct tracker *tracker, uint32_t jobid, uint32_t uid, struct job_account ***ret,
                 struct error *error)
{
    const struct wanted wanted = {.uid = uid, .job = jobid};

    return find_jobs(tracker, &wanted, ret, error);
}

int tracker_task_jobs(struct tracker *tracker, uint32_t array, uint32_t task, uint32_t uid,
                      struct job_account ***ret, struct error *error)
{
    const struct wanted wanted = {.uid = uid, .job = array, .is_task = true, .task = task};

    return find_jobs(tracker, &wanted, ret, error);
}

int tracker_totals(struct tracker *tracker, struct io_mounts *ret)
{
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    int r = io_mounts_copy(&tracker->totals, &totals);

    for (size_t i = 0; i < tracker->jobs.n && !r; i++)
        for (size_t j = 0; j < tracker->jobs.items[i]->n_steps && !r; j++) {
            const struct io_mounts *mounts = step_unsummed_mounts(tracker->jobs.items[i]->steps[j]);

            if (mounts)
                r = totals_add(&totals, mounts);
        }
    if (r < 0)
        return r;
    *ret = totals;
    totals = (struct io_mounts){0};
    return 0;
}

/* --- jobs and their nodes --------------------------------------------------------------------- */

const char *tracker_nodes(struct tracker *tracker, const struct job_key *key)
{
    struct job *job = jobs_find(&tracker->jobs, key->jobid, key->restart);

    return job ? job->nodes : NULL;
}

int tracker_has_node(struct tracker *tracker, const struct job_key *key, const char *node)
{
    _free_ struct message *m = NULL;
    const char *nodes;

    for (size_t i = 0; i < tracker->jobs.n; i++) {
        const struct job *job = tracker->jobs.items[i];

        if (job->nodes && job->sum->key.jobid == key->jobid &&
            job->sum->key.restart == key->restart)
            return text_list_has(job->nodes, node);
    }
    m = job_file_of(tracker, key);
    nodes = m ? message_get(m, "NODELIST") : NULL;
    return nodes ? text_list_has(nodes, node) : -1;
}

void tracker_add_nodes(struct tracker *tracker, const struct job_key *key, const char *nodes)
{
    struct job *job = jobs_find(&tracker->jobs, key->jobid, key->restart);
    _free_ char *all = job ? strdup(nodes) : NULL, *before = NULL;
    char *rest, *name;

    if (!all || !strchr(nodes, ','))
        return;
    before = job->nodes ? strdup(job->nodes) : NULL;
    rest = before;
    while ((name = strsep(&rest, ","))) {
        char *longer;

        if (text_list_has(all, name))
            continue;
        if (asprintf(&longer, "%s,%s", all, name) < 0)
            return;
        free(all);
        all = longer;
    }
    free(job->nodes);
    job->nodes = TAKE_PTR(all);
    job_file_count_nodes(job);
}

void tracker_set_first_node(struct tracker *tracker, const struct job_key *key, const char *node)
{
    struct job *job = jobs_find(&tracker->jobs, key->jobid, key->restart);

    if (!job || job->first_node || job->nodes || !tracker->peers || !*node)
        return;
    job->first_node = strdup(node);
    job->backlog_due = job->first_node;
    job_save(job);
}

bool tracker_has_batch(struct tracker *tracker, const struct job_key *key)
{
    const struct job *job = jobs_find(&tracker->jobs, key->jobid, key->restart);

    for (size_t i = 0; job && i < job->n_steps; i++)
        if (job->steps[i]->tag.step == STEP_BATCH)
            return true;
    return false;
}

bool tracker_knows(struct tracker *tracker, const struct job_key *key)
{
    for (size_t i = 0; i < tracker->jobs.n; i++)
        if (tracker->jobs.items[i]->sum->key.jobid == key->jobid &&
            tracker->jobs.items[i]->sum->key.restart == key->restart)
            return true;
    return false;
}

/* --- processes -------------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *parent)
{
    size_t n = strlen(parent);

    return !strncmp(path, parent, n) && (path[n] == '/' || path[n] == '\0');
}

int tracker_covers(struct tracker *tracker, pid_t pid, const char *path, uint32_t *jobid,
                   struct error *error)
{
    char freezer[512] = "";
    int r = hierarchy_freezer_of(pid, freezer, error);

    *jobid = 0;
    for (size_t i = 0; i < tracker->jobs.n; i++)
        for (size_t j = 0; j < tracker->jobs.items[i]->n_steps; j++) {
            const struct step *step = tracker->jobs.items[i]->steps[j];
            const char *where = step->tag.version == 1 ? freezer : path;

            if (step->phase != PHASE_RUNNING)
                continue;
            if (step->tag.version == 1 && r < 0 && r != -ENOTSUP)
                return r;
            if (is_below(where, step->tag.cgroup)) {
                *jobid = step->tag.jobid;
                return 0;
            }
        }
    return 0;
}

size_t tracker_tasks(struct tracker *tracker, uint32_t number, uint32_t *pids, size_t max)
{
    for (size_t i = 0; i < tracker->jobs.n; i++)
        for (size_t j = 0; j < tracker->jobs.items[i]->n_steps; j++) {
            const struct step *step = tracker->jobs.items[i]->steps[j];

            if (step->number == number)
                return hierarchy_tasks(tracker->hierarchy, step->tag.version, step->tag.cgroup,
                                       pids, max);
        }
    return 0;
}

/* --- statistics ------------------------------------------------------------------------------- */

void tracker_stats(const struct tracker *tracker, struct tracker_stats *ret)
{
    *ret = (struct tracker_stats){
        .lost = tracker->lost,
        .vanished = tracker->vanished,
        .untracked = tracker->untracked,
        .save_failures = tracker->save_failures,
        .untagged = tracker->untagged.n,
        .untagged_example = tracker->untagged.example,
        .plugin = tracker->plugin,
    };
    for (size_t i = 0; i < tracker->jobs.n; i++) {
        const struct job *job = tracker->jobs.items[i];

        ret->jobs += !job->over;
        for (size_t j = 0; j < job->n_steps; j++) {
            ret->steps += job->steps[j]->phase == PHASE_RUNNING;
            ret->unsaved += job->steps[j]->phase != PHASE_RUNNING && !step_is_stored(job->steps[j]);
        }
    }
}

void tracker_stacks_state(const struct tracker *tracker, struct tracker_stacks *ret)
{
    *ret = (struct tracker_stacks){
        .steps = stack_watcher_steps(tracker->stacks),
        .kept = tracker->stacks_kept,
        .failed = tracker->stacks_failed,
    };
}

void tracker_traces_state(const struct tracker *tracker, struct tracker_traces *ret)
{
    *ret = (struct tracker_traces){
        .allowed = tracker->tracer,
        .path = tracker->traces.path,
        .steps = tracer_steps(tracker->tracer),
        .kept = tracker->traces_kept,
        .failed = tracker->traces_failed,
        .undelivered = tracker->traces_undelivered,
    };
}

const char *tracker_block_failure(const struct tracker *tracker)
{
    return *tracker->block_failure.text ? tracker->block_failure.text : NULL;
}

void tracker_mpi_state(const struct tracker *tracker, struct mpi_watcher_state *ret)
{
    mpi_watcher_get_state(tracker->mpi, ret);
}
