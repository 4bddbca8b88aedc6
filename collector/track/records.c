/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include "collector/track/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/cgroup/users.h"
#include "collector/peers/peers.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "collector/track/accounts.h"
#include "collector/track/folded_steps.h"
#include "collector/track/late_tag.h"
#include "collector/track/stored_steps.h"
#include "common/cleanup.h"

/* A request to the writer. It has copies, so that both threads can continue. */
struct saving {
    struct job *job;
    struct step **ending; /* the steps that end with this */
    size_t n_ending;
    bool provisional, over;
    struct job_account *row;
    struct step_account *steps;
    size_t n;
    struct folded_marks *marks; /* of the steps in an aggregated row; NULL: it is none */
    char *peer; /* the sink of the job's first node, if that is another one; else NULL */
};

static void saving_destroy(struct saving *s)
{
    if (!s)
        return;
    job_account_destroy(s->row);
    for (size_t i = 0; i < s->n; i++)
        step_account_clear(&s->steps[i]);
    free(s->steps);
    free(s->ending);
    free(s->peer);
    free(s->marks);
    free(s);
}
DEFINE_CLEANUP(struct saving, saving_destroy)

/* --- on the writer's thread ------------------------------------------------------------------- */

/* In the transaction of the rows: a final row is stored if and only if it is queued. */
static int queue_for(struct store *store, const struct saving *s, const char *sink,
                     struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < s->n && r >= 0; i++)
        r = store_outbox_put(store, &s->row->key, &s->steps[i], sink, error);
    if (s->over && r >= 0)
        r = store_outbox_put_job(store, &s->row->key, sink, error);
    return r;
}

static int saving_run(struct store *store, void *arg, struct error *error)
{
    struct saving *s = arg;
    const char *const *sinks = s->provisional ? NULL : s->job->tracker->sinks;
    int r = store_put_job(store, s->row, error);

    for (size_t i = 0; i < s->n && r >= 0; i++)
        r = store_put_step(store, &s->row->key, &s->steps[i], !s->provisional, error);
    if (s->over && !s->provisional && r >= 0)
        r = store_put_baseline(store, &s->row->key, error);
    if (s->marks && r >= 0)
        r = folded_marks_put(store, s->marks, error);
    for (; sinks && *sinks && r >= 0; sinks++)
        r = queue_for(store, s, *sinks, error);
    if (s->peer && !s->provisional && r >= 0)
        r = queue_for(store, s, s->peer, error);
    return r;
}

/* --- on the loop's thread --------------------------------------------------------------------- */

static void finish_saving(struct saving *s)
{
    struct job *job = s->job;
    struct tracker *tracker = job->tracker;

    if (!s->provisional && (tracker->sinks || s->peer) && tracker->hooks.queued)
        tracker->hooks.queued(tracker->hooks.arg);
    if (s->over)
        job->over_saved = true;
    for (size_t i = 0; i < s->n_ending; i++) {
        s->ending[i]->phase = PHASE_SAVED;
        if (!s->ending[i]->beyond_limit)
            ended_steps_add(&job->ended, &s->ending[i]->account);
    }
    if (s->marks)
        stored_steps_add_marks(job->tracker, TAKE_PTR(s->marks));
}

static void saving_done(int result, const struct error *error, void *arg)
{
    CLEANUP(saving_destroyp) struct saving *s = arg;
    struct job *job = s->job;

    job->n_saving--;
    if (s->provisional)
        job->provisional_saving = false;
    if (s->provisional && result < 0)
        job->rows_read_ns = 0;
    if (s->over)
        job->over_saving = false;
    if (s->marks)
        job->folded_saving = false;
    if (result < 0) {
        job->tracker->save_failures++;
        if (log_allowed("saving", 60, NULL))
            tracker_log(job->tracker, LOG_LEVEL_ERROR,
                        "job %u: cannot store its rows (they are kept and tried again): %s",
                        job->sum->key.jobid, error->text);
        for (size_t i = 0; i < s->n_ending; i++)
            s->ending[i]->phase = PHASE_UNSAVED;
    } else {
        finish_saving(s);
        job_save(job); /* rows that had to wait for this request */
    }
    job_remove_if_stored(job);
}

int job_peer_sink(const struct job *job, char **ret)
{
    *ret = NULL;
    if (!job->tracker->peers || !job->first_node)
        return 0;
    return asprintf(ret, PEERS_SINK_PREFIX "%s", job->first_node) < 0 ? -ENOMEM : 0;
}

static struct saving *saving_create(struct job *job, size_t n)
{
    CLEANUP(saving_destroyp) struct saving *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->job = job;
    if (!job->sum->user)
        job->sum->user = users_find_name(job->tracker->users, job->sum->uid);
    s->row = job_row(job);
    s->steps = calloc(n ? n : 1, sizeof(*s->steps));
    s->ending = calloc(job->n_steps + 1, sizeof(struct step *));
    if (job_peer_sink(job, &s->peer) < 0)
        return NULL;
    return s->row && s->steps && s->ending ? TAKE_PTR(s) : NULL;
}

static int submit(struct saving *s)
{
    struct job *job = s->job;
    /* Provisional rows are committed too: they are what is left after a crash of the node. All jobs
     * of a tick share a transaction. */
    int r = job->tracker->writer
                ? writer_submit(job->tracker->writer, true, saving_run, saving_done, s)
                : -EAGAIN;

    if (r < 0) {
        saving_destroy(s);
        return r;
    }
    job->n_saving++;
    job->folded_saving |= s->marks != NULL;
    for (size_t i = 0; i < s->n_ending; i++)
        s->ending[i]->phase = PHASE_SAVING;
    return 0;
}

/* All steps with a row of their own, in one request. */
static int save_steps(struct job *job)
{
    CLEANUP(saving_destroyp) struct saving *s = NULL;
    size_t n = 0;

    for (size_t i = 0; i < job->n_steps; i++)
        n += job->steps[i]->phase == PHASE_UNSAVED && !job->steps[i]->beyond_limit;
    if (!n)
        return 0;
    s = saving_create(job, n);
    if (!s)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_steps; i++) {
        struct step *step = job->steps[i];

        if (step->phase != PHASE_UNSAVED || step->beyond_limit)
            continue;
        if (step_get_account(step, &s->steps[s->n]) < 0)
            return -ENOMEM;
        s->n++;
        s->ending[s->n_ending++] = step;
    }
    return submit(TAKE_PTR(s));
}

static bool has_unsaved(const struct job *job)
{
    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i]->phase == PHASE_UNSAVED)
            return true;
    return false;
}

/* The sum includes all aggregated steps that have ended. So it is written with the marks of all of
 * them, and not while an earlier sum is being written: whichever of the two fails, the stored sum
 * includes no step without its mark. */
static int save_folded(struct job *job)
{
    CLEANUP(saving_destroyp) struct saving *s = NULL;

    if (job->folded_saving || !has_unsaved(job))
        return 0;
    s = saving_create(job, 1);
    if (!s)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i]->phase == PHASE_UNSAVED && job->steps[i]->beyond_limit)
            s->ending[s->n_ending++] = job->steps[i];
    if (!s->n_ending)
        return 0;
    s->n = 1;
    s->marks = folded_marks_create(s->ending, s->n_ending);
    if (!s->marks || step_account_copy(&job->folded, &s->steps[0]) < 0)
        return -ENOMEM;
    return submit(TAKE_PTR(s));
}

static int save_over(struct job *job)
{
    struct saving *s = saving_create(job, 0);

    if (!s)
        return -ENOMEM;
    s->over = true;
    job->over_saving = submit(s) == 0;
    return job->over_saving ? 0 : -EAGAIN;
}

/* --- the first node of a job ------------------------------------------------------------------ */

/* A request to queue the rows that were stored before the first node was known. It is behind these
 * rows in the writer's queue. */
struct backlog {
    struct tracker *tracker;
    struct job_key key;
    char *sink;
};

static void backlog_free(struct backlog *b)
{
    free(b->key.cluster);
    free(b->sink);
    free(b);
}

static int run_backlog(struct store *store, void *arg, struct error *error)
{
    const struct backlog *b = arg;

    return store_outbox_put_all(store, &b->key, b->sink, error);
}

static void on_backlog_queued(int result, const struct error *error, void *arg)
{
    struct backlog *b = arg;
    struct tracker *tracker = b->tracker;

    if (result < 0)
        tracker_log(tracker, LOG_LEVEL_WARNING,
                    "job %u: its ended steps cannot be queued for its first node: %s", b->key.jobid,
                    error->text);
    else if (tracker->hooks.queued)
        tracker->hooks.queued(tracker->hooks.arg);
    backlog_free(b);
}

static int submit_backlog(const struct job *job, struct backlog *b)
{
    b->tracker = job->tracker;
    b->key = job->sum->key;
    b->key.cluster = strdup(job->sum->key.cluster);
    if (!b->key.cluster || job_peer_sink(job, &b->sink) < 0)
        return -ENOMEM;
    return job->tracker->writer
               ? writer_submit(job->tracker->writer, true, run_backlog, on_backlog_queued, b)
               : -EAGAIN;
}

static void save_backlog(struct job *job)
{
    struct backlog *b = calloc(1, sizeof(*b));

    if (!b)
        return;
    if (submit_backlog(job, b) == 0)
        job->backlog_due = false;
    else
        backlog_free(b);
}

/* --- all of a job ----------------------------------------------------------------------------- */

void job_save(struct job *job)
{
    if (save_steps(job) < 0 || save_folded(job) < 0)
        return;
    if (job->backlog_due)
        save_backlog(job);
    /* The writer keeps the order: the end of the job comes after its last step. */
    if (job->over && !job->over_saved && !job->over_saving && !has_unsaved(job))
        (void)save_over(job);
}

/* --- provisional rows ------------------------------------------------------------------------- */

static bool has_provisional(const struct step *step)
{
    return step->phase == PHASE_RUNNING && !step->beyond_limit;
}

/* Provisional rows show running steps to readers of the store, and are what is left after a crash
 * of the node. Writing them is most of jobiod's work, so they are not written at every tick. */
static bool needs_provisional(const struct job *job)
{
    if (job->provisional_saving || job->over)
        return false;
    for (size_t i = 0; i < job->n_steps; i++)
        if (has_provisional(job->steps[i]) && !job->steps[i]->has_row)
            return true;
    return job->rows_read_ns < job->tracker->rows_due_ns;
}

static void note_provisional(struct job *job)
{
    job->provisional_saving = true;
    job->rows_read_ns = job->tracker->read_at_ns;
    for (size_t i = 0; i < job->n_steps; i++)
        job->steps[i]->has_row |= has_provisional(job->steps[i]);
}

/* Best effort: without memory the step gets its row later. */
static void add_provisional(struct saving *s, const struct step *step)
{
    struct step_account *row = &s->steps[s->n];

    if (step_get_account(step, row) == 0 && late_tag_mark_row(step, row) == 0)
        s->n++;
    else
        step_account_clear(row);
}

void job_save_provisional(struct job *job)
{
    struct saving *s;

    if (!needs_provisional(job))
        return;
    s = saving_create(job, job->n_steps);
    if (!s)
        return;
    s->provisional = true;
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step *step = job->steps[i];

        if (has_provisional(step))
            add_provisional(s, step);
    }
    if (!s->n) {
        saving_destroy(s);
        return;
    }
    if (submit(s) == 0)
        note_provisional(job);
}
