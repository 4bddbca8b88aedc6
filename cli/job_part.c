/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/job_part.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/fields.h"
#include "common/cleanup.h"
#include "common/job.h"
#include "common/tree.h"
#include "common/units.h"
#include "report/json/json.h"

/* --- one step --------------------------------------------------------------------------------- */

/* Drops the sums of the whole job, and why they are incomplete. */
static void forget_sums(struct job_account *job)
{
    io_mounts_clear(&job->mounts);
    completeness_clear(&job->completeness);
    mpi_account_destroy(TAKE_PTR(job->mpi));
    mpi_parts_clear(&job->mpi_parts);
    block_account_destroy(TAKE_PTR(job->block));
    stack_profile_destroy(TAKE_PTR(job->stacks));
    job->mounts = (struct io_mounts){0};
    job->completeness = (struct completeness){0};
    job->longest_wait_ns = 0;
}

static void keep_step(struct job_account *job, uint32_t wanted)
{
    size_t kept = 0;

    for (size_t i = 0; i < job->n_steps; i++) {
        if (job->steps[i].step == wanted)
            job->steps[kept++] = job->steps[i];
        else
            step_account_clear(&job->steps[i]);
    }
    job->n_steps = kept;
}

static bool is_new_node(const struct job_account *job, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (job->steps[i].node && job->steps[n].node &&
            strcmp(job->steps[i].node, job->steps[n].node) == 0)
            return false;
    return true;
}

/* The nodes of a step are not known: those of the job that did not report may have had a part of
 * it. */
static void count_nodes(struct job_account *job)
{
    uint32_t missing =
        job->nodes_expected > job->nodes_reported ? job->nodes_expected - job->nodes_reported : 0;
    bool known = job->nodes_expected > 0;

    job->nodes_reported = 0;
    for (size_t i = 0; i < job->n_steps; i++)
        job->nodes_reported += is_new_node(job, i);
    job->nodes_expected = known ? job->nodes_reported + missing : 0;
}

static int sum_up(struct job_account *job)
{
    uint64_t start = UINT64_MAX, end = 0;

    job->ended = true;
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step_account *step = &job->steps[i];

        if (job_account_add_step(job, step) < 0)
            return -ENOMEM;
        if (step->tagged_at_ns < start)
            start = step->tagged_at_ns;
        if (step->tagged_at_ns + step->elapsed_ns > end)
            end = step->tagged_at_ns + step->elapsed_ns;
        job->ended = job->ended && step->state != STEP_RUNNING;
    }
    if (job_account_check_mpi(job) < 0)
        return -ENOMEM;
    job->start_ns = start;
    job->end_ns = job->ended ? end : 0;
    job->elapsed_ns = end - start;
    return 0;
}

int job_keep_step(struct job_account *job, const struct jobid *id, struct error *error)
{
    char text[JOBID_TEXT];

    forget_sums(job);
    keep_step(job, id->step);
    if (job->n_steps == 0)
        return error_set(error, -ENOENT, "no such step: %s ('jobio job %u --steps' lists them)",
                         jobid_format(id, text), id->job);
    count_nodes(job);
    return sum_up(job) < 0 ? error_errno(error, -ENOMEM, "sum the step up") : 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

struct json_object *job_json(const struct job_account *job, unsigned flags, const char *step)
{
    struct tree tree = {false};
    struct json_object *document = report_json(job, flags), *identity = NULL;

    if (step && json_object_object_get_ex(document, "job", &identity))
        tree_put_text(&tree, identity, "step", step);
    return document ? tree_end(&tree, document) : NULL;
}

/* --- CSV -------------------------------------------------------------------------------------- */

void job_csv_header(FILE *out)
{
    (void)fputs("Cluster,JobID,Restart,Step,Node,Exact,Mount,FSType,Source,Operation", out);
    for (size_t i = 0; i < IO_FIELD_COUNT; i++)
        if (io_fields[i].csv)
            (void)fprintf(out, ",%s", io_fields[i].csv);
    (void)fputs(",PeakBytesPerS,PeakRequestsPerS\r\n", out);
}

/* The numbers of the field table, in the order of the header. */
static void write_numbers(const struct io_counter *c, FILE *out)
{
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const struct io_field *field = &io_fields[i];
        char seconds[UNITS_SIZE];

        if (!field->csv)
            continue;
        if (field->unit == IO_UNIT_NS)
            (void)fprintf(out, ",%s", units_seconds(*io_field_of(field, c), seconds));
        else
            (void)fprintf(out, ",%" PRIu64, *io_field_of(field, c));
    }
}

struct place {
    const struct job_account *job;
    const char *step, *node; /* NULL: all */
    bool exact;
};

static int write_op(const struct place *place, const struct io_mount *m, enum io_op op, FILE *out)
{
    const struct io_counter *c = m->io.ops[op];
    const char *texts[] = {m->mount, m->fstype, m->source, io_op_name(op)};

    if (csv_text(out, place->job->key.cluster) < 0)
        return -ENOMEM;
    (void)fprintf(out, ",%u,%u,%s,", place->job->key.jobid, place->job->key.restart,
                  place->step ? place->step : "");
    if (csv_text(out, place->node) < 0)
        return -ENOMEM;
    (void)fprintf(out, ",%s", place->exact ? "yes" : "no");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        (void)fputc(',', out);
        if (csv_text(out, texts[i]) < 0)
            return -ENOMEM;
    }
    write_numbers(c, out);
    (void)fprintf(out, ",%" PRIu64 ",%" PRIu64 "\r\n", m->peaks[op].bytes_per_s,
                  m->peaks[op].requests_per_s);
    return 0;
}

static int write_mounts(const struct place *place, const struct io_mounts *mounts, FILE *out)
{
    for (size_t i = 0; i < mounts->n; i++)
        for (int op = 0; op < IO_OP_COUNT; op++)
            if (mounts->items[i].io.ops[op] && !io_counter_is_empty(mounts->items[i].io.ops[op]) &&
                write_op(place, &mounts->items[i], op, out) < 0)
                return -ENOMEM;
    return 0;
}

static int write_steps(const struct job_account *job, FILE *out)
{
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step_account *step = &job->steps[i];
        char name[16];
        const struct place place = {
            .job = job,
            .step = step_format(step->step, name),
            .node = step->node,
            .exact = step_is_complete(step),
        };

        if (write_mounts(&place, &step->mounts, out) < 0)
            return -ENOMEM;
    }
    return 0;
}

int job_csv(const struct job_account *job, const char *step, bool steps, FILE *out)
{
    const struct place place = {.job = job, .step = step, .exact = job_is_complete(job)};

    return steps ? write_steps(job, out) : write_mounts(&place, &job->mounts, out);
}
