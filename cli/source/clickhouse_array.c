/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of an array that ClickHouse has. It is not ordered by arrays: who its tasks are is
 * asked once, which looks at all of the table, and then of some at a time what they did, by their
 * numbers.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source/clickhouse_found.h"
#include "cli/source/clickhouse_impl.h"
#include "collector/store/array_json.h"
#include "common/cleanup.h"
#include "sql/text.h"

struct task {
    uint32_t task, jobid, restart;
};

struct clickhouse_array {
    struct clickhouse *clickhouse;
    uint32_t number;
    char *cluster;      /* of all tasks, as the table has it; NULL: there are none */
    struct task *tasks; /* in their order */
    size_t n, room;
    size_t next; /* to be read */
};

/* --- who they are ------------------------------------------------------------------------------
 */

void clickhouse_array_close(struct clickhouse_array *array)
{
    if (!array)
        return;
    free(array->cluster);
    free(array->tasks);
    free(array);
}
DEFINE_CLEANUP(struct clickhouse_array, clickhouse_array_close)

static uint32_t number_of(struct json_object *row, const char *name)
{
    struct json_object *value = NULL;

    (void)json_object_object_get_ex(row, name, &value);
    return (uint32_t)json_object_get_int64(value);
}

static int make_room(struct clickhouse_array *array)
{
    size_t room = array->room ? 2 * array->room : 64;
    struct task *grown;

    if (array->n < array->room)
        return 0;
    grown = reallocarray(array->tasks, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    array->tasks = grown;
    array->room = room;
    return 0;
}

static int keep_cluster(struct clickhouse_array *array, struct json_object *row)
{
    struct json_object *value = NULL;

    (void)json_object_object_get_ex(row, "cluster", &value);
    if (!array->cluster && value)
        array->cluster = strdup(json_object_get_string(value));
    return array->cluster ? 0 : -ENOMEM;
}

static int take_task(struct json_object *row, void *arg, struct error *error)
{
    struct clickhouse_array *array = arg;

    if (keep_cluster(array, row) < 0 || make_room(array) < 0)
        return clickhouse_no_memory(error);
    array->tasks[array->n++] = (struct task){
        .task = number_of(row, "array_task"),
        .jobid = number_of(row, "jobid_"),
        .restart = number_of(row, "restart_"),
    };
    return 0;
}

int clickhouse_array_open(struct clickhouse *c, uint32_t number, struct clickhouse_array **ret,
                          struct error *error)
{
    CLEANUP(clickhouse_array_closep) struct clickhouse_array *array = calloc(1, sizeof(*array));
    _free_ char *cluster = clickhouse_cluster(c);
    char job[16];
    const struct clickhouse_value values[] = {
        {"job", job}, {"table", c->table}, {"cluster", cluster}, {"own", c->own}};
    int r;

    if (!array || !cluster)
        return clickhouse_no_memory(error);
    array->clickhouse = c;
    array->number = number;
    (void)snprintf(job, sizeof(job), "%u", number);
    r = clickhouse_ask(c, sql_clickhouse_ask_array, values, ARRAY_SIZE(values), take_task, array,
                       error);
    if (r == 0)
        *ret = TAKE_PTR(array);
    return r;
}

/* --- what they did -----------------------------------------------------------------------------
 */

/* Each without what its steps did when its rows are over. */
struct part {
    struct job_account **jobs;
    size_t n;
    uint32_t array, from;
};

static void part_clear(struct part *part)
{
    for (size_t i = 0; i < part->n; i++)
        job_account_destroy(part->jobs[i]);
    free(part->jobs);
}

/* The sums of the job have it. */
static void drop_io(struct job_account *job)
{
    for (size_t i = 0; i < job->n_steps; i++)
        for (size_t k = 0; k < job->steps[i].mounts.n; k++) {
            io_account_clear(&job->steps[i].mounts.items[k].io);
            timeline_clear(&job->steps[i].mounts.items[k].timeline);
        }
}

static int keep_task(struct found_job *f, void *arg, struct error *error)
{
    struct part *part = arg;
    struct job_account **grown;
    int r;

    if (f->job->array_job != part->array || f->job->array_task < part->from)
        return 0; /* another holder of the number */
    grown = reallocarray(part->jobs, part->n + 1, sizeof(struct job_account *));
    if (!grown)
        return clickhouse_no_memory(error);
    part->jobs = grown;
    r = found_finish(f);
    if (r < 0)
        return error_errno(error, r, "read the answer of ClickHouse");
    drop_io(f->job);
    part->jobs[part->n++] = f->job;
    f->job = NULL;
    return 0;
}

/* The condition on the next tasks, one more than are in an answer, so that it is known whether
 * there are more; malloc'd, NULL: no memory. */
static char *which_tasks(const struct clickhouse_array *array)
{
    _free_ char *cluster = clickhouse_quote(array->cluster);
    size_t left = array->n - array->next, n = left < ARRAY_TASKS_MAX ? left : ARRAY_TASKS_MAX + 1;
    char *text = NULL;
    size_t size;
    FILE *out = cluster ? open_memstream(&text, &size) : NULL;

    if (!out)
        return NULL;
    (void)fprintf(out, "cluster = %s AND (jobid, restart) IN (", cluster);
    for (size_t i = 0; i < n; i++) {
        const struct task *task = &array->tasks[array->next + i];

        (void)fprintf(out, "%s(%u, %u)", i ? ", " : "", task->jobid, task->restart);
    }
    (void)fputc(')', out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Of one task the newest first. */
static int by_task(const void *a, const void *b)
{
    const struct job_account *x = *(struct job_account *const *)a;
    const struct job_account *y = *(struct job_account *const *)b;

    if (x->array_task != y->array_task)
        return x->array_task < y->array_task ? -1 : 1;
    return x->start_ns < y->start_ns ? 1 : -(x->start_ns > y->start_ns);
}

static int give_tasks(const struct part *part, store_job_f each, void *arg)
{
    int r = 0;

    if (part->n)
        qsort(part->jobs, part->n, sizeof(struct job_account *), by_task);
    for (size_t i = 0; i < part->n && r == 0; i++)
        if (!i || part->jobs[i]->array_task != part->jobs[i - 1]->array_task)
            r = each(part->jobs[i], arg);
    return r;
}

int clickhouse_array_read(struct clickhouse_array *array, uint32_t from, store_job_f each,
                          void *arg, struct error *error)
{
    struct part part CLEANUP(part_clear) = {.array = array->number, .from = from};
    struct found_stream stream CLEANUP(found_stream_clear) = {.each = keep_task, .arg = &part};
    _free_ char *which = NULL;
    int r;

    while (array->next < array->n && array->tasks[array->next].task < from)
        array->next++;
    if (array->next == array->n)
        return 0;
    which = which_tasks(array);
    r = clickhouse_ask_jobs(array->clickhouse, which, found_stream_take, &stream, error);
    if (r == 0)
        r = found_stream_end(&stream, error);
    if (r < 0)
        return r;
    return give_tasks(&part, each, arg) < 0 ? clickhouse_no_memory(error) : 0;
}
