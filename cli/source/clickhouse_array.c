/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tasks of an array, by ClickHouse. The table is not ordered by arrays: the tasks are looked up
 * once, in all of the table, and then their accounts are read in batches, by job number.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source/adder.h"
#include "cli/source/clickhouse_found.h"
#include "cli/source/clickhouse_impl.h"
#include "common/cleanup.h"
#include "sql/text.h"

#define BATCH 1000 /* tasks whose accounts are read at once */

struct task {
    uint32_t task, jobid, restart;
};

struct tasks {
    char *cluster;      /* owned; of all tasks, as in the table; NULL: there are none */
    struct task *items; /* owned; in their order */
    size_t n, room;
};

/* --- the tasks
 * ------------------------------------------------------------------------------------ */

static void tasks_clear(struct tasks *tasks)
{
    free(tasks->cluster);
    free(tasks->items);
}

static uint32_t number_of(struct json_object *row, const char *name)
{
    struct json_object *value = NULL;

    (void)json_object_object_get_ex(row, name, &value);
    return (uint32_t)json_object_get_int64(value);
}

static int make_room(struct tasks *tasks)
{
    size_t room = tasks->room ? 2 * tasks->room : 64;
    struct task *grown;

    if (tasks->n < tasks->room)
        return 0;
    grown = reallocarray(tasks->items, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    tasks->items = grown;
    tasks->room = room;
    return 0;
}

static int keep_cluster(struct tasks *tasks, struct json_object *row)
{
    struct json_object *value = NULL;

    (void)json_object_object_get_ex(row, "cluster", &value);
    if (!tasks->cluster && value)
        tasks->cluster = strdup(json_object_get_string(value));
    return tasks->cluster ? 0 : -ENOMEM;
}

static int take_task(struct json_object *row, void *arg, struct error *error)
{
    struct tasks *tasks = arg;

    if (keep_cluster(tasks, row) < 0 || make_room(tasks) < 0)
        return clickhouse_no_memory(error);
    tasks->items[tasks->n++] = (struct task){
        .task = number_of(row, "array_task"),
        .jobid = number_of(row, "jobid_"),
        .restart = number_of(row, "restart_"),
    };
    return 0;
}

static int ask_tasks(struct clickhouse *c, uint32_t number, struct tasks *ret, struct error *error)
{
    _free_ char *cluster = clickhouse_cluster(c);
    char job[16];
    const struct clickhouse_value values[] = {
        {"job", job}, {"table", c->table}, {"cluster", cluster}, {"own", c->own}};

    if (!cluster)
        return clickhouse_no_memory(error);
    (void)snprintf(job, sizeof(job), "%u", number);
    return clickhouse_ask(c, sql_clickhouse_ask_array, values, ARRAY_SIZE(values), take_task, ret,
                          error);
}

/* --- their accounts -----------------------------------------------------------------------------
 */

/* The accounts of a batch of tasks; those of their steps are dropped as soon as they are added
 * up. */
struct part {
    struct job_account **jobs; /* owned */
    size_t n;
    uint32_t array;
};

static void part_clear(struct part *part)
{
    for (size_t i = 0; i < part->n; i++)
        job_account_destroy(part->jobs[i]);
    free(part->jobs);
}

/* Drops the I/O of the steps, which is in the sums of the job. */
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

    if (f->job->array_job != part->array)
        return 0; /* another job of that number */
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

/* The condition for `n` tasks; malloc'd, NULL: out of memory. */
static char *which_tasks(const char *cluster, const struct task *tasks, size_t n)
{
    _free_ char *quoted = clickhouse_quote(cluster);
    char *text = NULL;
    size_t size;
    FILE *out = quoted ? open_memstream(&text, &size) : NULL;

    if (!out)
        return NULL;
    (void)fprintf(out, "cluster = %s AND (jobid, restart) IN (", quoted);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s(%u, %u)", i ? ", " : "", tasks[i].jobid, tasks[i].restart);
    (void)fputc(')', out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* By task, the newest first. */
static int by_task(const void *a, const void *b)
{
    const struct job_account *x = *(struct job_account *const *)a;
    const struct job_account *y = *(struct job_account *const *)b;

    if (x->array_task != y->array_task)
        return x->array_task < y->array_task ? -1 : 1;
    return x->start_ns < y->start_ns ? 1 : -(x->start_ns > y->start_ns);
}

static int give_tasks(const struct part *part, struct array_adder *adder)
{
    int r = 0;

    if (part->n)
        qsort(part->jobs, part->n, sizeof(struct job_account *), by_task);
    for (size_t i = 0; i < part->n && r == 0; i++)
        if (!i || part->jobs[i]->array_task != part->jobs[i - 1]->array_task)
            r = array_adder_task(part->jobs[i], adder);
    return r;
}

static int read_batch(struct clickhouse *c, uint32_t number, const char *which,
                      struct array_adder *adder, struct error *error)
{
    struct part part CLEANUP(part_clear) = {.array = number};
    struct found_stream stream CLEANUP(found_stream_clear) = {.each = keep_task, .arg = &part};
    int r = clickhouse_ask_jobs(c, which, found_stream_take, &stream, error);

    if (r == 0)
        r = found_stream_end(&stream, error);
    return r < 0 ? r : give_tasks(&part, adder);
}

int clickhouse_array(struct source *source, uint32_t number, const struct array_reader *reader,
                     struct error *error)
{
    struct clickhouse *c = (struct clickhouse *)source;
    struct tasks tasks CLEANUP(tasks_clear) = {0};
    struct array_adder adder CLEANUP(array_adder_clear) = {0};
    int r = array_adder_create(&adder, reader, error);

    if (r == 0)
        r = ask_tasks(c, number, &tasks, error);
    for (size_t i = 0; r == 0 && i < tasks.n; i += BATCH) {
        size_t n = tasks.n - i < BATCH ? tasks.n - i : BATCH;
        _free_ char *which = which_tasks(tasks.cluster, &tasks.items[i], n);

        r = read_batch(c, number, which, &adder, error);
    }
    return r < 0 ? r : array_adder_finish(&adder);
}
