/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How steps and jobs end. */
#include <stdlib.h>
#include <string.h>

#include "collector/sampler.h"
#include "collector/tracked.h"
#include "common/cleanup.h"

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

/* Many steps may end at the same moment, and each pass over the maps is one over all steps: one that
 * began after the end of this step will do. */
static int read_last(struct tracked_step *step, uint64_t at_boot_ns, struct error *error)
{
    struct tracker *tracker = step->job->tracker;
    int r = at_boot_ns ? sampler_seal(tracker->sampler, step->number, at_boot_ns) : -EAGAIN;

    if (r != -EAGAIN)
        return r < 0 ? error_set(error, r, "no memory for the last reading") : 0;
    r = tracker_pass(tracker, false, error);
    if (r < 0)
        return r;
    r = sampler_seal(tracker->sampler, step->number, 0);
    return r < 0 ? error_set(error, r, "no memory for the last reading") : 0;
}

int tracked_close(struct tracked_step *step, enum step_state state, uint64_t at_boot_ns,
                  struct error *error)
{
    struct tracked_job *job = step->job;
    struct tracker *tracker = job->tracker;
    uint64_t now = tracker_boot_ns();
    int r;

    if (step->state != TRACKED_RUNNING)
        return 0;
    tracked_resolve_doubt(step, true);
    if (state == STEP_VANISHED)
        (void)sampler_blame(tracker->sampler, step->number, "step-vanished", 1, 0);
    r = read_last(step, at_boot_ns, error);
    if (r < 0)
        return r;
    if (tracked_account(step, &step->account) < 0)
        return error_set(error, -ENOMEM, "no memory for the account of a step");
    step->account.state = state;
    if (at_boot_ns > step->tag.tagged_boot_ns)
        step->account.elapsed_ns = at_boot_ns - step->tag.tagged_boot_ns;
    step->state = TRACKED_UNSAVED;
    r = sum_up(step);
    step->summed = true;
    job->last_end_boot_ns = at_boot_ns ? at_boot_ns : now;
    tracker->stats.lost += step->account.completeness.lost;
    tracker->stats.vanished += state == STEP_VANISHED;
    tracked_save(job);
    return r < 0 ? error_set(error, r, "no memory for the sum of a job") : 0;
}

void tracked_finish_job(struct tracked_job *job)
{
    struct tracker *tracker = job->tracker;
    struct job_account *account;

    if (job->over)
        return;
    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i]->state == TRACKED_RUNNING)
            return;
    tracked_describe(job);
    job->over = true;
    job->over_boot_ns = job->ending ? tracker_boot_ns() : job->last_end_boot_ns;
    job->sum->ended = true;
    job->sum->end_ns = job->sum->start_ns + (job->over_boot_ns > job->start_boot_ns
                                                 ? job->over_boot_ns - job->start_boot_ns
                                                 : 0);
    account = tracked_snapshot(job);
    if (account && tracker->hooks.job_over)
        tracker->hooks.job_over(account, tracker->hooks.arg);
    job_account_destroy(account);
    tracked_save(job);
}
