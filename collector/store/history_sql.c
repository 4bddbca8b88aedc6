/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/history_sql.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/history.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/tree.h"

#define NUMBER_DIGITS 10

/* --- the filter ------------------------------------------------------------------------------- */

static const struct {
    const char *column;
    const char *index; /* NULL: none */
} choices[] = {
    [BY_USER] = {"user", "job_user_start"},          [BY_UID] = {"uid", "job_uid_start"},
    [BY_ACCOUNT] = {"account", "job_account_start"}, [BY_PARTITION] = {"partition", NULL},
    [BY_NAME] = {"name", "job_name_start"},
};

void history_sql_clear(struct history_sql *sql)
{
    for (size_t i = 0; i < CHOICES; i++)
        free(sql->by[i].text);
    free(sql->mounts);
    free(sql->nodes);
    free(sql->numbers);
    free(sql->tasks);
}

static void put_object(struct json_object **object)
{
    json_object_put(*object);
}

/* A uid or a job number. */
static bool parse_number(const char *word, uint64_t *ret)
{
    return strlen(word) <= NUMBER_DIGITS && number_parse(word, 0, UINT32_MAX - 1, ret) == 0;
}

/* The words of a list as JSON, *n of them; `only`: just the numbers, or just the others. */
static int words_json(char **words, bool numbers, bool only, char **ret, size_t *n)
{
    struct tree tree = {false};
    CLEANUP(put_object) struct json_object *array = tree_array(&tree);

    for (size_t i = 0; words[i]; i++) {
        uint64_t number = 0;

        if (parse_number(words[i], &number) != numbers && only)
            continue;
        tree_add(&tree, array,
                 numbers ? json_object_new_int64((int64_t)number)
                         : json_object_new_string(words[i]));
    }
    if (tree.failed)
        return -ENOMEM;
    *n = (size_t)json_object_array_length(array);
    if (!*n)
        return 0;
    if (*n > 1)
        *ret = tree_text(json_object_get(array));
    else if (numbers)
        *ret = tree_text(json_object_get(json_object_array_get_idx(array, 0)));
    else /* without quotes */
        *ret = strdup(json_object_get_string(json_object_array_get_idx(array, 0)));
    return *ret ? 0 : -ENOMEM;
}

static int parse_choice(struct choice *choice, const char *list, const char *what,
                        struct error *error)
{
    char **words = NULL;
    int r = list ? history_words(list, what, &words, error) : 0;

    if (r == 0 && words && words_json(words, false, false, &choice->text, &choice->n) < 0)
        r = error_errno(error, -ENOMEM, "%s", what);
    history_words_free(words);
    return r;
}

/* A user may be a name or a uid. */
static int parse_users(struct history_sql *sql, const char *list, struct error *error)
{
    struct choice *name = &sql->by[BY_USER], *uid = &sql->by[BY_UID];
    char **words = NULL;
    int r = list ? history_words(list, "user", &words, error) : 0;

    if (r == 0 && words &&
        (words_json(words, false, true, &name->text, &name->n) < 0 ||
         words_json(words, true, true, &uid->text, &uid->n) < 0))
        r = error_errno(error, -ENOMEM, "user");
    history_words_free(words);
    return r;
}

static int add_job(struct tree *tree, struct json_object *numbers, struct json_object *tasks,
                   const char *word, struct error *error)
{
    struct history_job job;
    struct json_object *task;

    if (history_job_parse(word, &job) < 0)
        return error_set(error, -EINVAL, "\"%s\" is not a job number", word);
    if (!job.has_task) {
        tree_add(tree, numbers, json_object_new_int64(job.job));
        return 0;
    }
    task = tree_array(tree);
    tree_add(tree, task, json_object_new_int64(job.job));
    tree_add(tree, task, json_object_new_int64(job.first));
    tree_add(tree, task, json_object_new_int64(job.last));
    tree_add(tree, tasks, task);
    return 0;
}

static int parse_jobs(struct history_sql *sql, const char *list, struct error *error)
{
    struct tree tree = {false};
    CLEANUP(put_object) struct json_object *numbers = list ? tree_array(&tree) : NULL;
    CLEANUP(put_object) struct json_object *tasks = list ? tree_array(&tree) : NULL;
    char **words = NULL;
    int r = list ? history_words(list, "job", &words, error) : 0;

    for (size_t i = 0; r == 0 && words && words[i]; i++)
        r = add_job(&tree, numbers, tasks, words[i], error);
    history_words_free(words);
    if (r < 0 || !list)
        return r;
    sql->numbers = tree.failed ? NULL : tree_text(json_object_get(numbers));
    sql->tasks = tree.failed ? NULL : tree_text(json_object_get(tasks));
    return sql->numbers && sql->tasks ? 0 : error_errno(error, -ENOMEM, "job");
}

/* The words of a list as JSON, *n of them. */
static int parse_names(const char *list, const char *what, char **ret, size_t *n,
                       struct error *error)
{
    struct tree tree = {false};
    CLEANUP(put_object) struct json_object *array = list ? tree_array(&tree) : NULL;
    char **words = NULL;
    int r = list ? history_words(list, what, &words, error) : 0;

    for (size_t i = 0; r == 0 && words && words[i]; i++)
        tree_add(&tree, array, json_object_new_string(words[i]));
    history_words_free(words);
    if (r < 0 || !list)
        return r;
    if (tree.failed)
        return error_errno(error, -ENOMEM, "%s", what);
    *n = (size_t)json_object_array_length(array);
    *ret = tree_text(json_object_get(array));
    return *ret ? 0 : error_errno(error, -ENOMEM, "%s", what);
}

static int parse_all(struct history_sql *sql, const struct history_filter *filter,
                     struct error *error)
{
    int r = parse_users(sql, filter->user, error);
    size_t n;

    if (r == 0)
        r = parse_choice(&sql->by[BY_ACCOUNT], filter->account, "account", error);
    if (r == 0)
        r = parse_choice(&sql->by[BY_PARTITION], filter->partition, "partition", error);
    if (r == 0)
        r = parse_choice(&sql->by[BY_NAME], filter->name, "name", error);
    if (r == 0)
        r = parse_jobs(sql, filter->jobs, error);
    if (r == 0)
        r = parse_names(filter->mount, "mount", &sql->mounts, &sql->n_mounts, error);
    if (r == 0)
        r = parse_names(filter->nodes, "node", &sql->nodes, &n, error);
    return r;
}

int history_sql_init(struct store *store, const struct history_filter *filter,
                     struct history_sql *sql, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    uint64_t longest = NS_PER_DAY;
    int r = parse_all(sql, filter, error);

    if (r == 0)
        r = store_start(store, SQL_HISTORY_LONGEST, NULL, 0, &row, error);
    if (r == 0)
        r = store_next(store, row, error);
    if (r < 0)
        return r;
    if (r > 0 && column_u64(row, 0) > longest)
        longest = column_u64(row, 0);
    sql->filter = filter;
    sql->longest_ns = longest;
    sql->since_ns = filter->since_ns;
    sql->until_ns = filter->until_ns && filter->until_ns < INT64_MAX ? filter->until_ns : INT64_MAX;
    sql->first_ns = filter->since_ns > longest ? filter->since_ns - longest : 0;
    return 0;
}

/* --- the statement ---------------------------------------------------------------------------- */

/* Prefer the most selective index. NULL: jobs_of.sql finds the rows. */
static const char *index_of(const struct history_sql *sql)
{
    const struct history_filter *filter = sql->filter;
    const struct choice *by = sql->by;

    if (sql->numbers)
        return NULL;
    if (filter->uid != UINT32_MAX || (by[BY_UID].n && !by[BY_USER].n))
        return choices[BY_UID].index;
    if (by[BY_USER].n && !by[BY_UID].n)
        return choices[BY_USER].index;
    if (by[BY_NAME].n)
        return choices[BY_NAME].index;
    if (by[BY_ACCOUNT].n)
        return choices[BY_ACCOUNT].index;
    return "job_start";
}

static void write_choice(FILE *out, size_t i, size_t n)
{
    (void)fprintf(out, n == 1 ? "%s = :%s" : "%s IN (SELECT value FROM json_each(:%s))",
                  choices[i].column, choices[i].column);
}

/* "AND (ended = 0 OR slurm_state IN ('FAILED', 'TIMEOUT'))" */
static void write_states(FILE *out, uint32_t states)
{
    (void)fputs("AND (ended = 0", out);
    if (states & 1u << SLURM_STATE_UNKNOWN)
        (void)fputs(" OR slurm_state IS NULL", out);
    (void)fputs(" OR slurm_state IN (''", out);
    for (unsigned state = 1; state < SLURM_STATE_COUNT; state++)
        if (states & 1u << state)
            (void)fprintf(out, ", '%s'", slurm_state_name((enum slurm_state)state));
    (void)fputs(")) ", out);
}

static void write_conditions(FILE *out, const struct history_sql *sql)
{
    const struct history_filter *filter = sql->filter;
    const struct choice *by = sql->by;
    bool either = by[BY_USER].n && by[BY_UID].n;

    if (filter->uid != UINT32_MAX)
        (void)fprintf(out, "AND uid = :own ");
    if (either) {
        (void)fputs("AND (", out);
        write_choice(out, BY_USER, by[BY_USER].n);
        (void)fputs(" OR ", out);
        write_choice(out, BY_UID, by[BY_UID].n);
        (void)fputs(") ", out);
    }
    if (sql->numbers)
        (void)fprintf(out, "AND %s ", sql_history_jobs_of);
    if (sql->nodes)
        (void)fprintf(out, "AND %s ", sql_history_nodes_of);
    if (filter->slurm_states)
        write_states(out, filter->slurm_states);
    for (size_t i = either ? BY_ACCOUNT : 0; i < CHOICES; i++) {
        if (!by[i].n)
            continue;
        (void)fputs("AND ", out);
        write_choice(out, i, by[i].n);
        (void)fputc(' ', out);
    }
}

static const char *const sort_columns[] = {
    [HISTORY_TIME] = NULL,
    [HISTORY_READ] = "read_bytes",
    [HISTORY_WRITE] = "write_bytes",
    [HISTORY_META] = "meta_requests",
    [HISTORY_WAIT] = "wait_ns",
    [HISTORY_ERRORS] = "errors",
    [HISTORY_ELAPSED] = "elapsed_ns",
    [HISTORY_JOBS] = NULL,
};

bool history_sql_is_table(const struct history_filter *filter)
{
    return filter->mount || filter->group != HISTORY_NO_GROUP;
}

static void write_order(FILE *out, const struct history_filter *filter)
{
    const char *way = filter->reverse ? "ASC" : "DESC";

    if (history_sql_is_table(filter))
        return;
    (void)fputs("ORDER BY ", out);
    if (sort_columns[filter->sort])
        (void)fprintf(out, "%s %s, ", sort_columns[filter->sort], way);
    (void)fprintf(out, "start_ns %s, end_ns %s, id %s", way, way, way);
    if (filter->limit)
        (void)fputs(" LIMIT :limit", out);
}

static const char *mounts_text(const struct history_filter *filter)
{
    return filter->mount                       ? sql_history_mounts_of
           : filter->group == HISTORY_BY_MOUNT ? sql_history_mounts_all
                                               : "";
}

static void write_text(FILE *out, const char *text, const struct history_sql *sql);

static void write_word(FILE *out, const char *word, size_t n, const struct history_sql *sql)
{
    const char *mounts = mounts_text(sql->filter), *index = index_of(sql);

    if (!strncmp(word, "COLUMNS", n))
        write_text(out, sql_history_columns, sql);
    else if (!strncmp(word, "INDEX", n))
        (void)fprintf(out, index ? "INDEXED BY %s" : "NOT INDEXED", index);
    else if (!strncmp(word, "MOUNTS", n))
        (void)fputs(mounts, out);
    else if (!strncmp(word, "SUMS", n))
        (void)fputs(*mounts ? sql_history_mount_sums : sql_history_job_sums, out);
    else if (!strncmp(word, "CONDITIONS", n))
        write_conditions(out, sql);
    else
        write_order(out, sql->filter);
}

/* Replace the words between %. */
static void write_text(FILE *out, const char *text, const struct history_sql *sql)
{
    for (const char *p = text, *end; *p; p = end) {
        size_t n = strcspn(p, "%");

        (void)fwrite(p, 1, n, out);
        end = p + n;
        if (!*end)
            break;
        n = strcspn(end + 1, "%");
        write_word(out, end + 1, n, sql);
        end += n + 2;
    }
}

/* Returns malloc'd text; NULL on out-of-memory. */
static char *statement_text(const char *text, const struct history_sql *sql)
{
    char *filled = NULL;
    size_t size;
    FILE *out = open_memstream(&filled, &size);

    if (!out)
        return NULL;
    write_text(out, text, sql);
    if (fclose(out) != 0) {
        free(filled);
        return NULL;
    }
    return filled;
}

void history_sql_bind(sqlite3_stmt *statement, const char *name, uint64_t value)
{
    int at = sqlite3_bind_parameter_index(statement, name);

    if (at)
        (void)sqlite3_bind_int64(statement, at, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    int at = sqlite3_bind_parameter_index(statement, name);

    if (at && text)
        (void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void bind_all(sqlite3_stmt *statement, const struct history_sql *sql)
{
    const struct history_filter *filter = sql->filter;

    history_sql_bind(statement, ":since", sql->since_ns);
    history_sql_bind(statement, ":first", sql->first_ns);
    history_sql_bind(statement, ":until", sql->until_ns);
    history_sql_bind(statement, ":state", filter->state);
    history_sql_bind(statement, ":own", filter->uid);
    history_sql_bind(statement, ":limit", filter->limit);
    bind_text(statement, ":mounts", sql->mounts);
    bind_text(statement, ":nodes", sql->nodes);
    bind_text(statement, ":numbers", sql->numbers);
    bind_text(statement, ":tasks", sql->tasks);
    for (size_t i = 0; i < CHOICES; i++) {
        const struct choice *choice = &sql->by[i];
        char name[16];
        uint64_t number;

        (void)snprintf(name, sizeof(name), ":%s", choices[i].column);
        if (choice->n == 1 && i == BY_UID && parse_number(choice->text, &number))
            history_sql_bind(statement, name, number);
        else
            bind_text(statement, name, choice->text);
    }
}

int history_sql_prepare(struct store *store, const char *text, const struct history_sql *sql,
                        sqlite3_stmt **ret, struct error *error)
{
    _free_ char *filled = statement_text(text, sql);
    int rc;

    if (!filled)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    rc = sqlite3_prepare_v2(store->db, filled, -1, ret, NULL);
    if (rc != SQLITE_OK)
        return store_error(store, error, rc, "history");
    bind_all(*ret, sql);
    return 0;
}
