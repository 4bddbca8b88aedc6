/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/stored_steps.h"

#include <stdlib.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/store/writer.h"
#include "collector/track/job_files.h"
#include "collector/track/step_block.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* This many steps are dropped without waiting for those that the writer has. */
#define DROP_AT_ONCE 512

/* --- marks of aggregated steps ---------------------------------------------------------------- */

void stored_steps_add_marks(struct tracker *tracker, struct folded_marks *marks)
{
    marks->next = tracker->marks;
    tracker->marks = marks;
}

static void free_marks(struct folded_marks *marks)
{
    while (marks) {
        struct folded_marks *next = marks->next;

        free(marks);
        marks = next;
    }
}

void stored_steps_clear(struct tracker *tracker)
{
    free_marks(TAKE_PTR(tracker->marks));
}

static int run_remove_marks(struct store *store, void *arg, struct error *error)
{
    return folded_marks_remove(store, arg, error);
}

static void on_marks_removed(int result, const struct error *error, void *arg)
{
    (void)result, (void)error;
    free(arg);
}

/* Takes the marks over. On failure they are removed at the next start. */
static void remove_marks(struct tracker *tracker, struct folded_marks *marks)
{
    if (!tracker->writer ||
        writer_submit(tracker->writer, false, run_remove_marks, on_marks_removed, marks) < 0)
        free(marks);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* False if another step has the same ids (Slurm reuses job numbers) and so owns the files. */
static bool owns_files(const struct step *step)
{
    const struct tracker *tracker = step->job->tracker;

    for (size_t i = 0; i < tracker->jobs.n; i++) {
        struct job *job = tracker->jobs.items[i];

        if (job->sum->key.jobid != step->tag.jobid || job->sum->key.restart != step->tag.restart)
            continue;
        for (size_t j = 0; j < job->n_steps; j++) {
            const struct step *other = job->steps[j];

            if (other != step && other->tag.step == step->tag.step &&
                other->tag.het == step->tag.het)
                return false;
        }
    }
    return true;
}

static void remove_step(struct step *step)
{
    struct tracker *tracker = step->job->tracker;
    char name[TAG_FILE_SIZE];

    sampler_forget(tracker->sampler, step->number);
    step_block_forget(step);
    tag_file_name(name, step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step);
    if (owns_files(step))
        tag_remove_files(tracker->steps_fd, name);
    recent_steps_add(&tracker->recent, step);
    job_remove_step(step);
}

void job_remove_if_stored(struct job *job)
{
    struct tracker *tracker = job->tracker;
    uint32_t jobid = job->sum->key.jobid, restart = job->sum->key.restart;

    if (!job->over_saved || job->n_steps || job->n_saving || job->backlog_due)
        return;
    jobs_remove(&tracker->jobs, job);
    job_file_remove(tracker, jobid, restart);
}

static size_t count_steps(const struct tracker *tracker, enum step_phase phase)
{
    size_t n = 0;

    for (size_t i = 0; i < tracker->jobs.n; i++)
        for (size_t j = 0; j < tracker->jobs.items[i]->n_steps; j++)
            n += tracker->jobs.items[i]->steps[j]->phase == phase;
    return n;
}

/* --- drops ------------------------------------------------------------------------------------ */

/* One pass over the maps, for all steps that are in the store when it starts. */
struct drop {
    struct tracker *tracker;
    struct folded_marks *marks; /* owned */
    size_t n;
    struct probe_cgroup cgroups[];
};

static void warn(struct tracker *tracker, const struct error *error)
{
    tracker_log(tracker, LOG_LEVEL_WARNING, "the counters of ended steps stay in the maps: %s",
                error->text);
}

/* Programs that start from now on do not count these steps. NULL: out of memory. */
static struct drop *drop_start(struct tracker *tracker, size_t n_steps)
{
    struct error error;
    struct drop *drop = malloc(sizeof(*drop) + n_steps * sizeof(*drop->cgroups));

    if (!drop)
        return NULL;
    *drop = (struct drop){.tracker = tracker};
    drop->marks = TAKE_PTR(tracker->marks);
    for (size_t i = 0; i < tracker->jobs.n; i++)
        for (size_t j = 0; j < tracker->jobs.items[i]->n_steps; j++) {
            struct step *step = tracker->jobs.items[i]->steps[j];

            if (step->phase != PHASE_SAVED)
                continue;
            step->phase = PHASE_DROPPING;
            drop->cgroups[drop->n++] =
                (struct probe_cgroup){step->tag.cgroup_id, step->tag.version};
        }
    if (probe_drop_start(tracker->probe, drop->cgroups, drop->n, &error) < 0)
        warn(tracker, &error);
    return drop;
}

static void remove_dropped(struct job *job)
{
    for (size_t i = job->n_steps; i-- > 0;)
        if (job->steps[i]->phase == PHASE_DROPPING)
            remove_step(job->steps[i]);
    job_remove_if_stored(job);
}

/* The wait has ended with this result. */
static void drop_finish(struct drop *drop, int result, struct error *error)
{
    struct tracker *tracker = drop->tracker;

    if (!result)
        result = probe_drop_finish(tracker->probe, drop->cgroups, drop->n, error);
    if (result < 0)
        warn(tracker, error);
    tracker->dropped_ns = clock_ns(CLOCK_BOOTTIME);
    tracker->sweep_due = true;
    for (size_t i = tracker->jobs.n; i-- > 0;)
        remove_dropped(tracker->jobs.items[i]);
    while (drop->marks) {
        struct folded_marks *marks = drop->marks;

        drop->marks = marks->next;
        remove_marks(tracker, marks);
    }
    free(drop);
}

/* On the writer's thread. */
static int run_wait(struct store *store, void *arg, struct error *error)
{
    const struct drop *drop = arg;

    (void)store;
    return probe_drop_wait(drop->tracker->probe, error);
}

static void wait_and_finish(struct drop *drop)
{
    struct error error;
    int r = probe_drop_wait(drop->tracker->probe, &error);

    drop_finish(drop, r, &error);
}

static void on_waited(int result, const struct error *error, void *arg)
{
    struct drop *drop = arg;

    (void)error;
    drop->tracker->dropping = false;
    if (result < 0) /* perhaps it is the store that failed, and nothing has waited */
        wait_and_finish(drop);
    else
        drop_finish(drop, 0, &(struct error){0});
}

/* A pass is work for the event loop, and a tag that arrives meanwhile waits: many ended steps a
 * second must not cause many passes. In ns; 0: no need to wait. */
static uint64_t remaining_gap(const struct tracker *tracker)
{
    uint64_t age = clock_ns(CLOCK_BOOTTIME) - tracker->dropped_ns;

    return tracker->dropped_ns && age < tracker->drop_gap_ns ? tracker->drop_gap_ns - age : 0;
}

uint64_t stored_steps_drop(struct tracker *tracker, bool now)
{
    size_t n = count_steps(tracker, PHASE_SAVED);
    struct drop *drop;

    if (!n || tracker->dropping || (!now && n < DROP_AT_ONCE && count_steps(tracker, PHASE_SAVING)))
        return 0;
    if (!now && n < DROP_AT_ONCE && remaining_gap(tracker))
        return remaining_gap(tracker);
    drop = drop_start(tracker, n);
    if (!drop) /* the next tick tries again */
        return 0;
    tracker->dropping =
        tracker->writer && writer_submit(tracker->writer, false, run_wait, on_waited, drop) == 0;
    if (!tracker->dropping)
        wait_and_finish(drop);
    return 0;
}
