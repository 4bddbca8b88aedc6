/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: every field of the field table, of every operation, survives JSON, the store and the rows
 * of the history sink, and reaches the CSV, the metrics and the rules of advice that it names. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/job_part.h"
#include "common/units.h"
#include "report/advice/fields.h"
#include "report/json/json.h"
#include "report/prometheus/prometheus.h"
#include "report/rows/rows.h"
#include "tests/unit/sample.h"
#include "tests/unit/store_data.h"

/* A number that no other field, operation or bucket has. */
static uint64_t number_of(int op, size_t field, unsigned bucket)
{
    return 1000000 + (uint64_t)op * 10000 + field * 100 + bucket;
}

static void set_field(struct io_counter *c, int op, size_t i)
{
    const struct io_field *field = &io_fields[i];

    switch (field->kind) {
    case IO_FIELD_SUM:
    case IO_FIELD_MAX:
        *io_field_in(field, c) = number_of(op, i, 0);
        break;
    case IO_FIELD_HISTOGRAM:
        for (unsigned b = 0; b < IO_BUCKETS; b++)
            io_field_in(field, c)[b] = number_of(op, i, b);
        break;
    case IO_FIELD_ERRNOS:
        assert_int_equal(io_counter_errno(c, 2, number_of(op, i, 0)), 0);
        assert_int_equal(io_counter_errno(c, 5, number_of(op, i, 1)), 0);
        break;
    }
}

/* All fields of all operations but those that JSON leaves out. */
static void set_account(struct io_account *io)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        struct io_counter *c = io_account_op(io, op);

        assert_non_null(c);
        for (size_t i = 0; i < IO_FIELD_COUNT; i++)
            if (!(io_fields[i].flags & IO_FIELD_ORDER) || op == IO_READ || op == IO_WRITE)
                set_field(c, op, i);
    }
}

static void assert_same_field(const struct io_counter *a, const struct io_counter *b, int op,
                              const struct io_field *field)
{
    size_t numbers = field->kind == IO_FIELD_HISTOGRAM ? IO_BUCKETS : 1;
    bool same = true;

    if (field->kind == IO_FIELD_ERRNOS) {
        same = a->n_errnos == b->n_errnos;
        for (size_t i = 0; same && i < a->n_errnos; i++)
            same =
                a->errnos[i].code == b->errnos[i].code && a->errnos[i].count == b->errnos[i].count;
    } else {
        same = !memcmp(io_field_of(field, a), io_field_of(field, b), numbers * sizeof(uint64_t));
    }
    if (!same)
        fail_msg("\"%s\" of \"%s\" did not survive", field->name, io_op_name(op));
}

static void assert_same_account(const struct io_account *a, const struct io_account *b)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        if (!a->ops[op] || !b->ops[op])
            fail_msg("operation \"%s\" did not survive", io_op_name(op));
        for (size_t i = 0; i < IO_FIELD_COUNT; i++)
            assert_same_field(a->ops[op], b->ops[op], op, &io_fields[i]);
    }
}

/* A job of one step on one mount. */
static struct job_account *make_job(void)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account *step;
    struct io_mount *m;

    job->steps = calloc(1, sizeof(*job->steps));
    assert_non_null(job->steps);
    job->n_steps = 1;
    step = &job->steps[0];
    step->het = HET_NONE;
    step->state = STEP_ENDED;
    step->node = strdup("n1");
    step->tagged_at_ns = NOW;
    step->elapsed_ns = SECOND;
    m = io_mounts_get(&step->mounts, "/scratch", "nfs4", "srv:/x", false);
    assert_non_null(m);
    m->labelled = true;
    set_account(&m->io);
    for (int i = 0; i < IO_CACHE_COLUMNS; i++)
        *io_column_in(&io_cache_columns[i], &m->cache) = 31 + (uint64_t)i;
    assert_int_equal(job_account_add_step(job, step), 0);
    return job;
}

static void test_json(void **state)
{
    _job_ *job = make_job(), *back = NULL;
    char *text = report_json_text(job, REPORT_STEPS);
    struct json_object *document;
    struct error error;

    (void)state;
    assert_non_null(text);
    document = json_tokener_parse(text);
    assert_ok(report_json_parse(document, &back, &error), error);
    assert_same_account(&job->mounts.items[0].io, &back->mounts.items[0].io);
    assert_memory_equal(&job->mounts.items[0].cache, &back->mounts.items[0].cache,
                        sizeof(struct io_cache));
    json_object_put(document);
    free(text);
}

static void test_store(void **state)
{
    _job_ *job = make_job();
    struct job_account **found;

    (void)state;
    put_rows(job, &job->steps[0], true);
    found = jobs_found(7, false, UINT32_MAX);
    assert_non_null(found[0]);
    assert_same_account(&job->mounts.items[0].io, &found[0]->mounts.items[0].io);
    assert_memory_equal(&job->mounts.items[0].cache, &found[0]->mounts.items[0].cache,
                        sizeof(struct io_cache));
    store_jobs_free(found);
}

static int64_t query_number(sqlite3 *db, const char *column, const char *from)
{
    sqlite3_stmt *statement = NULL;
    char sql[256];
    int64_t number;

    (void)snprintf(sql, sizeof(sql), "SELECT %s FROM %s", column, from);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return number;
}

/* io_put.sql and io_list.sql could both swap two columns and the account would still survive. */
static void test_store_columns_have_their_names(void **state)
{
    _job_ *job = make_job();
    const struct io_sums sums = io_account_sums(&job->mounts.items[0].io);
    sqlite3 *db = NULL;
    char column[80];

    (void)state;
    put_rows(job, &job->steps[0], true);
    assert_int_equal(sqlite3_open_v2(directory.store, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const char *name = io_fields[i].name;

        if (io_fields[i].kind == IO_FIELD_HISTOGRAM)
            (void)snprintf(column, sizeof(column), "json_extract(%s, '$[0]')", name);
        else if (io_fields[i].kind == IO_FIELD_ERRNOS)
            (void)snprintf(column, sizeof(column), "json_extract(%s, '$.\"2\"')", name);
        else
            (void)snprintf(column, sizeof(column), "%s", name);
        assert_int_equal(query_number(db, column, "io WHERE op = 'write'"),
                         number_of(IO_WRITE, i, 0));
    }
    for (size_t i = 0; i < IO_SUM_COLUMNS; i++) {
        static const char *const tables[] = {"step", "job", "job_mount"};

        for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
            assert_int_equal(query_number(db, io_sum_columns[i].name, tables[t]),
                             io_column_of(&io_sum_columns[i], &sums));
    }
    for (size_t i = 0; i < IO_CACHE_COLUMNS; i++)
        assert_int_equal(query_number(db, io_cache_columns[i].name, "step_mount"), 31 + i);
    (void)sqlite3_close(db);
}

/* What the node has counted so far holds every number that has a metric. */
static void test_node_totals(void **state)
{
    struct io_mounts totals CLEANUP(io_mounts_clear) = {0};
    _job_ *job = make_job();
    struct error error;

    (void)state;
    put_rows(job, &job->steps[0], true);
    assert_ok(store_node_totals(opened, &totals, &error), error);
    assert_int_equal(totals.n, 1);
    for (int op = 0; op < IO_OP_COUNT; op++)
        for (size_t i = 0; i < IO_FIELD_COUNT; i++)
            if (io_fields[i].metric)
                assert_same_field(job->mounts.items[0].io.ops[op], totals.items[0].io.ops[op], op,
                                  &io_fields[i]);
}

static char *write_row(const struct job_account *job, enum sink_format format)
{
    const struct sink_row_options options = {.format = format, .action = "index"};
    char *text = NULL;
    unsigned rows = 0;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(sink_row_write(out, job, 1, &options, &rows), 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(rows, 1);
    return text;
}

static void test_sink_row(void **state)
{
    _job_ *job = make_job();
    _free_ char *text = write_row(job, SINK_CLICKHOUSE);
    const struct io_sums sums = io_account_sums(&job->mounts.items[0].io);
    struct sink_io io CLEANUP(sink_io_clear) = {0};
    struct json_object *document = json_tokener_parse(text);
    struct sink_row row;
    struct error error;

    (void)state;
    assert_ok(sink_row_parse(document, &row, &io, &error), error);
    assert_same_account(&job->mounts.items[0].io, &io.io);
    assert_memory_equal(&row.cache, &job->mounts.items[0].cache, sizeof(row.cache));
    for (size_t i = 0; i < IO_SUM_COLUMNS; i++)
        assert_int_equal(io_column_of(&io_sum_columns[i], &row.sums),
                         io_column_of(&io_sum_columns[i], &sums));
    json_object_put(document);
}

static void set_numbers(uint64_t *numbers, size_t n, uint64_t *next)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = (*next)++;
}

static void set_device(struct block_account *account, const char *name, uint64_t *next)
{
    struct block_device *device = block_account_get(account, name);

    assert_non_null(device);
    set_numbers((uint64_t *)device->own, sizeof(device->own) / 8, next);
    set_numbers((uint64_t *)device->shared, sizeof(device->shared) / 8, next);
}

/* A job whose step has different numbers in all classes of MPI-IO, NFS and block requests. */
static struct job_account *make_classes(void)
{
    struct job_account *job = make_job();
    struct step_account *step = &job->steps[0];
    uint64_t next = 1;

    step_add_mpi(step, 1);
    step_add_rpc(step);
    step_add_users(step);
    set_numbers((uint64_t *)step->mpi->classes, sizeof(step->mpi->classes) / 8, &next);
    set_numbers((uint64_t *)step->mounts.items[0].rpc->own,
                sizeof(step->mounts.items[0].rpc->own) / 8, &next);
    set_numbers((uint64_t *)step->mounts.items[0].rpc->shared,
                sizeof(step->mounts.items[0].rpc->shared) / 8, &next);
    step_add_block(step, 1);
    set_device(step->block, "sda", &next);
    set_device(step->block, "sdb", &next);
    return job;
}

static void test_classes_of_a_row(void **state)
{
    _job_ *job = make_classes();
    const struct step_account *step = &job->steps[0];
    const struct io_mount *m = &step->mounts.items[0];
    _free_ char *text = write_row(job, SINK_CLICKHOUSE);
    struct json_object *document = json_tokener_parse(text);
    struct sink_io io CLEANUP(sink_io_clear) = {0};
    struct sink_row row;
    struct error error;

    (void)state;
    assert_ok(sink_row_parse(document, &row, &io, &error), error);
    assert_memory_equal(io.mpi->classes, step->mpi->classes, sizeof(io.mpi->classes));
    assert_int_equal(io.mpi->completeness.n, 1);
    assert_string_equal(io.mpi->completeness.items[0].cause, MPI_CAUSE_LATE);
    assert_memory_equal(io.rpc->own, m->rpc->own, sizeof(io.rpc->own));
    assert_memory_equal(io.rpc->shared, m->rpc->shared, sizeof(io.rpc->shared));
    assert_true(io.rpc->known && io.rpc->incomplete && !io.rpc->shared_at_most);
    assert_int_equal(io.block->n, 2);
    assert_memory_equal(io.block->items, step->block->items, 2 * sizeof(*io.block->items));
    assert_true(io.block->incomplete && !io.block->shared_at_most);
    for (int kind = 0; kind < IO_USER_KINDS; kind++) {
        assert_int_equal(row.users[kind].processes, m->users[kind].processes);
        assert_int_equal(row.users[kind].threads, m->users[kind].threads);
        assert_int_equal(row.users[kind].at_least, m->users[kind].at_least);
    }
    json_object_put(document);
}

/* Of a newer release: a class of MPI-IO or of block requests is left out, a class of NFS requests
 * is one of the others. */
static void test_unknown_classes_of_a_row(void **state)
{
    struct json_object *document = json_tokener_parse(
        "{\"op\":[],\"mpi_incomplete\":\"[]\",\"mpi\":[\"later\",\"open\"],\"mpi_calls\":[7,8],"
        "\"rpc_counted\":1,\"rpc\":[\"later\",\"other\"],\"rpc_calls\":[1,2],"
        "\"block_counted\":1,\"block\":[\"later\",\"read\"],\"block_device\":[\"sdb\",\"sda\"],"
        "\"block_requests\":[4,5]}");
    struct sink_io io CLEANUP(sink_io_clear) = {0};
    struct sink_row row;
    struct error error;

    (void)state;
    assert_ok(sink_row_parse(document, &row, &io, &error), error);
    assert_int_equal(io.mpi->completeness.n, 0);
    assert_int_equal(io.mpi->classes[MPI_OPEN].calls, 8);
    assert_int_equal(io.rpc->own[RPC_OTHER].calls, 3);
    assert_int_equal(io.block->n, 1);
    assert_string_equal(io.block->items[0].name, "sda");
    assert_int_equal(io.block->items[0].own[BLOCK_READ].requests, 5);
    assert_false(io.block->incomplete);
    json_object_put(document);
}

static void assert_time_line_survives(struct job_account *job)
{
    const struct timeline *t = &job->steps[0].mounts.items[0].timeline;
    _free_ char *text = write_row(job, SINK_CLICKHOUSE);
    struct json_object *document = json_tokener_parse(text);
    struct sink_io io CLEANUP(sink_io_clear) = {0};
    struct sink_row row;
    struct error error;

    assert_ok(sink_row_parse(document, &row, &io, &error), error);
    assert_int_equal(io.timeline.n, t->n);
    assert_memory_equal(io.timeline.bins, t->bins, t->n * sizeof(*t->bins));
    json_object_put(document);
}

/* With the longest wait, also if it is 0, and without it, as in rows of older releases. */
static void test_time_line_of_a_row(void **state)
{
    struct timeline_bin what = {{7, 8, 9, 10000}, 5000};
    _job_ *job = make_job();
    struct timeline *t = &job->steps[0].mounts.items[0].timeline;

    (void)state;
    assert_int_equal(timeline_spread(t, 1, NOW, NOW + 3 * SECOND, &what), 0);
    assert_time_line_survives(job);
    for (unsigned i = 0; i < t->n; i++)
        t->bins[i].longest_ns = 0;
    assert_time_line_survives(job);
    timeline_forget_longest(t);
    assert_time_line_survives(job);
}

/* sql/clickhouse/schema.sql has a column for every key of a row, and no other. */
static void test_clickhouse_columns(void **state)
{
    const char *srcdir = getenv("srcdir");
    _job_ *job = make_classes();
    _free_ char *text = write_row(job, SINK_CLICKHOUSE);
    struct json_object *document = json_tokener_parse(text);
    char path[512], schema[32768] = "";
    FILE *f;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/sql/clickhouse/schema.sql", srcdir ? srcdir : ".");
    f = fopen(path, "re");
    assert_non_null(f);
    assert_true(fread(schema, 1, sizeof(schema) - 1, f) > 0);
    (void)fclose(f);
    json_object_object_foreach(document, key, value)
    {
        char line[80], quoted[80];

        (void)value;
        (void)snprintf(line, sizeof(line), "\n    %s ", key);
        (void)snprintf(quoted, sizeof(quoted), "\n    `%s` ", key);
        if (!strstr(schema, line) && !strstr(schema, quoted))
            fail_msg("sql/clickhouse/schema.sql has no column \"%s\"", key);
    }
    json_object_put(document);
}

static void test_bulk(void **state)
{
    _job_ *job = make_job();
    _free_ char *text = write_row(job, SINK_BULK);
    struct json_object *document = json_tokener_parse(strchr(text, '\n') + 1), *io, *op, *value;

    (void)state;
    assert_true(json_object_object_get_ex(document, "io", &io));
    assert_true(json_object_object_get_ex(io, "write", &op));
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        assert_true(json_object_object_get_ex(op, io_fields[i].name, &value));
        if (io_field_is_number(&io_fields[i]))
            assert_int_equal(json_object_get_uint64(value), number_of(IO_WRITE, i, 0));
    }
    json_object_put(document);
}

static void test_classes_of_a_document(void **state)
{
    _job_ *job = make_classes();
    _free_ char *text = write_row(job, SINK_BULK);
    struct json_object *document = json_tokener_parse(strchr(text, '\n') + 1), *all, *one, *value;

    (void)state;
    assert_true(json_object_object_get_ex(document, "rpc_shared", &all));
    assert_true(json_object_object_get_ex(all, "getattr", &one));
    assert_true(json_object_object_get_ex(one, "server_ns", &value));
    assert_int_equal(json_object_get_uint64(value),
                     job->steps[0].mounts.items[0].rpc->shared[RPC_GETATTR].server_ns);
    assert_true(json_object_object_get_ex(document, "mpi", &all));
    assert_true(json_object_object_get_ex(all, "write_all", &one));
    assert_true(json_object_object_get_ex(one, "size_log2", &value));
    assert_int_equal(json_object_array_length(value), IO_BUCKETS);
    assert_true(json_object_object_get_ex(document, "block_shared", &all));
    assert_int_equal(json_object_array_length(all), 2);
    all = json_object_array_get_idx(all, 1);
    assert_true(json_object_object_get_ex(all, "device", &value));
    assert_string_equal(json_object_get_string(value), "sdb");
    assert_true(json_object_object_get_ex(all, "flush", &one));
    assert_true(json_object_object_get_ex(one, "queued_ns", &value));
    assert_int_equal(json_object_get_uint64(value),
                     job->steps[0].block->items[1].shared[BLOCK_FLUSH].queued_ns);
    json_object_put(document);
}

static void test_metrics(void **state)
{
    _job_ *job = make_job();
    const struct job_account *jobs[] = {job};
    const struct prometheus_node node = {
        .cluster = "c", .instance = "i", .totals = &job->mounts, .jobs = jobs, .n_jobs = 1};
    _free_ char *text = report_prometheus(&node);
    const struct io_sum reads = io_account_reads(&job->mounts.items[0].io);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        char name[80], line[200];
        uint64_t value;

        if (!io_fields[i].metric)
            continue;
        value = io_sum_of(&io_fields[i], &reads);
        (void)snprintf(name, sizeof(name), "jobio_node_read_%s{cluster", io_fields[i].metric);
        assert_non_null(strstr(text, name));
        if (io_fields[i].unit == IO_UNIT_NS)
            continue;
        (void)snprintf(line, sizeof(line),
                       "\njobio_read_%s{cluster=\"c\",instance=\"i\",jobid=\"7\","
                       "mountpoint=\"/scratch\",fstype=\"nfs4\"} %llu\n",
                       io_fields[i].metric, (unsigned long long)value);
        assert_non_null(strstr(text, line));
    }
}

/* The n-th cell of a line of CSV; no cell of this test is quoted. */
static void cell_of(const char *line, unsigned n, char *ret, size_t size)
{
    while (n-- && line)
        line = strchr(line, ',') ? strchr(line, ',') + 1 : NULL;
    assert_non_null(line);
    (void)snprintf(ret, size, "%.*s", (int)strcspn(line, ",\r"), line);
}

static void test_csv(void **state)
{
    _job_ *job = make_job();
    _free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *row;

    (void)state;
    assert_non_null(out);
    job_csv_header(out);
    assert_int_equal(job_csv(job, NULL, false, out), 0);
    assert_int_equal(fclose(out), 0);
    row = strchr(text, '\n') + 1; /* the first operation, read */
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        char name[80] = "", value[80], expected[UNITS_SIZE];
        uint64_t number = number_of(IO_READ, i, 0);
        unsigned n = 0;

        if (!io_fields[i].csv)
            continue;
        for (; strcmp(name, io_fields[i].csv) != 0; n++)
            cell_of(text, n, name, sizeof(name)); /* fails at the end of the header */
        cell_of(row, n - 1, value, sizeof(value));
        if (io_fields[i].unit == IO_UNIT_NS)
            (void)units_seconds(number, expected);
        else
            (void)snprintf(expected, sizeof(expected), "%llu", (unsigned long long)number);
        assert_string_equal(value, expected);
    }
}

static void test_advice(void **state)
{
    _job_ *job = make_job();
    const struct io_mount *m = &job->mounts.items[0];
    struct advice_fields fields CLEANUP(advice_fields_clear) = {0};

    (void)state;
    assert_int_equal(advice_fields_of(job, m, &fields), 0);
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const double unit = io_fields[i].unit == IO_UNIT_NS ? 1e9 : 1;
        char name[80];
        bool found = false;

        if (!io_fields[i].advice)
            continue;
        (void)snprintf(name, sizeof(name), "stat_%s", io_fields[i].advice);
        for (size_t k = 0; k < fields.n; k++)
            found |= !strcmp(fields.items[k].name, name) &&
                     fields.items[k].number == (double)number_of(IO_STAT, i, 0) / unit;
        if (!found)
            fail_msg("the rules of advice have no field \"%s\"", name);
    }
}

/* Twice an account without the account is the account. */
static void test_arithmetic(void **state)
{
    struct io_account once CLEANUP(io_account_clear) = {0}, twice CLEANUP(io_account_clear) = {0};
    struct io_account diff CLEANUP(io_account_clear) = {0};

    (void)state;
    set_account(&once);
    assert_int_equal(io_account_copy(&once, &twice), 0);
    assert_same_account(&once, &twice);
    assert_int_equal(io_account_add(&twice, &once), 0);
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        uint64_t factor = io_fields[i].kind == IO_FIELD_MAX ? 1 : 2;

        if (io_fields[i].kind != IO_FIELD_ERRNOS)
            assert_int_equal(*io_field_of(&io_fields[i], twice.ops[IO_READ]),
                             factor * number_of(IO_READ, i, 0));
    }
    assert_int_equal(io_account_diff(&twice, &once, &diff), 0);
    assert_same_account(&once, &diff);
    assert_int_equal(io_account_diff(&once, &twice, &diff), -ERANGE);
}

static void test_operations(void **state)
{
    (void)state;
    for (int op = 0; op < IO_OP_COUNT; op++)
        assert_int_equal(io_op_parse(io_op_name(op)), op);
    assert_string_equal(io_op_name(IO_READ), "read");
    assert_string_equal(io_op_name(IO_SETXATTR), "setxattr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        STORE_TEST(test_store),
        STORE_TEST(test_store_columns_have_their_names),
        STORE_TEST(test_node_totals),
        cmocka_unit_test(test_sink_row),
        cmocka_unit_test(test_classes_of_a_row),
        cmocka_unit_test(test_unknown_classes_of_a_row),
        cmocka_unit_test(test_time_line_of_a_row),
        cmocka_unit_test(test_clickhouse_columns),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_classes_of_a_document),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
