/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history, by ClickHouse. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source/clickhouse_impl.h"
#include "cli/base/output.h"
#include "collector/store/history.h"
#include "collector/store/history_json.h"
#include "common/clock.h"
#include "report/rows/rows.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "sql/text.h"

/* Steps that started earlier are not considered. */
#define YEAR_NS (366 * NS_PER_DAY)

static uint64_t number_of(struct json_object *row, const char *name)
{
    struct json_object *value = NULL;

    (void)json_object_object_get_ex(row, name, &value);
    return json_object_get_uint64(value);
}

/* NULL for an empty one, as in the store. */
static const char *text_of(struct json_object *row, const char *name)
{
    struct json_object *value = NULL;
    const char *text;

    (void)json_object_object_get_ex(row, name, &value);
    text = sink_text_parse(value);
    return text && *text ? text : NULL;
}

static struct io_sum sum_of(struct json_object *row, const char *what)
{
    static const struct {
        const char *name;
        size_t offset;
    } parts[] = {
        {"requests", offsetof(struct io_sum, requests)},
        {"bytes", offsetof(struct io_sum, bytes)},
        {"errors", offsetof(struct io_sum, errors)},
        {"time_ns", offsetof(struct io_sum, time_ns)},
        {"max_ns", offsetof(struct io_sum, max_ns)},
    };
    struct io_sum sum = {0};
    char name[48];

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        uint64_t value;

        (void)snprintf(name, sizeof(name), "%s_%s", what, parts[i].name);
        value = number_of(row, name);
        memcpy((char *)&sum + parts[i].offset, &value, sizeof(value));
    }
    return sum;
}

/* The jobs of an answer. */
struct found_rows {
    struct history_table *table; /* owned */
    size_t n, most;              /* most: the LIMIT of the query */
};

/* A server that is not ClickHouse could send rows until the memory is full. */
static int check_row(struct json_object *row, const struct found_rows *rows, struct error *error)
{
    if (!json_object_object_get_ex(row, "jobid", NULL))
        return error_set(error, -EBADMSG, "a row has no column \"jobid\"");
    if (rows->n == rows->most)
        return error_set(error, -EBADMSG, "ClickHouse: more than %zu rows, the limit of the query",
                         rows->most);
    return 0;
}

static int take_history(struct json_object *row, void *arg, struct error *error)
{
    struct found_rows *rows = arg;
    bool ended = number_of(row, "ended");
    const struct history_row found = {
        .cluster = text_of(row, "cluster"),
        .user = text_of(row, "user"),
        .account = text_of(row, "account"),
        .partition = text_of(row, "partition"),
        .name = text_of(row, "name"),
        .jobid = (uint32_t)number_of(row, "jobid"),
        .array_job = (uint32_t)number_of(row, "array_job"),
        .array_task = (uint32_t)number_of(row, "array_task"),
        .restart = (uint32_t)number_of(row, "restart"),
        .uid = (uint32_t)number_of(row, "uid"),
        .ended = ended,
        .complete = number_of(row, "complete"),
        .slurm = {.state = slurm_state_parse(text_of(row, "slurm_state")),
                  .has_exit = number_of(row, "exit_known"),
                  .exit_code = (uint32_t)number_of(row, "exit_code"),
                  .exit_signal = (uint32_t)number_of(row, "exit_signal")},
        .start_ns = number_of(row, "start_ns"),
        .end_ns = ended ? number_of(row, "end_ns") : 0,
        .elapsed_ns = number_of(row, "elapsed_ns"),
        .steps = (uint32_t)number_of(row, "steps"),
        .reads = sum_of(row, "read"),
        .writes = sum_of(row, "write"),
        .meta = sum_of(row, "meta"),
        .errors = number_of(row, "errors"),
        .wait_ns = number_of(row, "wait_ns"),
        .longest_wait_ns = number_of(row, "longest_wait_ns"),
    };
    int r = check_row(row, rows, error);

    if (r < 0)
        return r;
    rows->n++;
    return history_table_add(rows->table, &found) < 0 ? clickhouse_no_memory(error) : 0;
}

static const char *const orders[] = {
    [HISTORY_TIME] = "start_ns_",      [HISTORY_READ] = "read_bytes_",
    [HISTORY_WRITE] = "write_bytes_",  [HISTORY_META] = "meta_requests_",
    [HISTORY_WAIT] = "wait_ns_",       [HISTORY_ERRORS] = "errors_",
    [HISTORY_ELAPSED] = "elapsed_ns_", [HISTORY_JOBS] = "start_ns_",
};

static const char *const states[] = {
    [HISTORY_ANY] = "",
    [HISTORY_RUNNING] = "AND ended_ = 0",
    [HISTORY_ENDED] = "AND ended_ = 1",
};

/* "1000" is uid 1000. */
static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0' && strlen(text) <= 10;
}

/* "user IN ('a', 'b')". numbers > 0: only items that are numbers; 0: only the others; < 0: all.
 * The list starts with an item that never matches, so that it is never empty. */
static void write_in(FILE *out, const char *column, char **words, int numbers)
{
    (void)fprintf(out, "%s IN (%s", column, numbers > 0 ? "4294967295" : "'\\0'");
    for (size_t i = 0; words[i]; i++) {
        _free_ char *sent = numbers > 0 ? NULL : utf8_escape(words[i]);
        _free_ char *quoted = sent ? clickhouse_quote(sent) : NULL;

        if (numbers < 0 || is_number(words[i]) == (numbers > 0))
            (void)fprintf(out, ", %s", quoted ? quoted : numbers > 0 ? words[i] : "''");
    }
    (void)fputc(')', out);
}

/* A job number may be reused. The first stage selects the numbers for which any row matches, the
 * second one the jobs that match. */
enum stage { ANY_ROW, WHOLE_JOB, STAGES };

static const struct {
    const char *what;
    size_t offset;
    const char *names[STAGES], *numbers[STAGES]; /* columns; NULL: none */
} lists[] = {
    {"user", offsetof(struct history_filter, user), {"user", "user_"}, {"uid", "uid_"}},
    {"account", offsetof(struct history_filter, account), {"account", "account_"}, {NULL}},
    {"partition",
     offsetof(struct history_filter, partition),
     {"`partition`", "partition_"},
     {NULL}},
    {"name", offsetof(struct history_filter, name), {"name", "name_"}, {NULL}},
};

/* Jobs, arrays and tasks. */
static void write_job(FILE *out, const char *word, enum stage stage, bool first)
{
    const char *array = stage == ANY_ROW ? "array_job" : "array_";
    const char *task = stage == ANY_ROW ? "array_task" : "task_";
    struct history_job job;

    if (history_job_parse(word, &job) < 0)
        return;
    if (!first)
        (void)fputs(" OR ", out);
    if (job.has_task)
        (void)fprintf(out, "(%s = %u AND %s >= %u AND %s <= %u)", array, job.job, task, job.first,
                      task, job.last);
    else
        (void)fprintf(out, "jobid = %u OR %s = %u", job.job, array, job.job);
}

static int write_jobs(FILE *out, const struct history_filter *filter, enum stage stage,
                      struct error *error)
{
    char **words = NULL;
    int r = filter->jobs ? history_words(filter->jobs, "job", &words, error) : 0;

    if (r < 0 || !filter->jobs)
        return r;
    (void)fputs(stage == ANY_ROW ? " AND max(" : " AND (", out);
    for (size_t i = 0; words[i]; i++)
        write_job(out, words[i], stage, i == 0);
    (void)fputc(')', out);
    history_words_free(words);
    return 0;
}

/* Jobs with a step on one of these nodes. */
static int write_nodes(FILE *out, const struct history_filter *filter, enum stage stage,
                       struct error *error)
{
    char **words = NULL;
    int r = filter->nodes ? history_words(filter->nodes, "node", &words, error) : 0;

    if (r < 0 || !filter->nodes)
        return r;
    if (stage == ANY_ROW) {
        (void)fputs(" AND max(", out);
        write_in(out, "node", words, -1);
        (void)fputc(')', out);
    } else {
        (void)fputs(" AND arrayExists(n -> ", out);
        write_in(out, "n", words, -1);
        (void)fputs(", node_)", out);
    }
    history_words_free(words);
    return 0;
}

static int write_list(FILE *out, const struct history_filter *filter, size_t i, enum stage stage,
                      struct error *error)
{
    const char *names = lists[i].names[stage], *numbers = lists[i].numbers[stage];
    const char *list = *(const char *const *)((const char *)filter + lists[i].offset);
    char **words = NULL;
    int r = list ? history_words(list, lists[i].what, &words, error) : 0;

    if (r < 0 || !list)
        return r;
    (void)fputs(stage == ANY_ROW ? " AND max(" : " AND (", out);
    if (names)
        write_in(out, names, words, numbers ? 0 : -1);
    if (names && numbers)
        (void)fputs(" OR ", out);
    if (numbers)
        write_in(out, numbers, words, 1);
    (void)fputc(')', out);
    history_words_free(words);
    return 0;
}

/* All lists; malloc'd. */
static int write_conditions(const struct history_filter *filter, enum stage stage, char **ret,
                            struct error *error)
{
    size_t size;
    FILE *out = open_memstream(ret, &size);
    int r = 0;

    for (size_t i = 0; out && r == 0 && i < ARRAY_SIZE(lists); i++)
        r = write_list(out, filter, i, stage, error);
    if (out && r == 0)
        r = write_jobs(out, filter, stage, error);
    if (out && r == 0)
        r = write_nodes(out, filter, stage, error);
    return !out || fclose(out) != 0 ? clickhouse_no_memory(error) : r;
}

static int write_stages(const struct history_filter *filter, char **any_row, char **whole_job,
                        struct error *error)
{
    int r = write_conditions(filter, ANY_ROW, any_row, error);

    return r < 0 ? r : write_conditions(filter, WHOLE_JOB, whole_job, error);
}

/* The condition of --state; malloc'd. */
static char *write_state(const struct history_filter *filter)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    (void)fputs(states[filter->state], out);
    if (filter->slurm_states) {
        (void)fputs(" AND (ended_ = 0 OR slurm_state_ IN ('\\0'", out);
        for (unsigned state = 0; state < SLURM_STATE_COUNT; state++)
            if (filter->slurm_states & 1u << state)
                (void)fprintf(out, ", '%s'",
                              state ? slurm_state_name((enum slurm_state)state) : "");
        (void)fputs("))", out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int refuse_mounts(const struct history_filter *filter, struct error *error)
{
    if (filter->mount || filter->group == HISTORY_BY_MOUNT)
        return error_set(error, -EINVAL,
                         "%s does not work with ClickHouse: query its view v_job_mount",
                         filter->mount ? "--mount" : "--group mount");
    return 0;
}

/* The jobs of the filter, without its groups. */
static int ask_rows(struct clickhouse *c, const struct history_filter *filter, uint32_t most,
                    struct found_rows *rows, struct error *error)
{
    _free_ char *cluster = clickhouse_cluster(c), *anyone = NULL, *whose = NULL, *jobs = NULL;
    _free_ char *state = write_state(filter);
    char from[24], since[24], until[24], limit[24];
    uint64_t year_before = filter->since_ns > YEAR_NS ? filter->since_ns - YEAR_NS : 0;
    int r = cluster && state ? write_stages(filter, &anyone, &whose, error)
                             : clickhouse_no_memory(error);
    struct clickhouse_value values[] = {
        {"jobs", NULL},
        {"table", c->table},
        {"cluster", cluster},
        {"anyone", anyone},
        {"whose", whose},
        {"state", state},
        {"way", filter->reverse ? "ASC" : "DESC"},
        {"from", from},
        {"since", since},
        {"until", until},
        {"limit", limit},
        {"order_", orders[filter->group ? HISTORY_TIME : filter->sort]},
        {"own", c->own},
    };

    if (r < 0)
        return r;
    (void)snprintf(from, sizeof(from), "%" PRIu64, year_before);
    (void)snprintf(since, sizeof(since), "%" PRIu64, filter->since_ns);
    (void)snprintf(until, sizeof(until), "%" PRIu64,
                   filter->until_ns ? filter->until_ns : (uint64_t)INT64_MAX);
    (void)snprintf(limit, sizeof(limit), "%u", most);
    rows->most = most;
    jobs = clickhouse_fill(sql_clickhouse_ask_jobs, values, ARRAY_SIZE(values));
    values[0].text = jobs;
    return jobs ? clickhouse_ask(c, sql_clickhouse_ask_history, values, ARRAY_SIZE(values),
                                 take_history, rows, error)
                : clickhouse_no_memory(error);
}

/* The sum of some of the jobs would be wrong. */
static int check_whole(const struct found_rows *rows, const struct history_filter *filter,
                       struct error *error)
{
    if (rows->n < HISTORY_ROWS_MAX)
        return 0;
    if (filter->group)
        return error_set(
            error, -E2BIG,
            "more than %d jobs to add up: choose a shorter time, or query ClickHouse directly",
            HISTORY_ROWS_MAX);
    if (!filter->limit || filter->limit > HISTORY_ROWS_MAX)
        output_error("only %d jobs are shown: choose a shorter time or a limit", HISTORY_ROWS_MAX);
    return 0;
}

/* Hands out rows only after ClickHouse has sent all of them: it may fail in between. */
int clickhouse_history(struct source *source, const struct history_filter *filter, history_f each,
                       void *arg, struct error *error)
{
    bool all = filter->group || !filter->limit || filter->limit > HISTORY_ROWS_MAX;
    struct found_rows rows = {.table = history_table_create(filter)};
    int r = rows.table ? refuse_mounts(filter, error) : clickhouse_no_memory(error);

    if (r == 0)
        r = ask_rows((struct clickhouse *)source, filter, all ? HISTORY_ROWS_MAX : filter->limit,
                     &rows, error);
    if (r == 0)
        r = check_whole(&rows, filter, error);
    if (r == 0)
        r = history_table_each(rows.table, each, arg);
    history_table_destroy(rows.table);
    return r;
}
