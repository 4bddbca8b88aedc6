/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/end.h"

#include "collector/cgroup/hierarchy.h"
#include "collector/sample/sampler.h"
#include "collector/track/accounts.h"
#include "collector/track/folded_steps.h"
#include "collector/track/job_files.h"
#include "collector/track/late_tag.h"
#include "collector/track/records.h"
#include "collector/track/step_block.h"
#include "collector/track/step_mpi.h"
#include "collector/track/step_stacks.h"
#include "collector/track/step_trace.h"
#include "common/clock.h"
#include "common/numbers.h"

static int add_to_sums(struct step *step)
{
    struct job *job = step->job;
    int r = step_add_to_sum(job->sum, step, &step->account);

    if (!r && step->beyond_limit)
        r = folded_steps_add(&job->folded, &step->account);
    if (!r)
        r = totals_add(&job->tracker->totals, &step->account.mounts);
    return r;
}

/* Best effort: without memory only a part of its account says so. */
static void mark_vanished(struct step *step)
{
    (void)sampler_mark_incomplete(step->job->tracker->sampler, step->number, "step-vanished", 1, 0);
    (void)step_mpi_vanish(step);
    (void)step_block_vanish(step);
}

void step_end(struct step *step, enum step_state state, uint64_t at_boot_ns)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (step->phase != PHASE_RUNNING)
        return;
    late_tag_check(step, true);
    if (state == STEP_VANISHED)
        mark_vanished(step);
    step->phase = PHASE_ENDED;
    step->end_state = state;
    step->ended_boot_ns = at_boot_ns;
    step->idle_since_ns = at_boot_ns && at_boot_ns < now ? at_boot_ns : now;
}

/* Ticks without a process until a step counts as vanished: at least two, and 5 s. */
static unsigned max_empty_ticks(const struct tracker *tracker)
{
    uint64_t ticks = 5 * NS_PER_S / tracker->interval_ns;

    return ticks < 2 ? 2 : (unsigned)ticks;
}

/* No process is left that could do I/O or report the end of the step. */
static bool is_gone(struct tracker *tracker, struct step *step)
{
    const struct tag *tag = &step->tag;
    int r = hierarchy_check(tracker->hierarchy, tag->version, tag->cgroup, tag->cgroup_id, NULL);

    if (r == -ENOENT || r == -ESTALE)
        return true;
    if (!hierarchy_is_deserted(tracker->hierarchy, tag->version, tag->cgroup)) {
        step->empty_ticks = 0;
        return false;
    }
    step->empty_ticks++;
    return step->job->epilog_ran || step->empty_ticks >= max_empty_ticks(tracker);
}

void job_end_gone_steps(struct job *job)
{
    struct tracker *tracker = job->tracker;
    char name[TAG_FILE_SIZE], text[16];

    for (size_t i = 0; i < job->n_steps; i++) {
        struct step *step = job->steps[i];
        uint64_t ended_boot;

        if (step->phase != PHASE_RUNNING || !is_gone(tracker, step))
            continue;
        tag_file_name(name, step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step);
        if (tag_ended_boot(tracker->steps_fd, name, &ended_boot, NULL) < 0)
            continue; /* the next tick tries again */
        if (!ended_boot)
            tracker_log(tracker, LOG_LEVEL_WARNING, "step %u.%s vanished without an end",
                        step->tag.jobid, step_format(step->tag.step, text));
        step_end(step, ended_boot ? STEP_ENDED : STEP_VANISHED, ended_boot);
    }
}

/* Its final account, from the last reading. */
static int close_step(struct step *step)
{
    struct job *job = step->job;
    struct tracker *tracker = job->tracker;
    int r = step_get_account(step, &step->account);

    if (r < 0)
        return r;
    step_mpi_end(step);
    step_block_end(step);
    step->account.state = step->end_state;
    if (step->ended_boot_ns > step->tag.tagged_boot_ns)
        step->account.elapsed_ns = step->ended_boot_ns - step->tag.tagged_boot_ns;
    step_trace_end(step);
    step_stacks_end(step);
    step->phase = PHASE_UNSAVED;
    r = add_to_sums(step);
    if (r < 0) { /* its row is exact, but the sums may miss it until the next start */
        uint64_t requests = io_mounts_requests(&step->account.mounts);

        add_saturating(&job->sum->completeness.lost, requests);
        add_saturating(&tracker->lost, requests);
    }
    step->summed = true;
    if (step->idle_since_ns > job->last_end_boot_ns)
        job->last_end_boot_ns = step->idle_since_ns;
    tracker->lost += step->account.completeness.lost;
    tracker->vanished += step->end_state == STEP_VANISHED;
    return r;
}

struct round {
    bool due; /* a step has ended after the last reading */
    int result;
};

static void close_steps_of(struct job *job, struct round *round)
{
    bool closed = false;

    for (size_t i = 0; i < job->n_steps; i++) {
        struct step *step = job->steps[i];
        int r;

        if (step->phase != PHASE_ENDED)
            continue;
        r = sampler_seal(job->tracker->sampler, step->number, step->idle_since_ns);
        if (r == -EAGAIN) {
            round->due = true;
            continue;
        }
        if (!r)
            r = close_step(step);
        closed |= step->phase == PHASE_UNSAVED;
        round->result = round->result < 0 ? round->result : r;
    }
    if (closed)
        job_save(job);
}

static struct round close_round(struct tracker *tracker)
{
    struct round round = {0};

    for (size_t i = 0; i < tracker->jobs.n; i++)
        close_steps_of(tracker->jobs.items[i], &round);
    return round;
}

static bool has_ended(const struct step *step, const void *arg)
{
    (void)arg;
    return step->phase == PHASE_ENDED;
}

int steps_close(struct tracker *tracker, struct error *error)
{
    struct round round = close_round(tracker);
    int result = round.result;

    /* Read again if the first reading met a mount whose name had to be looked up. */
    for (int i = 0; i < 2 && round.due; i++) {
        int r = tracker_read_steps(tracker, has_ended, NULL, error);

        if (r < 0)
            return r;
        round = close_round(tracker);
        result = result < 0 ? result : round.result;
    }
    return result < 0 ? error_set(error, -ENOMEM, "no memory for the account of a step") : 0;
}

void job_finish(struct job *job)
{
    struct tracker *tracker = job->tracker;
    struct job_account *account;

    if (job->over)
        return;
    for (size_t i = 0; i < job->n_steps; i++)
        if (step_is_open(job->steps[i]))
            return;
    job_file_read(job);
    job->over = true;
    job->over_boot_ns = job->epilog_ran ? clock_ns(CLOCK_BOOTTIME) : job->last_end_boot_ns;
    job->sum->ended = true;
    job->sum->end_ns =
        job->sum->start_ns +
        (job->over_boot_ns > job->start_boot_ns ? job->over_boot_ns - job->start_boot_ns : 0);
    account = job_snapshot(job);
    if (!account) { /* the next tick tries again */
        job->over = job->sum->ended = false;
        job->sum->end_ns = job->over_boot_ns = 0;
        return;
    }
    if (tracker->hooks.job_over)
        tracker->hooks.job_over(account, tracker->hooks.arg);
    job_account_destroy(account);
    job_save(job);
}
