/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of a job that ClickHouse has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source/clickhouse_found.h"
#include "cli/source/clickhouse_impl.h"
#include "cli/source/parts.h"
#include "common/cleanup.h"
#include "sql/text.h"

static int newest_first(const void *a, const void *b)
{
    const struct job_account *x = ((const struct found_job *)a)->job;
    const struct job_account *y = ((const struct found_job *)b)->job;

    return x->start_ns < y->start_ns ? 1 : -(x->start_ns > y->start_ns);
}

static int give_jobs(struct found_jobs *found, bool all, unsigned parts, struct job_account ***ret)
{
    size_t n = found->n && !all ? 1 : found->n;
    struct job_account **jobs = calloc(n + 1, sizeof(struct job_account *));

    if (!jobs)
        return -ENOMEM;
    if (found->n)
        qsort(found->items, found->n, sizeof(*found->items), newest_first);
    for (size_t i = 0; i < n; i++) {
        jobs[i] = found->items[i].job;
        job_drop_parts(jobs[i], parts);
        found->items[i].job = NULL;
    }
    *ret = jobs;
    return 0;
}

/* The condition for the job; malloc'd, NULL: out of memory. */
static char *which_job(const struct clickhouse *c, const struct jobid *id)
{
    _free_ char *cluster = clickhouse_cluster(c);
    char job[16], task[16];
    const struct clickhouse_value values[] = {
        {"job", job}, {"task", task}, {"table", c->table}, {"cluster", cluster}, {"own", c->own}};

    (void)snprintf(job, sizeof(job), "%u", id->job);
    (void)snprintf(task, sizeof(task), "%u", id->task);
    if (!cluster)
        return NULL;
    return clickhouse_fill(id->has_task ? sql_clickhouse_which_task : sql_clickhouse_which_job,
                           values, ARRAY_SIZE(values));
}

int clickhouse_ask_jobs(struct clickhouse *c, const char *which, clickhouse_row_f each, void *arg,
                        struct error *error)
{
    _free_ char *cluster = clickhouse_cluster(c);
    const struct clickhouse_value values[] = {
        {"table", c->table}, {"which", which}, {"cluster", cluster}, {"own", c->own}};

    if (!which || !cluster)
        return clickhouse_no_memory(error);
    return clickhouse_ask(c, sql_clickhouse_ask_job, values, ARRAY_SIZE(values), each, arg, error);
}

/* The job number of a task may have been reused. */
static void drop_others(struct found_jobs *found, const struct jobid *id)
{
    size_t n = 0;

    for (size_t i = 0; i < found->n; i++) {
        const struct job_account *job = found->items[i].job;

        if (id->has_task && (job->array_job != id->job || job->array_task != id->task))
            found_job_clear(&found->items[i]);
        else
            found->items[n++] = found->items[i];
    }
    found->n = n;
}

static int take_row(struct json_object *row, void *arg, struct error *error)
{
    return found_take(arg, row, error);
}

int clickhouse_jobs(struct source *source, const struct jobid *id, bool all, unsigned parts,
                    struct job_account ***ret, struct error *error)
{
    struct clickhouse *c = (struct clickhouse *)source;
    struct found_jobs found CLEANUP(found_clear) = {0};
    _free_ char *which = which_job(c, id);
    int r = clickhouse_ask_jobs(c, which, take_row, &found, error);

    if (r < 0)
        return r;
    drop_others(&found, id);
    for (size_t i = 0; i < found.n && r == 0; i++)
        r = found_finish(&found.items[i]);
    if (r == 0)
        r = give_jobs(&found, all, parts, ret);
    return r < 0 ? error_errno(error, r, "read the answer of ClickHouse") : 0;
}

/* --- many numbers ----------------------------------------------------------------------------- */

/* malloc'd, NULL: out of memory. */
static char *which_numbers(const uint32_t *numbers, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s%u", i ? ", " : "jobid IN (", numbers[i]);
    (void)fputc(')', out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

struct taker {
    source_job_f each;
    void *arg;
};

static int give_job(struct found_job *f, void *arg, struct error *error)
{
    struct taker *taker = arg;
    int r = found_finish(f);

    if (r < 0)
        return error_errno(error, r, "read the answer of ClickHouse");
    return taker->each(f->job, taker->arg, error);
}

int clickhouse_numbers(struct source *source, const uint32_t *numbers, size_t n, source_job_f each,
                       void *arg, struct error *error)
{
    struct taker taker = {each, arg};
    struct found_stream stream CLEANUP(found_stream_clear) = {.each = give_job, .arg = &taker};
    _free_ char *which = which_numbers(numbers, n);
    int r =
        clickhouse_ask_jobs((struct clickhouse *)source, which, found_stream_take, &stream, error);

    return r < 0 ? r : found_stream_end(&stream, error);
}
