/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live view of the jobs: sums, without the copies that a snapshot makes. */
#include "collector/sample/sampler.h"
#include "collector/track/accounts.h"
#include "collector/track/tracker_state.h"
#include "collector/track/tracker.h"
#include "common/clock.h"
#include "report/top/top.h"

static int add_parts(const struct job *job, struct top_reading *reading, struct top_who *who)
{
    const struct tracker *tracker = job->tracker;
    int r = top_add_mounts(who, &job->sum->mounts);

    for (size_t i = 0; i < job->n_steps && !r; i++) {
        const struct step *step = job->steps[i];
        const struct io_mounts *mounts = step_unsummed_mounts(step);

        who->steps += step->phase == PHASE_RUNNING;
        if (!mounts)
            continue;
        reading->lost += sampler_lost(tracker->sampler, step->number);
        r = top_add_mounts(who, mounts);
        if (!r)
            r = top_add_totals(reading, mounts);
    }
    return r;
}

static int add_job(const struct job *job, struct top_reading *reading)
{
    const struct job_account *sum = job->sum;
    struct top_who *who = top_add(reading, TOP_JOB, sum->key.jobid, sum->user, sum->name);

    if (!who)
        return -ENOMEM;
    who->restart = sum->key.restart;
    who->uid = sum->uid;
    who->since_ns = job->start_boot_ns;
    return add_parts(job, reading, who);
}

int tracker_top(struct tracker *tracker, struct top_reading *ret, struct error *error)
{
    int r = top_add_totals(ret, &tracker->totals);

    ret->at_ns = tracker->read_at_ns;
    ret->time_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_BOOTTIME) - tracker->read_at_ns);
    ret->took_ns = tracker->read_cost_ns;
    ret->lost = tracker->lost;
    for (size_t i = 0; i < tracker->jobs.n && !r; i++)
        r = add_job(tracker->jobs.items[i], ret);
    return r < 0 ? error_set(error, r, "no memory for the live numbers") : 0;
}
