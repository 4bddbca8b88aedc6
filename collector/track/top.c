/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live view of the jobs: sums, without the copies that a snapshot makes. */
#include <string.h>

#include "collector/sample/sampler.h"
#include "collector/track/tracker_impl.h"
#include "common/clock.h"
#include "report/top/top.h"

/* Readings that are asked for take at most one part in so many of the time. */
#define SHARE 20

int tracker_refresh(struct tracker *tracker, uint64_t max_age_ns, struct error *error)
{
    uint64_t age = clock_ns(CLOCK_BOOTTIME) - tracker->pass_at_ns;
    uint64_t least = tracker->pass_cost_ns * SHARE;

    return age <= max_age_ns || age < least ? 0 : tracker_pass(tracker, false, error);
}

uint64_t tracker_read_at(const struct tracker *tracker)
{
    return tracker->pass_at_ns;
}

static int add_parts(const struct tracked_job *job, struct top_reading *reading,
                     struct top_who *who)
{
    const struct tracker *tracker = job->tracker;
    int r = top_add_mounts(who, &job->sum->mounts);

    for (size_t i = 0; i < job->n_steps && !r; i++) {
        const struct tracked_step *step = job->steps[i];
        const struct io_mounts *mounts =
            step->summed ? NULL : sampler_mounts(tracker->sampler, step->number);

        who->steps += step->state == TRACKED_RUNNING;
        if (!mounts)
            continue;
        reading->lost += sampler_lost(tracker->sampler, step->number);
        r = top_add_mounts(who, mounts);
        if (!r)
            r = top_add_totals(reading, mounts);
    }
    return r;
}

static int add_job(const struct tracked_job *job, struct top_reading *reading)
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

    ret->at_ns = tracker->pass_at_ns;
    ret->time_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_BOOTTIME) - tracker->pass_at_ns);
    ret->took_ns = tracker->pass_cost_ns;
    ret->lost = tracker->stats.lost;
    for (size_t i = 0; i < tracker->n_jobs && !r; i++)
        r = add_job(tracker->jobs[i], ret);
    return r < 0 ? error_set(error, r, "no memory for the live numbers") : 0;
}
