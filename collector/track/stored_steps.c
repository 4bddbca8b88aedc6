/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/stored_steps.h"

#include <stdlib.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/store/writer.h"
#include "collector/track/job_files.h"
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

void stored_steps_clear(struct tracker *tracker)
{
    while (tracker->marks) {
        struct folded_marks *marks = tracker->marks;

        tracker->marks = marks->next;
        free(marks);
    }
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

static void drop_counters(struct tracker *tracker, struct probe_cgroup *cgroups)
{
    struct error error;
    size_t n = 0;

    for (size_t i = 0; i < tracker->jobs.n; i++)
        for (size_t j = 0; j < tracker->jobs.items[i]->n_steps; j++) {
            const struct step *step = tracker->jobs.items[i]->steps[j];

            if (step->phase == PHASE_SAVED)
                cgroups[n++] = (struct probe_cgroup){step->tag.cgroup_id, step->tag.version};
        }
    if (probe_drop_many(tracker->probe, cgroups, n, &error) < 0)
        tracker_log(tracker, LOG_LEVEL_WARNING, "the counters of ended steps stay in the maps: %s",
                    error.text);
}

static void remove_stored(struct job *job)
{
    for (size_t i = job->n_steps; i-- > 0;)
        if (job->steps[i]->phase == PHASE_SAVED)
            remove_step(job->steps[i]);
    job_remove_if_stored(job);
}

/* A pass waits twice for running programs, and so does a tag that arrives meanwhile: many ended
 * steps a second must not cause many passes. In ns; 0: no need to wait. */
static uint64_t remaining_gap(const struct tracker *tracker)
{
    uint64_t age = clock_ns(CLOCK_BOOTTIME) - tracker->dropped_ns;

    return tracker->dropped_ns && age < tracker->drop_gap_ns ? tracker->drop_gap_ns - age : 0;
}

uint64_t stored_steps_drop(struct tracker *tracker, bool now)
{
    size_t n = count_steps(tracker, PHASE_SAVED);
    _free_ struct probe_cgroup *cgroups = NULL;

    if (!n || (!now && n < DROP_AT_ONCE && count_steps(tracker, PHASE_SAVING)))
        return 0;
    if (!now && n < DROP_AT_ONCE && remaining_gap(tracker))
        return remaining_gap(tracker);
    cgroups = malloc(n * sizeof(*cgroups));
    if (!cgroups) /* the next tick tries again */
        return 0;
    drop_counters(tracker, cgroups);
    tracker->dropped_ns = clock_ns(CLOCK_BOOTTIME);
    tracker->sweep_due = true;
    for (size_t i = tracker->jobs.n; i-- > 0;)
        remove_stored(tracker->jobs.items[i]);
    while (tracker->marks) {
        struct folded_marks *marks = tracker->marks;

        tracker->marks = marks->next;
        remove_marks(tracker, marks);
    }
    return 0;
}
