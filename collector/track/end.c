/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How steps and jobs end. */
#include <stdlib.h>
#include <string.h>

#include "collector/sample/sampler.h"
#include "collector/track/tracker_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"

static int fold(struct tracked_job *job, const struct step_account *account)
{
    struct step_account *to = &job->folded;
    int r;

    if (!to->folded) {
        to->node = strdup(account->node);
        if (!to->node)
            return -ENOMEM;
        to->het = HET_NONE;
        to->step = STEP_FOLDED;
        to->tagged_at_ns = account->tagged_at_ns;
        to->state = STEP_ENDED;
    }
    r = io_mounts_add(&to->mounts, &account->mounts);
    if (!r)
        r = completeness_merge(&to->completeness, &account->completeness);
    if (r < 0)
        return r;
    to->folded++;
    if (account->longest_wait_ns > to->longest_wait_ns)
        to->longest_wait_ns = account->longest_wait_ns;
    if (account->tagged_at_ns + account->elapsed_ns > to->tagged_at_ns + to->elapsed_ns)
        to->elapsed_ns = account->tagged_at_ns + account->elapsed_ns - to->tagged_at_ns;
    return 0;
}

static int sum_up(struct tracked_step *step)
{
    struct tracked_job *job = step->job;
    int r = job_account_add_step(job->sum, &step->account);

    if (!r && step->folds)
        r = fold(job, &step->account);
    if (!r)
        r = tracked_add_totals(&job->tracker->totals, &step->account.mounts);
    return r;
}

void tracked_end(struct tracked_step *step, enum step_state state, uint64_t at_boot_ns)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (step->state != TRACKED_RUNNING)
        return;
    tracked_resolve_doubt(step, true);
    if (state == STEP_VANISHED)
        (void)sampler_blame(step->job->tracker->sampler, step->number, "step-vanished", 1, 0);
    step->state = TRACKED_ENDED;
    step->how = state;
    step->ended_boot_ns = at_boot_ns;
    step->quiet_ns = at_boot_ns && at_boot_ns < now ? at_boot_ns : now;
}

/* What it did is in the last reading. */
static int close_step(struct tracked_step *step)
{
    struct tracked_job *job = step->job;
    struct tracker *tracker = job->tracker;
    int r = tracked_account(step, &step->account);

    if (r < 0)
        return r;
    step->account.state = step->how;
    if (step->ended_boot_ns > step->tag.tagged_boot_ns)
        step->account.elapsed_ns = step->ended_boot_ns - step->tag.tagged_boot_ns;
    step->state = TRACKED_UNSAVED;
    r = sum_up(step);
    step->summed = true;
    if (step->quiet_ns > job->last_end_boot_ns)
        job->last_end_boot_ns = step->quiet_ns;
    tracker->stats.lost += step->account.completeness.lost;
    tracker->stats.vanished += step->how == STEP_VANISHED;
    return r;
}

struct round {
    bool due; /* a step has ended after the last reading */
    int result;
};

static void close_steps_of(struct tracked_job *job, struct round *round)
{
    bool closed = false;

    for (size_t i = 0; i < job->n_steps; i++) {
        struct tracked_step *step = job->steps[i];
        int r;

        if (step->state != TRACKED_ENDED)
            continue;
        r = sampler_seal(job->tracker->sampler, step->number, step->quiet_ns);
        if (r == -EAGAIN) {
            round->due = true;
            continue;
        }
        if (!r)
            r = close_step(step);
        closed |= step->state == TRACKED_UNSAVED;
        round->result = round->result < 0 ? round->result : r;
    }
    if (closed)
        tracked_save(job);
}

static struct round close_round(struct tracker *tracker)
{
    struct round round = {0};

    for (size_t i = 0; i < tracker->n_jobs; i++)
        close_steps_of(tracker->jobs[i], &round);
    return round;
}

int tracked_close(struct tracker *tracker, struct error *error)
{
    struct round round = close_round(tracker);
    int result = round.result;

    /* A second time if the first one has met a mount whose name had to be looked for. */
    for (int i = 0; i < 2 && round.due; i++) {
        int r = tracker_pass(tracker, false, error);

        if (r < 0)
            return r;
        round = close_round(tracker);
        result = result < 0 ? result : round.result;
    }
    return result < 0 ? error_set(error, -ENOMEM, "no memory for the account of a step") : 0;
}

void tracked_finish_job(struct tracked_job *job)
{
    struct tracker *tracker = job->tracker;
    struct job_account *account;

    if (job->over)
        return;
    for (size_t i = 0; i < job->n_steps; i++)
        if (tracked_is_open(job->steps[i]))
            return;
    tracked_describe(job);
    job->over = true;
    job->over_boot_ns = job->ending ? clock_ns(CLOCK_BOOTTIME) : job->last_end_boot_ns;
    job->sum->ended = true;
    job->sum->end_ns =
        job->sum->start_ns +
        (job->over_boot_ns > job->start_boot_ns ? job->over_boot_ns - job->start_boot_ns : 0);
    account = tracked_snapshot(job);
    if (account && tracker->hooks.job_over)
        tracker->hooks.job_over(account, tracker->hooks.arg);
    job_account_destroy(account);
    tracked_save(job);
}
