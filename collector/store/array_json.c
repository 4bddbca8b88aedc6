/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/array_json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/store/history_json.h"
#include "common/cleanup.h"
#include "report/json/json.h"

/* --- write ----------------------------------------------------------------------------------- */

/* Limit of mounts of steps per answer; reading one takes about 30 us. */
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
    const struct history_row row = array_row(job);

    part->more = part->n == ARRAY_TASKS_MAX || part->work >= WORK_MAX;
    if (part->more) {
        part->next = job->array_task;
        return 1;
    }
    for (size_t i = 0; i < job->n_steps; i++)
        part->work += job->steps[i].mounts.n;
    if (part->n++)
        (void)fputc(',', part->text);
    /* Text, because json-c objects take ten times the memory. */
    history_row_write(&row, part->text);
    return array_sum_add(&part->sum, job);
}

static int write_end(struct part *part)
{
    _free_ char *sum = report_json_text(part->sum.job, 0);

    if (!sum)
        return -ENOMEM;
    (void)fputc(']', part->text);
    if (part->more)
        (void)fprintf(part->text, ",\"next\":%u", part->next);
    (void)fprintf(part->text, ",\"sum\":%s}", sum);
    return 0;
}

/* The text is complete only if this succeeds. */
static int write_answer(struct store *reader, uint32_t array, uint32_t uid, uint32_t from,
                        struct part *part, struct error *error)
{
    int r;

    (void)fputs("{\"tasks\":[", part->text);
    r = store_array(reader, array, uid, from, take_task, part, error);
    return r < 0 ? r : write_end(part);
}

int array_answer(struct store *reader, uint32_t array, uint32_t uid, uint32_t from, char **ret,
                 bool *more, struct error *error)
{
    struct part part = {0};
    _free_ char *text = NULL;
    size_t size;
    int r = array_sum_create(&part.sum);

    part.text = open_memstream(&text, &size);
    if (r == 0)
        r = part.text ? write_answer(reader, array, uid, from, &part, error) : -ENOMEM;
    array_sum_clear(&part.sum);
    if ((part.text && fclose(part.text) != 0) || r == -ENOMEM)
        return error_errno(error, -ENOMEM, "read an array");
    if (r < 0)
        return r;
    *more = part.more;
    *ret = TAKE_PTR(text);
    return 0;
}

/* --- read ------------------------------------------------------------------------------------ */

static int parse_tasks(struct json_object *rows, const struct array_reader *reader,
                       struct error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < json_object_array_length(rows); i++) {
        struct history_row row;

        r = history_row_parse(json_object_array_get_idx(rows, i), &row, error);
        if (r == 0)
            r = reader->task(&row, reader->arg, error);
    }
    return r;
}

static int parse_sum(struct json_object *answer, const struct array_reader *reader,
                     struct error *error)
{
    struct job_account *job = NULL;
    struct json_object *sum;
    int r = json_object_object_get_ex(answer, "sum", &sum)
                ? report_json_parse(sum, &job, error)
                : error_set(error, -EBADMSG, "the answer has no sum");

    if (r == 0)
        r = reader->sum(job, reader->arg, error);
    job_account_destroy(job);
    return r;
}

static int parse_next(struct json_object *answer, uint32_t from, uint32_t *ret, struct error *error)
{
    struct json_object *next;
    int64_t value =
        json_object_object_get_ex(answer, "next", &next) ? json_object_get_int64(next) : 0;

    if (value && (value <= from || value > UINT32_MAX))
        return error_set(error, -EBADMSG, "the answer has no next task");
    *ret = (uint32_t)value;
    return 0;
}

int array_answer_parse(struct json_object *answer, uint32_t from, const struct array_reader *reader,
                       uint32_t *next, struct error *error)
{
    struct json_object *rows;
    int r = 0;

    if (!json_object_object_get_ex(answer, "tasks", &rows) ||
        !json_object_is_type(rows, json_type_array))
        return error_set(error, -EBADMSG, "the answer has no tasks");
    if (json_object_array_length(rows) > 0) {
        r = parse_tasks(rows, reader, error);
        if (r == 0)
            r = parse_sum(answer, reader, error);
    }
    return r < 0 ? r : parse_next(answer, from, next, error);
}
