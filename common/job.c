/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

static const struct {
    uint32_t step;
    const char *name;
} step_names[] = {
    {STEP_BATCH, "batch"},
    {STEP_EXTERN, "extern"},
    {STEP_INTERACTIVE, "interactive"},
    {STEP_FOLDED, "folded"},
};

static const char *const state_names[] = {
    [STEP_RUNNING] = "running",
    [STEP_ENDED] = "ended",
    [STEP_VANISHED] = "vanished",
};

char *step_format(uint32_t step, char buf[16])
{
    for (size_t i = 0; i < ARRAY_SIZE(step_names); i++)
        if (step_names[i].step == step)
            return strcpy(buf, step_names[i].name);
    snprintf(buf, 16, "%u", step);
    return buf;
}

int step_parse(const char *text, uint32_t *ret)
{
    uint64_t value;

    for (size_t i = 0; i < ARRAY_SIZE(step_names); i++)
        if (!strcmp(step_names[i].name, text)) {
            *ret = step_names[i].step;
            return 0;
        }
    if (number_parse(text, 0, UINT32_MAX, &value) < 0)
        return -EINVAL;
    *ret = (uint32_t)value;
    return 0;
}

const char *step_state_name(enum step_state state)
{
    return (unsigned)state < ARRAY_SIZE(state_names) ? state_names[state] : "unknown";
}

int step_state_parse(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
        if (!strcmp(state_names[i], text))
            return (int)i;
    return -EINVAL;
}

bool step_is_complete(const struct step_account *step)
{
    return !step->completeness.lost && !step->completeness.n;
}

bool job_has_all_nodes(const struct job_account *job)
{
    return job->nodes_expected && job->nodes_reported >= job->nodes_expected;
}

bool job_is_complete(const struct job_account *job)
{
    return !job->completeness.lost && !job->completeness.n && job_has_all_nodes(job);
}

bool job_mpi_is_complete(const struct job_account *job)
{
    return job_has_all_nodes(job) && job->mpi && !job->mpi->completeness.n;
}

bool job_has_mpi(const struct job_account *job)
{
    return job->mpi && (!mpi_account_is_empty(job->mpi) || job->mpi->completeness.n);
}

const char *job_not_counted(const struct job_account *job)
{
    const struct completeness *c = &job->completeness;

    for (size_t i = 0; !job->mounts.n && i < c->n; i++)
        if (!strncmp(c->items[i].cause, CAUSE_NOT_COUNTED, strlen(CAUSE_NOT_COUNTED)))
            return c->items[i].cause;
    return NULL;
}

static bool is_much(const struct job_account *job, uint64_t ns)
{
    bool is_long = job->elapsed_ns >= NS_PER_MINUTE;
    uint64_t least = is_long ? job->elapsed_ns / 20 : job->elapsed_ns / 3;

    return ns >= least && (is_long || ns >= NS_PER_S);
}

bool job_lost_time(const struct job_account *job)
{
    return is_much(job, job->longest_wait_ns);
}

/* There are at most as many processes as opens, because each has opened a file. So one of them
 * spent at least all_ns / opens. */
bool job_lost_mpi_time(const struct job_account *job)
{
    uint64_t opens = job->mpi ? job->mpi->classes[MPI_OPEN].calls : 0;
    uint64_t all_ns = job->mpi ? mpi_account_time_ns(job->mpi) : 0;

    if (!all_ns || !is_much(job, all_ns))
        return false;
    return job_lost_time(job) || (opens && is_much(job, all_ns / opens));
}

uint64_t job_wait_ns(const struct job_account *job)
{
    return job->longest_wait_ns < job->elapsed_ns ? job->longest_wait_ns : job->elapsed_ns;
}

uint64_t job_events(const struct job_account *job)
{
    uint64_t events = 0;

    for (size_t i = 0; i < job->mounts.n; i++)
        for (int op = 0; op < IO_OP_COUNT; op++) {
            const struct io_counter *counter = job->mounts.items[i].io.ops[op];

            if (counter && op != IO_CREATE) /* part of open */
                events += counter->requests;
        }
    return events;
}

int job_account_add_step(struct job_account *job, const struct step_account *step)
{
    const struct mpi_part part = {step->het, step->step, step->mpi != NULL, !step->mpi};
    const bool has_requests = io_mounts_requests(&job->mounts) > 0;
    struct completeness sum;
    int r = completeness_union(&job->completeness, &step->completeness, &sum);

    if (r < 0)
        return r;
    r = io_mounts_add(&job->mounts, &step->mounts);
    if (r < 0) {
        completeness_clear(&sum);
        return r;
    }
    completeness_clear(&job->completeness);
    job->completeness = sum;
    if (step->longest_wait_ns > job->longest_wait_ns)
        job->longest_wait_ns = step->longest_wait_ns;
    r = mpi_account_add(&job->mpi, step->mpi);
    if (r == 0)
        r = block_account_add(&job->block, has_requests, step->block,
                              io_mounts_requests(&step->mounts) > 0);
    if (r == 0)
        r = stack_profile_add(&job->stacks, step->stacks);
    return r == 0 ? mpi_parts_add(&job->mpi_parts, &part) : r;
}

int job_account_check_mpi(struct job_account *job)
{
    uint64_t missing = job->mpi ? mpi_parts_missing(&job->mpi_parts) : 0;

    return missing ? completeness_add(&job->mpi->completeness, MPI_CAUSE_NODE, missing, 0) : 0;
}

void step_account_clear(struct step_account *step)
{
    if (!step)
        return;
    free(step->node);
    completeness_clear(&step->completeness);
    io_mounts_clear(&step->mounts);
    mpi_account_destroy(step->mpi);
    block_account_destroy(step->block);
    stack_profile_destroy(step->stacks);
    *step = (struct step_account){0};
}

static void nodes_free(struct node_account *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(nodes[i].node);
        free(nodes[i].look_ups);
    }
    free(nodes);
}

struct job_account *job_account_create(void)
{
    return calloc(1, sizeof(struct job_account));
}

static void command_free(char **command)
{
    for (char **word = command; word && *word; word++)
        free(*word);
    free(command);
}

void job_account_destroy(struct job_account *job)
{
    if (!job)
        return;
    free(job->key.cluster);
    free(job->user);
    free(job->account);
    free(job->partition);
    free(job->name);
    free(job->first_node);
    completeness_clear(&job->completeness);
    mpi_account_destroy(job->mpi);
    mpi_parts_clear(&job->mpi_parts);
    block_account_destroy(job->block);
    stack_profile_destroy(job->stacks);
    io_mounts_clear(&job->mounts);
    for (size_t i = 0; i < job->n_steps; i++)
        step_account_clear(&job->steps[i]);
    free(job->steps);
    nodes_free(job->nodes, job->n_nodes);
    command_free(job->command);
    free(job);
}
