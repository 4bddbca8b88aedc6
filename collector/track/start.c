/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/start.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "collector/cgroup/hierarchy.h"
#include "collector/cgroup/users.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/track/end.h"
#include "collector/track/job_files.h"
#include "collector/track/late_tag.h"
#include "collector/track/step_block.h"
#include "collector/track/step_mpi.h"
#include "collector/track/step_stacks.h"
#include "collector/track/step_trace.h"
#include "common/cleanup.h"
#include "common/clock.h"

struct job *job_start(struct tracker *tracker, struct job_account *account)
{
    struct job *job = jobs_add(&tracker->jobs, account, tracker->interval_ns);

    if (!job)
        return NULL;
    job->tracker = tracker;
    job_file_read_nodes(job);
    return job;
}

static struct job *get_job(struct tracker *tracker, const struct tag *tag)
{
    struct job *job = jobs_find(&tracker->jobs, tag->jobid, tag->restart);
    struct job_account *account;

    if (job)
        return job;
    account = job_account_create();
    if (!account)
        return NULL;
    account->key.jobid = tag->jobid;
    account->key.restart = tag->restart;
    account->uid = tag->uid;
    account->start_ns = tag->tagged_at_ns;
    account->key.cluster = strdup(tracker->cluster);
    job = account->key.cluster ? job_start(tracker, account) : NULL;
    if (!job) {
        job_account_destroy(account);
        return NULL;
    }
    job->start_boot_ns = tag->tagged_boot_ns;
    /* Look the name up now, so that it is known when the job ends, unless the prolog reports it. */
    account->user = users_find_name(tracker->users, account->uid);
    return job;
}

/* Put the cgroup into the map. untracked: the user's code may have started before, and the plugin
 * has not put it into the map. */
static int start_counting(struct tracker *tracker, const struct tag *tag, uint32_t *number,
                          bool *untracked, struct error *error)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    bool late = now > tag_deadline(tag);
    int r;

    *number = step_number(tag->cgroup_id, tag->version);
    *untracked = late && !probe_has(tracker->probe, tag->cgroup_id, tag->version);
    r = hierarchy_check(tracker->hierarchy, tag->version, tag->cgroup, tag->cgroup_id, error);
    if (r < 0)
        return r;
    r = probe_add(tracker->probe, tag->cgroup_id, tag->level, tag->version, NULL, error);
    if (r == 0 && *untracked)
        probe_began_late(tracker->probe, *number);
    return r;
}

static int follow(struct tracker *tracker, struct tag *tag, uint32_t number,
                  const struct step_account *before, struct step **ret, struct error *error)
{
    struct job *job;
    struct step *step;
    /* First, because it may fail: that must not leave a job without a step. */
    int r = sampler_add(tracker->sampler, number, tag->tagged_boot_ns, tag->tagged_at_ns, before,
                        error);

    if (r < 0)
        return r;
    job = get_job(tracker, tag);
    step = job ? job_add_step(job, tag) : NULL;
    if (!step) {
        sampler_forget(tracker->sampler, number);
        return error_set(error, -ENOMEM, "no memory for a step");
    }
    step->number = number;
    *ret = step;
    return 0;
}

static int copy_tag(const struct tag *from, struct tag *ret)
{
    *ret = *from;
    ret->cgroup = strdup(from->cgroup);
    ret->node = from->node ? strdup(from->node) : NULL;
    ret->name = from->name ? strdup(from->name) : NULL;
    ret->caller = from->caller ? strdup(from->caller) : NULL;
    if (ret->cgroup && (ret->node || !from->node) && (ret->name || !from->name) &&
        (ret->caller || !from->caller))
        return 0;
    tag_clear(ret);
    return -ENOMEM;
}

/* The step belongs to a job that is over, and its row is not in the store yet. */
static bool is_being_stored(struct tracker *tracker, const struct tag *tag)
{
    for (size_t i = 0; i < tracker->jobs.n; i++) {
        struct job *job = tracker->jobs.items[i];
        const struct step *step = NULL;

        if (job->over && job->sum->key.jobid == tag->jobid && job->sum->key.restart == tag->restart)
            step = job_find_step(job, tag->het, tag->step);
        if (step && step->tag.cgroup_id == tag->cgroup_id && step->tag.version == tag->version &&
            step->tag.tagged_at_ns == tag->tagged_at_ns)
            return true;
    }
    return false;
}

/* A TAG that is read after its END must not start the step again: it would replace its final row.
 */
static bool is_over(const struct tracker *tracker, const struct tag *tag)
{
    const struct step_ids ids = {tag->jobid, tag->restart, tag->het, tag->step};

    return tag->tagged_at_ns && recent_steps_has(&tracker->recent, &ids, tag->tagged_at_ns);
}

bool step_is_tracked(struct tracker *tracker, const struct tag *tag)
{
    struct job *job = jobs_find(&tracker->jobs, tag->jobid, tag->restart);
    struct step *step = job ? job_find_step(job, tag->het, tag->step) : NULL;

    if (is_being_stored(tracker, tag) || is_over(tracker, tag))
        return true;
    if (!step)
        return false;
    if (step->tag.cgroup_id == tag->cgroup_id && step->tag.version == tag->version)
        return true;
    step_end(step, STEP_VANISHED, 0);
    return false;
}

int step_start(struct tracker *tracker, const struct tag *tag, struct error *error)
{
    CLEANUP(tag_clear) struct tag copy = {0};
    struct step *step;
    uint32_t number;
    bool untracked, late;
    int r;

    if (step_is_tracked(tracker, tag))
        return 0;
    r = start_counting(tracker, tag, &number, &untracked, error);
    if (r < 0)
        return r;
    r = copy_tag(tag, &copy);
    if (r < 0)
        return error_set(error, r, "no memory for a step");
    r = follow(tracker, &copy, number, NULL, &step, error);
    if (r < 0)
        return r;
    late = clock_ns(CLOCK_BOOTTIME) > tag_deadline(&step->tag);
    /* A step that the plugin put into the map itself ran before jobiod knew it. */
    step_trace_start(step, late || tag->direct);
    step_stacks_start(step);
    r = step_mpi_start(step, late);
    if (r == 0)
        r = step_block_start(step, late || tag->direct);
    if (r < 0)
        return error_set(error, r, "no memory for a step");
    if (untracked)
        late_tag_mark(step);
    return 0;
}

int step_adopt(struct tracker *tracker, struct tag *tag, const struct step_account *before,
               bool counted, struct step **ret, struct error *error)
{
    uint32_t number = step_number(tag->cgroup_id, tag->version);
    int r = follow(tracker, tag, number, before, ret, error);

    if (r < 0)
        return r;
    step_trace_start(*ret, true);
    step_stacks_start(*ret);
    r = step_mpi_adopt(*ret, before ? before->mpi : NULL);
    if (r == 0)
        r = step_block_adopt(*ret, before ? before->block : NULL);
    if (r < 0)
        return error_set(error, r, "no memory for a step");
    (*ret)->beyond_limit &= !before; /* it has a row already */
    if (!counted)
        late_tag_mark(*ret);
    return 0;
}
