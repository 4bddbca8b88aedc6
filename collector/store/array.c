/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/array.h"

#include <errno.h>

#include "common/numbers.h"

struct history_row array_row(const struct job_account *job)
{
    struct history_row row = {
        .cluster = job->key.cluster,
        .user = job->user,
        .account = job->account,
        .partition = job->partition,
        .name = job->name,
        .jobid = job->key.jobid,
        .restart = job->key.restart,
        .uid = job->uid,
        .array_job = job->array_job,
        .array_task = job->array_task,
        .ended = job->ended,
        .slurm = job->slurm,
        .complete = job_is_complete(job),
        .start_ns = job->start_ns,
        .end_ns = job->end_ns,
        .elapsed_ns = job->elapsed_ns,
        .steps = (uint32_t)job->n_steps,
        .longest_wait_ns = job->longest_wait_ns,
    };

    for (size_t i = 0; i < job->mounts.n; i++) {
        const struct io_account *io = &job->mounts.items[i].io;

        io_sum_add(&row.reads, io_account_reads(io));
        io_sum_add(&row.writes, io_account_writes(io));
        io_sum_add(&row.meta, io_account_meta(io));
        add_saturating(&row.errors, io_account_all(io).errors);
        add_saturating(&row.wait_ns, io_account_all(io).time_ns);
    }
    return row;
}

int array_sum_create(struct array_sum *ret)
{
    *ret = (struct array_sum){.job = job_account_create()};
    return ret->job ? 0 : -ENOMEM;
}

void array_sum_clear(struct array_sum *sum)
{
    job_account_destroy(sum->job);
    sum->job = NULL;
}

int array_sum_add(struct array_sum *sum, const struct job_account *job)
{
    struct job_account *to = sum->job;

    add_saturating(&to->elapsed_ns, job->elapsed_ns);
    add_saturating(&to->longest_wait_ns, job_wait_ns(job));
    to->unsupported |= job->unsupported;
    sum->nodes_unknown = sum->nodes_unknown || !job->nodes_expected;
    to->nodes_expected = sum->nodes_unknown ? 0 : to->nodes_expected + job->nodes_expected;
    to->nodes_reported +=
        job->nodes_reported < job->nodes_expected ? job->nodes_reported : job->nodes_expected;
    if (completeness_merge(&to->completeness, &job->completeness) < 0)
        return -ENOMEM;
    return io_mounts_add(&to->mounts, &job->mounts);
}
