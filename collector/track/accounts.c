/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/accounts.h"

#include <stdlib.h>
#include <string.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/track/folded_steps.h"
#include "collector/track/step_block.h"
#include "collector/track/step_mpi.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

const struct io_mounts *step_unsummed_mounts(const struct step *step)
{
    return step->summed ? NULL : sampler_mounts(step->job->tracker->sampler, step->number);
}

int step_get_account(const struct step *step, struct step_account *ret)
{
    const struct tracker *tracker = step->job->tracker;
    CLEANUP(step_account_clear)
    struct step_account a = {
        .het = step->tag.het, .step = step->tag.step, .tagged_at_ns = step->tag.tagged_at_ns};
    int r;

    if (!step_is_open(step))
        return step_account_copy(&step->account, ret);
    r = text_copy(&a.node, tracker->node);
    if (!r)
        r = sampler_account(tracker->sampler, step->number, &a);
    if (!r)
        r = step_mpi_read(step, &a.mpi);
    if (!r)
        r = step_block_read(step, &a.block);
    if (r < 0)
        return r;
    *ret = a;
    memset(&a, 0, sizeof(a));
    return 0;
}

int job_copy_identity(const struct job_account *from, struct job_account *to)
{
    to->key.jobid = from->key.jobid;
    to->key.restart = from->key.restart;
    to->uid = from->uid;
    to->array_job = from->array_job;
    to->array_task = from->array_task;
    to->start_ns = from->start_ns;
    to->nodes_expected = from->nodes_expected;
    if (text_copy(&to->key.cluster, from->key.cluster) < 0 ||
        text_copy(&to->user, from->user) < 0 || text_copy(&to->account, from->account) < 0 ||
        text_copy(&to->partition, from->partition) < 0 || text_copy(&to->name, from->name) < 0)
        return -ENOMEM;
    return 0;
}

static int copy_sum(const struct job_account *from, struct job_account *to)
{
    int r = job_copy_identity(from, to);

    to->ended = from->ended;
    to->end_ns = from->end_ns;
    to->nodes_reported = 1;
    to->longest_wait_ns = from->longest_wait_ns;
    if (!r)
        r = mpi_account_add(&to->mpi, from->mpi);
    if (!r)
        r = block_account_add(&to->block, false, from->block, false);
    if (!r)
        r = mpi_parts_merge(&to->mpi_parts, &from->mpi_parts);
    return r < 0 ? r : io_mounts_copy(&from->mounts, &to->mounts);
}

static uint64_t over_or_now(const struct job *job)
{
    return job->over_boot_ns ? job->over_boot_ns : clock_ns(CLOCK_BOOTTIME);
}

static uint64_t elapsed(const struct job *job)
{
    uint64_t end = over_or_now(job);

    return end > job->start_boot_ns ? end - job->start_boot_ns : 0;
}

int job_update_meter(struct job *job, uint64_t now_ns, bool tick)
{
    int r;

    meter_start(job->meter);
    r = meter_add(job->meter, &job->sum->mounts);
    for (size_t i = 0; i < job->n_steps && !r; i++) {
        const struct io_mounts *mounts = step_unsummed_mounts(job->steps[i]);

        if (mounts)
            r = meter_add(job->meter, mounts);
    }
    if (!r)
        meter_end(job->meter, now_ns, tick);
    return r;
}

/* Add the open steps to the sum. keep: also list all steps that are not in the store. */
static int add_steps(const struct job *job, struct job_account *ret, bool keep)
{
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step *step = job->steps[i];
        CLEANUP(step_account_clear) struct step_account account = {0};
        int r;

        if (step->summed && (!keep || step->beyond_limit || step_is_stored(step)))
            continue;
        r = step_get_account(step, &account);
        if (!r && !step->summed)
            r = step_add_to_sum(ret, step, &account);
        if (r < 0)
            return r;
        if (keep) {
            ret->steps[ret->n_steps++] = account;
            memset(&account, 0, sizeof(account));
        }
    }
    if (keep && job->folded.folded) {
        if (step_account_copy(&job->folded, &ret->steps[ret->n_steps]) < 0)
            return -ENOMEM;
        ret->n_steps++;
    }
    return 0;
}

static struct job_account *build(struct job *job, bool keep)
{
    struct job_account *ret = job_account_create();

    if (!ret)
        return NULL;
    ret->steps = keep ? calloc(job->n_steps + 1, sizeof(*ret->steps)) : NULL;
    if ((keep && !ret->steps) || copy_sum(job->sum, ret) < 0 ||
        completeness_merge(&ret->completeness, &job->sum->completeness) < 0 ||
        add_steps(job, ret, keep) < 0 || job_update_meter(job, over_or_now(job), false) < 0 ||
        text_copy(&ret->first_node, job->first_node) < 0) {
        job_account_destroy(ret);
        return NULL;
    }
    ret->elapsed_ns = elapsed(job);
    ret->unsupported = probe_unsupported(job->tracker->probe);
    ret->ns_per_event = probe_ns_per_event(job->tracker->probe);
    meter_fill(job->meter, &ret->mounts, ret->elapsed_ns);
    return ret;
}

struct job_account *job_snapshot(struct job *job)
{
    return build(job, true);
}

struct job_account *job_row(struct job *job)
{
    struct job_account *row = build(job, false);

    if (row)
        completeness_clear(&row->completeness);
    return row;
}

/* Steps with a row of their own that are not listed: beyond the limit of ended_steps, or ended
 * under an earlier jobiod. */
static uint32_t count_unlisted(const struct job *job)
{
    size_t listed = job->ended.n;

    for (size_t i = 0; i < job->n_steps; i++)
        listed += !job->steps[i]->beyond_limit && !step_is_stored(job->steps[i]);
    return listed < job->n_rows ? job->n_rows - (uint32_t)listed : 0;
}

struct job_account *job_report(struct job *job)
{
    struct job_account *account = job_snapshot(job);

    if (!account)
        return NULL;
    account->more_steps = count_unlisted(job);
    if (ended_steps_list(&job->ended, account) == 0)
        return account;
    job_account_destroy(account);
    return NULL;
}

/* The type of a mount in the totals. Users can invent types (fuse.NAME). */
static const char *total_type(const struct io_mounts *totals, const struct io_mount *m)
{
    size_t private_types = 0;

    if (m->labelled || io_mounts_find(totals, "(private)", m->fstype, "", true))
        return m->fstype;
    for (size_t i = 0; i < totals->n; i++)
        private_types += totals->items[i].private;
    return private_types < IO_PRIVATE_TYPES ? m->fstype : "(other)";
}

int totals_add(struct io_mounts *totals, const struct io_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *m = &mounts->items[i];
        struct io_mount *to = io_mounts_get(totals, m->labelled ? m->mount : "(private)",
                                            total_type(totals, m), "", !m->labelled);

        if (!to || io_account_add(&to->io, &m->io) < 0)
            return -ENOMEM;
        to->labelled = m->labelled;
    }
    return 0;
}
