/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of jobs and steps on their way to the store. A step's counters stay in the maps, and its
 * files on disk, until the writer has said that its row is safe. */
#define _GNU_SOURCE /* asprintf */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/peers/gather.h"
#include "collector/cgroup/users.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/store/store.h"
#include "collector/track/tracker_impl.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define FOLDED_PREFIX "folded/"
#define FOLDED_KEY_SIZE 96

/* So many steps are dropped without waiting for those that the writer has. */
#define ENOUGH 512

/* The marks of folded steps. */
struct marks {
    struct marks *next;
    size_t n;
    char keys[][FOLDED_KEY_SIZE];
};

/* What the writer's thread gets: copies, so that both threads can go on. */
struct saving {
    struct tracked_job *job;
    struct tracked_step **ending; /* the steps that end with this */
    size_t n_ending;
    bool provisional, over;
    struct job_account *row;
    struct step_account *steps;
    size_t n;
    struct marks *marks; /* NULL: no folding */
    char *peer;          /* the sink of the job's first node, if that is another one; else NULL */
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

/* --- folded steps ----------------------------------------------------------------------------- */

/* A folded step has no row of its own that could tell, after a crash, that it is in the sum
 * already: this mark is written with the sum and goes after the step's counters have gone. */
static void folded_key(char buf[FOLDED_KEY_SIZE], const struct tag *tag)
{
    (void)snprintf(buf, FOLDED_KEY_SIZE, FOLDED_PREFIX "%u.%u.%u.%u.%" PRIu64, tag->jobid,
                   tag->restart, tag->het, tag->step, tag->tagged_at_ns);
}

bool tracked_was_folded(struct store *store, const struct tag *tag)
{
    _free_ char *value = NULL;
    char key[FOLDED_KEY_SIZE];

    folded_key(key, tag);
    return store_get_state(store, key, &value, NULL) == 0 && value;
}

int tracked_sweep_marks(struct store *store, struct error *error)
{
    return store_drop_states(store, FOLDED_PREFIX, error);
}

static int forget_folded(struct store *store, void *arg, struct error *error)
{
    const struct marks *marks = arg;
    int r = 0;

    for (size_t i = 0; i < marks->n && r >= 0; i++)
        r = store_put_state(store, marks->keys[i], NULL, error);
    return r;
}

void tracked_free_marks(struct tracker *tracker)
{
    while (tracker->marks) {
        struct marks *marks = tracker->marks;

        tracker->marks = marks->next;
        free(marks);
    }
}

static void forgot_folded(int result, const struct error *error, void *arg)
{
    (void)result, (void)error;
    free(arg);
}

/* Takes the marks over. */
static void clear_marks(struct tracker *tracker, struct marks *marks)
{
    if (!tracker->writer ||
        writer_submit(tracker->writer, false, forget_folded, forgot_folded, marks) < 0)
        free(marks);
}

/* --- on the writer's thread ------------------------------------------------------------------- */

/* In the transaction of the rows themselves: what is stored as final is queued, and the reverse. */
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
        r = store_put_normal(store, &s->row->key, error);
    for (size_t i = 0; s->marks && i < s->marks->n && r >= 0; i++)
        r = store_put_state(store, s->marks->keys[i], "1", error);
    for (; sinks && *sinks && r >= 0; sinks++)
        r = queue_for(store, s, *sinks, error);
    if (s->peer && !s->provisional && r >= 0)
        r = queue_for(store, s, s->peer, error);
    return r;
}

/* --- on the loop's thread --------------------------------------------------------------------- */

/* Another step may have the same ids (a job number that Slurm uses again): then its files stay. */
static bool owns_files(const struct tracked_step *step)
{
    const struct tracker *tracker = step->job->tracker;

    for (size_t i = 0; i < tracker->n_jobs; i++) {
        struct tracked_job *job = tracker->jobs[i];

        if (job->sum->key.jobid != step->tag.jobid || job->sum->key.restart != step->tag.restart)
            continue;
        for (size_t j = 0; j < job->n_steps; j++) {
            const struct tracked_step *other = job->steps[j];

            if (other != step && other->tag.step == step->tag.step &&
                other->tag.het == step->tag.het)
                return false;
        }
    }
    return true;
}

static void forget_step(struct tracked_step *step)
{
    struct tracker *tracker = step->job->tracker;
    char name[TAG_FILE_SIZE];

    sampler_forget(tracker->sampler, step->number);
    tag_file_name(name, step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step);
    if (owns_files(step))
        tag_remove_files(tracker->steps_fd, name);
    tracker->recent[tracker->n_recent++ % RECENT_STEPS] =
        (struct recent_step){{step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step},
                             step->tag.tagged_at_ns};
    tracked_remove_step(step);
}

/* If nothing of it is left to be done. */
static void forget_job(struct tracked_job *job)
{
    struct tracker *tracker = job->tracker;
    uint32_t jobid = job->sum->key.jobid, restart = job->sum->key.restart;

    if (!job->over_saved || job->n_steps || job->n_saving)
        return;
    tracked_remove_job(job);
    tracked_forget_file(tracker, jobid, restart);
}

static size_t count_steps(const struct tracker *tracker, enum tracked_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < tracker->n_jobs; i++)
        for (size_t j = 0; j < tracker->jobs[i]->n_steps; j++)
            n += tracker->jobs[i]->steps[j]->state == state;
    return n;
}

static void drop_counters(struct tracker *tracker, struct probe_cgroup *cgroups)
{
    struct error error;
    size_t n = 0;

    for (size_t i = 0; i < tracker->n_jobs; i++)
        for (size_t j = 0; j < tracker->jobs[i]->n_steps; j++) {
            const struct tracked_step *step = tracker->jobs[i]->steps[j];

            if (step->state == TRACKED_SAVED)
                cgroups[n++] = (struct probe_cgroup){step->tag.cgroup_id, step->tag.version};
        }
    if (probe_drop_many(tracker->probe, cgroups, n, &error) < 0)
        tracker_say(tracker, LOG_LEVEL_WARNING, "counters of steps stay in the maps: %s",
                    error.text);
}

static void forget_saved(struct tracked_job *job)
{
    for (size_t i = job->n_steps; i-- > 0;)
        if (job->steps[i]->state == TRACKED_SAVED)
            forget_step(job->steps[i]);
    forget_job(job);
}

/* A pass waits for the programs that run, twice, and whoever tags a step waits with it: many steps
 * a second must not mean many passes. */
static uint64_t gap_left(const struct tracker *tracker)
{
    uint64_t age = clock_ns(CLOCK_BOOTTIME) - tracker->dropped_ns;

    return tracker->dropped_ns && age < tracker->drop_gap_ns ? tracker->drop_gap_ns - age : 0;
}

uint64_t tracked_drop_saved(struct tracker *tracker, bool now)
{
    size_t n = count_steps(tracker, TRACKED_SAVED);
    _free_ struct probe_cgroup *cgroups = NULL;

    if (!n || (!now && n < ENOUGH && count_steps(tracker, TRACKED_SAVING)))
        return 0;
    if (!now && n < ENOUGH && gap_left(tracker))
        return gap_left(tracker);
    cgroups = malloc(n * sizeof(*cgroups));
    if (!cgroups) /* the next tick tries again */
        return 0;
    drop_counters(tracker, cgroups);
    tracker->dropped_ns = clock_ns(CLOCK_BOOTTIME);
    tracker->littered = true;
    for (size_t i = tracker->n_jobs; i-- > 0;)
        forget_saved(tracker->jobs[i]);
    while (tracker->marks) {
        struct marks *marks = tracker->marks;

        tracker->marks = marks->next;
        clear_marks(tracker, marks);
    }
    return 0;
}

static void take_success(struct saving *s)
{
    struct tracked_job *job = s->job;
    const struct tracker *tracker = job->tracker;

    if (!s->provisional && (tracker->sinks || s->peer) && tracker->hooks.queued)
        tracker->hooks.queued(tracker->hooks.arg);
    if (s->over)
        job->over_saved = true;
    for (size_t i = 0; i < s->n_ending; i++) {
        s->ending[i]->state = TRACKED_SAVED;
        tracked_remember(s->ending[i]);
    }
    if (s->marks) {
        s->marks->next = job->tracker->marks;
        job->tracker->marks = TAKE_PTR(s->marks);
    }
}

static void saving_done(int result, const struct error *error, void *arg)
{
    CLEANUP(saving_destroyp) struct saving *s = arg;
    struct tracked_job *job = s->job;

    job->n_saving--;
    if (s->provisional)
        job->provisional = false;
    if (s->provisional && result < 0)
        job->handed_ns = 0;
    if (s->over)
        job->over_saving = false;
    if (s->marks)
        job->folding = false;
    if (result < 0) {
        job->tracker->stats.save_failures++;
        if (log_allowed("saving", 60, NULL))
            tracker_say(job->tracker, LOG_LEVEL_ERROR,
                        "job %u: cannot store (it is kept and tried again): %s",
                        job->sum->key.jobid, error->text);
        for (size_t i = 0; i < s->n_ending; i++)
            s->ending[i]->state = TRACKED_UNSAVED;
    } else {
        take_success(s);
        tracked_save(job); /* what had to wait for this */
    }
    forget_job(job);
}

int tracked_peer_sink(const struct tracked_job *job, char **ret)
{
    *ret = NULL;
    if (!job->tracker->peers || !job->gatherer)
        return 0;
    return asprintf(ret, GATHER_SINK_PREFIX "%s", job->gatherer) < 0 ? -ENOMEM : 0;
}

static struct saving *saving_create(struct tracked_job *job, size_t n)
{
    CLEANUP(saving_destroyp) struct saving *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->job = job;
    if (!job->sum->user)
        job->sum->user = names_find(job->tracker->names, job->sum->uid);
    s->row = tracked_row(job);
    s->steps = calloc(n ? n : 1, sizeof(*s->steps));
    s->ending = calloc(job->n_steps + 1, sizeof(struct tracked_step *));
    if (tracked_peer_sink(job, &s->peer) < 0)
        return NULL;
    return s->row && s->steps && s->ending ? TAKE_PTR(s) : NULL;
}

static int submit(struct saving *s)
{
    struct tracked_job *job = s->job;
    /* Provisional rows go to the disk as well: a crash of the node costs what came after them. All
     * jobs of a tick share a transaction. */
    int r = job->tracker->writer
                ? writer_submit(job->tracker->writer, true, saving_run, saving_done, s)
                : -EAGAIN;

    if (r < 0) {
        saving_destroy(s);
        return r;
    }
    job->n_saving++;
    job->folding |= s->marks != NULL;
    for (size_t i = 0; i < s->n_ending; i++)
        s->ending[i]->state = TRACKED_SAVING;
    return 0;
}

/* The row of a folded step is the sum of all that were folded so far. */
static int copy_folded(struct tracked_job *job, struct step_account *ret)
{
    *ret = job->folded;
    ret->mounts = (struct io_mounts){0};
    ret->completeness = (struct completeness){0};
    ret->node = strdup(job->folded.node);
    if (!ret->node || io_mounts_copy(&job->folded.mounts, &ret->mounts) < 0)
        return -ENOMEM;
    return completeness_merge(&ret->completeness, &job->folded.completeness);
}

/* Those that have a row of their own, in one request. */
static int save_steps(struct tracked_job *job)
{
    CLEANUP(saving_destroyp) struct saving *s = NULL;
    size_t n = 0;

    for (size_t i = 0; i < job->n_steps; i++)
        n += job->steps[i]->state == TRACKED_UNSAVED && !job->steps[i]->folds;
    if (!n)
        return 0;
    s = saving_create(job, n);
    if (!s)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_steps; i++) {
        struct tracked_step *step = job->steps[i];

        if (step->state != TRACKED_UNSAVED || step->folds)
            continue;
        if (tracked_account(step, &s->steps[s->n]) < 0)
            return -ENOMEM;
        s->n++;
        s->ending[s->n_ending++] = step;
    }
    return submit(TAKE_PTR(s));
}

static bool has_unsaved(const struct tracked_job *job)
{
    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i]->state == TRACKED_UNSAVED)
            return true;
    return false;
}

static struct marks *marks_create(struct tracked_step *const *steps, size_t n)
{
    struct marks *marks = calloc(1, sizeof(*marks) + n * sizeof(marks->keys[0]));

    for (size_t i = 0; marks && i < n; i++)
        folded_key(marks->keys[marks->n++], &steps[i]->tag);
    return marks;
}

/* The sum has all folded steps that have ended, so it is written with the marks of all of them, and
 * not while an earlier sum is under way: whichever of the two fails, no step is in the stored sum
 * without its mark. */
static int save_folded(struct tracked_job *job)
{
    CLEANUP(saving_destroyp) struct saving *s = NULL;

    if (job->folding || !has_unsaved(job))
        return 0;
    s = saving_create(job, 1);
    if (!s)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i]->state == TRACKED_UNSAVED && job->steps[i]->folds)
            s->ending[s->n_ending++] = job->steps[i];
    if (!s->n_ending)
        return 0;
    s->n = 1;
    s->marks = marks_create(s->ending, s->n_ending);
    if (!s->marks || copy_folded(job, &s->steps[0]) < 0)
        return -ENOMEM;
    return submit(TAKE_PTR(s));
}

static int save_over(struct tracked_job *job)
{
    struct saving *s = saving_create(job, 0);

    if (!s)
        return -ENOMEM;
    s->over = true;
    job->over_saving = submit(s) == 0;
    return job->over_saving ? 0 : -EAGAIN;
}

void tracked_save(struct tracked_job *job)
{
    if (save_steps(job) < 0 || save_folded(job) < 0)
        return;
    /* The writer keeps the order: the end of the job comes behind its last step. */
    if (job->over && !job->over_saved && !job->over_saving && !has_unsaved(job))
        (void)save_over(job);
}

static bool has_provisional(const struct tracked_step *step)
{
    return step->state == TRACKED_RUNNING && !step->folds;
}

/* To write these rows is most of what jobiod does. Who reads the store sees them, and they are what
 * is left after a crash of the node. */
static bool needs_provisional(const struct tracked_job *job)
{
    if (job->provisional || job->over)
        return false;
    for (size_t i = 0; i < job->n_steps; i++)
        if (has_provisional(job->steps[i]) && !job->steps[i]->handed)
            return true;
    return job->handed_ns < job->tracker->rows_at_ns;
}

static void mark_handed(struct tracked_job *job)
{
    job->provisional = true;
    job->handed_ns = job->tracker->pass_at_ns;
    for (size_t i = 0; i < job->n_steps; i++)
        job->steps[i]->handed |= has_provisional(job->steps[i]);
}

void tracked_save_provisional(struct tracked_job *job)
{
    struct saving *s;

    if (!needs_provisional(job))
        return;
    s = saving_create(job, job->n_steps);
    if (!s)
        return;
    s->provisional = true;
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct tracked_step *step = job->steps[i];

        if (has_provisional(step) && tracked_account(step, &s->steps[s->n]) == 0)
            s->n++;
    }
    if (!s->n) {
        saving_destroy(s);
        return;
    }
    if (submit(s) == 0)
        mark_handed(job);
}

/* --- what was missed -------------------------------------------------------------------------- */

struct missed {
    struct tracker *tracker;
    char *text;
};

static int missed_run(struct store *store, void *arg, struct error *error)
{
    return store_put_state(store, MISSED_KEY, ((struct missed *)arg)->text, error);
}

static void missed_done(int result, const struct error *error, void *arg)
{
    struct missed *m = arg;

    (void)error;
    if (result < 0)
        free(TAKE_PTR(m->tracker->missed)); /* the next tick tries again */
    free(m->text);
    free(m);
}

/* Is every row that the last reading has changed in the writer's queue? A text that comes before
 * them would hide from the next process what they do not say yet; one that comes late only has it
 * said twice. */
static bool are_rows_handed(const struct tracker *tracker)
{
    for (size_t i = 0; i < tracker->n_jobs; i++) {
        const struct tracked_job *job = tracker->jobs[i];

        for (size_t j = 0; j < job->n_steps; j++) {
            const struct tracked_step *step = job->steps[j];

            if (step->state == TRACKED_ENDED || step->state == TRACKED_UNSAVED ||
                (step->state == TRACKED_RUNNING &&
                 (step->folds || job->handed_ns != tracker->pass_at_ns)))
                return false;
        }
    }
    return true;
}

void tracked_save_missed(struct tracker *tracker)
{
    _free_ char *text = sampler_missed(tracker->sampler);
    struct missed *m;

    if (!text || !tracker->writer || (tracker->missed && !strcmp(tracker->missed, text)) ||
        !are_rows_handed(tracker))
        return;
    m = calloc(1, sizeof(*m));
    if (!m)
        return;
    *m = (struct missed){tracker, strdup(text)};
    if (!m->text || writer_submit(tracker->writer, true, missed_run, missed_done, m) < 0) {
        free(m->text);
        free(m);
        return;
    }
    free(tracker->missed);
    tracker->missed = TAKE_PTR(text);
}
