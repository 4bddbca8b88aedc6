/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/job.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"

struct job *jobs_find(struct jobs *jobs, uint32_t jobid, uint32_t restart)
{
    for (size_t i = 0; i < jobs->n; i++) {
        struct job *job = jobs->items[i];

        if (!job->over && job->sum->key.jobid == jobid && job->sum->key.restart == restart)
            return job;
    }
    return NULL;
}

static void job_free(struct job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < job->n_steps; i++)
        step_destroy(job->steps[i]);
    free(job->steps);
    job_account_destroy(job->sum);
    step_account_clear(&job->folded);
    ended_steps_clear(&job->ended);
    free(job->first_node);
    free(job->nodes);
    meter_destroy(job->meter);
    free(job);
}
DEFINE_CLEANUP(struct job, job_free)

void jobs_remove(struct jobs *jobs, struct job *job)
{
    for (size_t i = 0; i < jobs->n; i++)
        if (jobs->items[i] == job) {
            jobs->items[i] = jobs->items[--jobs->n];
            break;
        }
    job_free(job);
}

/* CLOCK_BOOTTIME at a moment that is known in real time only. */
static uint64_t boot_of(uint64_t real_ns)
{
    uint64_t now = clock_ns(CLOCK_REALTIME), ago = now > real_ns ? now - real_ns : 0;
    uint64_t boot = clock_ns(CLOCK_BOOTTIME);

    return boot > ago ? boot - ago : 0;
}

struct job *jobs_add(struct jobs *jobs, struct job_account *account, uint64_t interval_ns)
{
    CLEANUP(job_freep) struct job *job = calloc(1, sizeof(*job));
    struct job **grown = realloc(jobs->items, (jobs->n + 1) * sizeof(*grown));

    if (grown)
        jobs->items = grown;
    if (!job || !grown)
        return NULL;
    job->start_boot_ns = job->last_end_boot_ns = boot_of(account->start_ns);
    job->meter = meter_create(interval_ns, job->start_boot_ns);
    if (!job->meter)
        return NULL;
    job->sum = account;
    jobs->items[jobs->n++] = job;
    return TAKE_PTR(job);
}

struct step *job_find_step(struct job *job, uint32_t het, uint32_t step)
{
    struct step *found = NULL;

    for (size_t i = 0; i < job->n_steps; i++) {
        struct step *s = job->steps[i];

        if (s->tag.step == step && s->tag.het == het && (!found || s->phase == PHASE_RUNNING))
            found = s;
    }
    return found;
}

struct step *jobs_find_step(struct jobs *jobs, const struct step_ids *ids)
{
    struct step *found = NULL;

    for (size_t i = 0; i < jobs->n; i++) {
        struct job *job = jobs->items[i];
        struct step *step;

        if (job->sum->key.jobid != ids->jobid || job->sum->key.restart != ids->restart)
            continue;
        step = job_find_step(job, ids->het, ids->step);
        if (step && (!found || step->phase == PHASE_RUNNING))
            found = step;
    }
    return found;
}

void job_note_step(struct job *job, uint32_t step)
{
    job->had_last_step |= step == STEP_EXTERN || step == STEP_BATCH;
}

struct step *job_add_step(struct job *job, struct tag *tag)
{
    struct step **grown = realloc(job->steps, (job->n_steps + 1) * sizeof(*job->steps));
    struct step *step = grown ? step_create(tag) : NULL;

    if (grown)
        job->steps = grown;
    if (!step)
        return NULL;
    step->job = job;
    job->steps[job->n_steps++] = step;
    step->beyond_limit = job->n_rows >= TRACKER_STEPS_PER_JOB;
    job->n_rows += !step->beyond_limit;
    if (step->tag.nodes > job->sum->nodes_expected)
        job->sum->nodes_expected = step->tag.nodes;
    if (!job->sum->name && step->tag.name)
        job->sum->name = strdup(step->tag.name); /* best effort */
    if (step->tag.array_job) {                   /* not every step of a task reports it */
        job->sum->array_job = step->tag.array_job;
        job->sum->array_task = step->tag.array_task;
    }
    job_note_step(job, step->tag.step);
    return step;
}

void job_remove_step(struct step *step)
{
    struct job *job = step->job;

    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i] == step) {
            job->n_steps--;
            memmove(&job->steps[i], &job->steps[i + 1], (job->n_steps - i) * sizeof(*job->steps));
            break;
        }
    step_destroy(step);
}
