/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/compare/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/tree.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/compare/compare.h"

/* Less waiting is harmless, as in the summary. */
#define LITTLE 0.05

const char *array_measure_name(enum array_measure measure)
{
    static const char *const names[] = {
        [ARRAY_ELAPSED] = "elapsed_s",  [ARRAY_WAITING] = "waiting",
        [ARRAY_READ] = "read_bytes",    [ARRAY_WRITTEN] = "write_bytes",
        [ARRAY_META] = "meta_requests", [ARRAY_ERRORS] = "errors",
    };

    return names[measure];
}

static struct array_range range_of(const struct array *array, enum array_measure measure,
                                   double *values)
{
    struct array_range range = {.min = array->tasks[0].values[measure],
                                .most = array->tasks[0].task};

    for (size_t i = 0; i < array->n; i++) {
        double value = values[i] = array->tasks[i].values[measure];

        range.sum += value;
        range.min = fmin(range.min, value);
        if (value > range.max) {
            range.max = value;
            range.most = array->tasks[i].task;
        }
    }
    range.median = profile_middle(values, array->n);
    return range;
}

int array_sum_up(struct array *array)
{
    _free_ double *values = calloc(array->n, sizeof(*values));
    double waited = 0;

    if (!values)
        return -ENOMEM;
    array->running = array->incomplete = 0;
    for (size_t i = 0; i < array->n; i++) {
        const struct array_task *task = &array->tasks[i];

        array->running += !task->ended;
        array->incomplete += task->ended && !task->complete;
        waited += task->values[ARRAY_WAITING] * task->values[ARRAY_ELAPSED];
    }
    for (int m = 0; m < ARRAY_MEASURES; m++)
        array->ranges[m] = range_of(array, (enum array_measure)m, values);
    array->ranges[ARRAY_WAITING].sum =
        array->ranges[ARRAY_ELAPSED].sum > 0 ? waited / array->ranges[ARRAY_ELAPSED].sum : 0;
    return 0;
}

static const struct array_task *most(const struct array *array, enum array_measure measure)
{
    for (size_t i = 0; i < array->n; i++)
        if (array->tasks[i].task == array->ranges[measure].most)
            return &array->tasks[i];
    return NULL;
}

/* In seconds: a short task may have waited for most of its run time. */
static double waited_s(const struct array_task *task)
{
    return task->values[ARRAY_WAITING] * task->values[ARRAY_ELAPSED];
}

const struct array_task *array_slowest(const struct array *array)
{
    const struct array_range *waiting = &array->ranges[ARRAY_WAITING];
    const struct array_task *worst = NULL;

    for (size_t i = 0; i < array->n; i++)
        if (!worst || waited_s(&array->tasks[i]) > waited_s(worst))
            worst = &array->tasks[i];
    if (array->n < 2 || worst->values[ARRAY_WAITING] < LITTLE ||
        worst->values[ARRAY_WAITING] < 1.25 * waiting->median)
        return NULL;
    return worst;
}

const struct array_task *array_failing(const struct array *array)
{
    const struct array_range *errors = &array->ranges[ARRAY_ERRORS];

    if (array->n < 2 || errors->max < 1 || errors->max < 1.25 * errors->median)
        return NULL;
    return most(array, ARRAY_ERRORS);
}

/* --- in words --------------------------------------------------------------------------------- */

static char *percent(double part, char buf[UNITS_SIZE])
{
    return units_percent((uint64_t)llround(part * 1e6), 1000000, buf);
}

static void write_slowest(FILE *out, const struct array *array, const struct array_task *task)
{
    char most_text[UNITS_SIZE], median[UNITS_SIZE];
    _free_ char *mount = array->worst_mount ? utf8_sanitize(array->worst_mount) : NULL;

    fprintf(out, "Task %u (job %u) waited longest for I/O: %s of its run time, the median task %s",
            task->task, task->jobid, percent(task->values[ARRAY_WAITING], most_text),
            percent(array->ranges[ARRAY_WAITING].median, median));
    if (mount)
        fprintf(out, "; mostly %s %s", profile_kind_words(array->worst_kind), mount);
    fputc('.', out);
}

static void write_failing(FILE *out, const struct array *array, const struct array_task *task)
{
    const struct array_range *errors = &array->ranges[ARRAY_ERRORS];
    char mine[UNITS_SIZE], all[UNITS_SIZE];

    fprintf(out, "Task %u (job %u) has %s of the %s failed calls.", task->task, task->jobid,
            units_count((uint64_t)llround(errors->max), mine),
            units_count((uint64_t)llround(errors->sum), all));
}

char *array_sentence(const struct array *array)
{
    const struct array_task *slowest = array_slowest(array), *failing = array_failing(array);
    char waiting[UNITS_SIZE];
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);

    if (!out)
        return NULL;
    if (slowest)
        write_slowest(out, array, slowest);
    else if (array->n > 1 && array->ranges[ARRAY_WAITING].max < LITTLE)
        fprintf(out, "No task waited more than %s of its run time for I/O.",
                percent(array->ranges[ARRAY_WAITING].max, waiting));
    else if (array->n > 1)
        fprintf(out, "All tasks waited about as much for I/O.");
    if (failing) {
        fputc(' ', out);
        write_failing(out, array, failing);
    }
    return text_buffer_take(&text);
}

/* --- for programs ----------------------------------------------------------------------------- */

void array_csv(const struct array *array, FILE *out)
{
    (void)fputs("Task,JobIDRaw,State,Exact,Elapsed,Wait,Read,Write,Meta,Errors\r\n", out);
    for (size_t i = 0; i < array->n; i++) {
        const struct array_task *task = &array->tasks[i];
        char elapsed[UNITS_SIZE];

        units_elapsed((uint64_t)llround(task->values[ARRAY_ELAPSED] * 1e9), elapsed);
        (void)fprintf(out, "%u,%u,%s,%s,%s,%.2f", task->task, task->jobid,
                      task->ended ? "ended" : "running", task->complete ? "yes" : "no", elapsed,
                      100 * task->values[ARRAY_WAITING]);
        for (int m = ARRAY_READ; m < ARRAY_MEASURES; m++)
            (void)fprintf(out, ",%.0f", task->values[m]);
        (void)fputs("\r\n", out);
    }
}

static struct json_object *ranges_json(struct tree *t, const struct array *array)
{
    struct json_object *all = tree_object(t);

    for (int m = 0; m < ARRAY_MEASURES; m++) {
        const struct array_range *range = &array->ranges[m];
        struct json_object *o = tree_object(t);

        tree_put_number(t, o, "sum", range->sum, TREE_FEW);
        tree_put_number(t, o, "min", range->min, TREE_FEW);
        tree_put_number(t, o, "median", range->median, TREE_FEW);
        tree_put_number(t, o, "max", range->max, TREE_FEW);
        tree_put_u64(t, o, "max_task", range->most);
        tree_put(t, all, array_measure_name((enum array_measure)m), o);
    }
    return all;
}

static struct json_object *task_json(struct tree *t, const struct array_task *task)
{
    struct json_object *o = tree_object(t);

    tree_put_u64(t, o, "task", task->task);
    tree_put_u64(t, o, "jobid", task->jobid);
    tree_put_text(t, o, "state", task->ended ? "ended" : "running");
    tree_put_text(t, o, "slurm_state", slurm_state_name(task->slurm_state));
    tree_put_bool(t, o, "complete", task->complete);
    for (int m = 0; m < ARRAY_MEASURES; m++)
        tree_put_number(t, o, array_measure_name((enum array_measure)m), task->values[m], TREE_FEW);
    return o;
}

static struct json_object *tasks_json(struct tree *t, const struct array *array)
{
    struct json_object *all = tree_array(t);

    for (size_t i = 0; i < array->n; i++)
        tree_add(t, all, task_json(t, &array->tasks[i]));
    return all;
}

struct json_object *array_json(const struct array *array)
{
    const struct array_task *slowest = array_slowest(array), *failing = array_failing(array);
    _free_ char *sentence = array_sentence(array);
    struct tree tree = {!sentence}, *t = &tree;
    struct json_object *o = tree_object(t);

    tree_put_u64(t, o, "version", 1);
    tree_put_u64(t, o, "array_jobid", array->jobid);
    tree_put_text(t, o, "name", array->name);
    tree_put_text(t, o, "user", array->user);
    tree_put_u64(t, o, "running", array->running);
    tree_put_u64(t, o, "incomplete", array->incomplete);
    tree_put(t, o, "measures", ranges_json(t, array));
    tree_put(t, o, "sum", profile_json(array->sum));
    tree_put(t, o, "tasks", tasks_json(t, array));
    tree_put_text(t, o, "text", sentence);
    if (slowest)
        tree_put_u64(t, o, "slowest_task", slowest->task);
    if (failing)
        tree_put_u64(t, o, "failing_task", failing->task);
    return tree_end(t, o);
}
