/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/array_json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/store/history_json.h"
#include "common/cleanup.h"
#include "common/numbers.h"
#include "report/json/json.h"

/* As the store has it in its own sums. */
static struct history_row row_of(const struct job_account *job)
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

/* --- an answer -------------------------------------------------------------------------------- */

/* Mounts of steps that are read for one: some 30 us each. */
#define WORK_MAX 20000

struct part {
    FILE *text;
    struct array_sum sum;
    size_t n, work;
    bool more;
    uint32_t next; /* if there are more */
};

static int take_task(const struct job_account *job, void *arg)
{
    struct part *part = arg;
    const struct history_row row = row_of(job);

    part->more = part->n == ARRAY_TASKS_MAX || part->work >= WORK_MAX;
    if (part->more) {
        part->next = job->array_task;
        return 1;
    }
    for (size_t i = 0; i < job->n_steps; i++)
        part->work += job->steps[i].mounts.n;
    if (part->n++)
        (void)fputc(',', part->text);
    /* Text at once: the objects of many rows take ten times its memory. */
    history_row_write(&row, part->text);
    return array_sum_add(&part->sum, job);
}

static int write_end(struct part *part)
{
    struct json_object *sum = report_json(part->sum.job, 0);

    if (!sum)
        return -ENOMEM;
    (void)fputc(']', part->text);
    if (part->more)
        (void)fprintf(part->text, ",\"next\":%u", part->next);
    (void)fprintf(part->text, ",\"sum\":%s}",
                  json_object_to_json_string_ext(sum, JSON_C_TO_STRING_PLAIN |
                                                          JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(sum);
    return 0;
}

/* What is in `text` then is the answer. */
static int write_answer(array_source_f tasks, void *source, uint32_t from, struct part *part,
                        struct error *error)
{
    int r;

    (void)fputs("{\"tasks\":[", part->text);
    r = tasks(source, from, take_task, part, error);
    return r < 0 ? r : write_end(part);
}

int array_answer_of(array_source_f tasks, void *source, uint32_t from, char **ret, bool *more,
                    struct error *error)
{
    struct part part = {0};
    _free_ char *text = NULL;
    size_t size;
    int r = array_sum_create(&part.sum);

    part.text = open_memstream(&text, &size);
    if (r == 0)
        r = part.text ? write_answer(tasks, source, from, &part, error) : -ENOMEM;
    array_sum_clear(&part.sum);
    if ((part.text && fclose(part.text) != 0) || r == -ENOMEM)
        return error_errno(error, -ENOMEM, "read an array");
    if (r < 0)
        return r;
    *more = part.more;
    *ret = TAKE_PTR(text);
    return 0;
}

struct stored {
    struct store *reader;
    uint32_t array, uid;
};

static int stored_tasks(void *source, uint32_t from, store_job_f each, void *arg,
                        struct error *error)
{
    const struct stored *stored = source;

    return store_array(stored->reader, stored->array, stored->uid, from, each, arg, error);
}

int array_answer(struct store *reader, uint32_t array, uint32_t uid, uint32_t from, char **ret,
                 bool *more, struct error *error)
{
    struct stored stored = {reader, array, uid};

    return array_answer_of(stored_tasks, &stored, from, ret, more, error);
}
