/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/parts.h"

#include "cli/source/source.h"
#include "common/cleanup.h"

static void drop_timelines(struct io_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++)
        timeline_clear(&mounts->items[i].timeline);
}

static void drop_steps(struct job_account *job)
{
    for (size_t i = 0; i < job->n_steps; i++)
        step_account_clear(&job->steps[i]);
    job->n_steps = 0;
}

static void drop_stacks(struct job_account *job)
{
    stack_profile_destroy(TAKE_PTR(job->stacks));
    for (size_t i = 0; i < job->n_steps; i++)
        stack_profile_destroy(TAKE_PTR(job->steps[i].stacks));
}

void job_drop_parts(struct job_account *job, unsigned parts)
{
    if (!(parts & SOURCE_STEPS))
        drop_steps(job);
    if (!(parts & SOURCE_STACKS))
        drop_stacks(job);
    if (parts & SOURCE_TIMELINES)
        return;
    drop_timelines(&job->mounts);
    for (size_t i = 0; i < job->n_steps; i++)
        drop_timelines(&job->steps[i].mounts);
}
