/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/array.h"

#include <json-c/json.h>
#include <string.h>

#include "collector/rows.h"
#include "common/cleanup.h"
#include "report/json.h"

struct gathered {
    struct json_object *tasks;
    struct job_account *sum;
    bool nodes_unknown; /* of a task */
};

static void add(uint64_t *to, uint64_t value)
{
    if (__builtin_add_overflow(*to, value, to))
        *to = UINT64_MAX;
}

static void sum_add(struct io_sum *to, struct io_sum from)
{
    add(&to->requests, from.requests);
    add(&to->bytes, from.bytes);
    add(&to->errors, from.errors);
    add(&to->time_ns, from.time_ns);
    if (from.max_ns > to->max_ns)
        to->max_ns = from.max_ns;
}

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

        sum_add(&row.reads, io_account_reads(io));
        sum_add(&row.writes, io_account_writes(io));
        sum_add(&row.meta, io_account_meta(io));
        add(&row.errors, io_account_all(io).errors);
        add(&row.wait_ns, io_account_all(io).time_ns);
    }
    return row;
}

/* What a thread can have waited at most is the run time. */
static uint64_t wait_of(const struct job_account *job)
{
    return job->longest_wait_ns < job->elapsed_ns ? job->longest_wait_ns : job->elapsed_ns;
}

static int take_task(const struct job_account *job, void *arg)
{
    struct gathered *g = arg;
    const struct history_row row = row_of(job);
    struct json_object *object = history_row_json(&row);

    if (!object || json_object_array_add(g->tasks, object) < 0) {
        json_object_put(object);
        return -ENOMEM;
    }
    add(&g->sum->elapsed_ns, job->elapsed_ns);
    add(&g->sum->longest_wait_ns, wait_of(job));
    g->sum->unsupported |= job->unsupported;
    g->sum->nodes_expected += job->nodes_expected;
    g->sum->nodes_reported += job->nodes_reported < job->nodes_expected ? job->nodes_reported
                                                                        : job->nodes_expected;
    g->nodes_unknown = g->nodes_unknown || !job->nodes_expected;
    if (completeness_merge(&g->sum->completeness, &job->completeness) < 0)
        return -ENOMEM;
    return io_mounts_add(&g->sum->mounts, &job->mounts);
}

static int answer(const struct gathered *g, char **ret)
{
    struct json_object *document = json_object_new_object(), *sum = report_json(g->sum, 0);
    int r = -ENOMEM;

    if (document && sum && json_object_object_add(document, "sum", sum) == 0) {
        sum = NULL;
        if (json_object_object_add(document, "tasks", json_object_get(g->tasks)) == 0)
            *ret = strdup(json_object_to_json_string_ext(
                document, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
        r = *ret ? 0 : -ENOMEM;
    }
    json_object_put(sum);
    json_object_put(document);
    return r;
}

int array_answer(struct store *reader, uint32_t array, uint32_t uid, char **ret,
                 struct error *error)
{
    struct gathered g = {json_object_new_array(), job_account_create(), false};
    int r = -ENOMEM;

    *ret = NULL;
    error->text[0] = '\0';
    if (g.tasks && g.sum)
        r = store_array(reader, array, uid, take_task, &g, error);
    if (g.nodes_unknown)
        g.sum->nodes_expected = 0;
    if (r == 0)
        r = answer(&g, ret);
    json_object_put(g.tasks);
    job_account_destroy(g.sum);
    if (r == -ENOMEM)
        return error_errno(error, r, "read an array");
    return r;
}
