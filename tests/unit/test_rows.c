/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: a row of the history keeps every field on its way through JSON, and an answer that is cut
 * says so. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "collector/store/history_json.h"
#include "tests/unit/json_max.h"
#include "tests/unit/store_data.h"

static const struct history_row sample = {
    .cluster = "test",
    .user = "alice",
    .partition = "batch",
    .name = "a \"quoted\" name",
    .jobid = 123,
    .array_job = 120,
    .restart = 2,
    .uid = 1000,
    .ended = true,
    .start_ns = 1795168800000000001ull,
    .end_ns = 1795168860000000002ull,
    .elapsed_ns = 60000000001ull,
    .steps = 3,
    .reads = {.requests = 10, .bytes = 1ull << 62, .errors = 1, .time_ns = 5, .max_ns = 4},
    .writes = {.requests = 20, .bytes = JSON_MAX},
    .meta = {.requests = 30, .errors = 3},
    .errors = 4,
    .wait_ns = 77,
    .longest_wait_ns = 66,
};

/* The row as text, read by json-c. */
static struct json_object *written(const struct history_row *row)
{
    struct json_object *read;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    history_row_write(row, out);
    assert_int_equal(fclose(out), 0);
    read = json_tokener_parse(text);
    assert_non_null(read);
    free(text);
    return read;
}

static void assert_text(const char *text, const char *want)
{
    if (want)
        assert_string_equal(text, want);
    else
        assert_null(text);
}

static void assert_round_trip(const struct history_row *want)
{
    struct json_object *read = written(want);
    struct history_row row;

    assert_int_equal(history_row_parse(read, &row, NULL), 0);
    assert_text(row.cluster, want->cluster);
    assert_text(row.user, want->user);
    assert_text(row.account, want->account);
    assert_text(row.partition, want->partition);
    assert_text(row.name, want->name);
    assert_text(row.mount, want->mount);
    assert_text(row.day, want->day);
    assert_int_equal(row.jobs, want->jobs);
    assert_int_equal(row.jobid, want->jobs ? 0 : want->jobid);
    assert_int_equal(row.array_job, want->array_job);
    assert_int_equal(row.array_task, want->array_task);
    assert_int_equal(row.restart, want->jobs ? 0 : want->restart);
    assert_int_equal(row.uid, want->jobs ? 0 : want->uid);
    assert_int_equal(row.ended, want->ended);
    assert_int_equal(row.complete, want->complete);
    assert_int_equal(row.slurm.state, want->slurm.state);
    assert_int_equal(row.slurm.has_exit, want->slurm.has_exit);
    assert_int_equal(row.slurm.exit_code, want->slurm.exit_code);
    assert_int_equal(row.slurm.exit_signal, want->slurm.exit_signal);
    assert_true(row.start_ns == want->start_ns && row.end_ns == want->end_ns);
    assert_true(row.elapsed_ns == want->elapsed_ns);
    assert_int_equal(row.steps, want->steps);
    assert_memory_equal(&row.reads, &want->reads, sizeof(row.reads));
    assert_memory_equal(&row.writes, &want->writes, sizeof(row.writes));
    assert_memory_equal(&row.meta, &want->meta, sizeof(row.meta));
    assert_int_equal(row.errors, want->errors);
    assert_int_equal(row.wait_ns, want->wait_ns);
    assert_int_equal(row.longest_wait_ns, want->jobs ? 0 : want->longest_wait_ns);
    json_object_put(read);
}

static void test_round_trip(void **state)
{
    struct history_row rows[] = {sample, sample, sample};

    (void)state;
    rows[1].name = "\x01 \x1b[31m\"\\\n\t/ \xc3\xa4\xff";
    rows[1].array_job = 7;
    rows[1].slurm = (struct slurm_end){SLURM_STATE_CANCELLED, true, 1, 15};
    rows[1].mount = "/scratch";
    rows[2].jobs = 3;
    rows[2].array_job = 0;
    rows[2].day = "2026-11-21";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_round_trip(&rows[i]);
}

/* Names that are not known, and the counts of what a row is not, are left out. */
static void test_members(void **state)
{
    struct history_row row = sample;
    struct json_object *o = written(&row);

    (void)state;
    assert_false(json_object_object_get_ex(o, "account", NULL));
    assert_false(json_object_object_get_ex(o, "day", NULL));
    assert_false(json_object_object_get_ex(o, "jobs", NULL));
    assert_true(json_object_object_get_ex(o, "array_task", NULL));
    assert_int_equal(json_object_object_length(o), 21);
    json_object_put(o);
    row.jobs = 3;
    row.array_job = 0;
    o = written(&row);
    assert_true(json_object_object_get_ex(o, "jobs", NULL));
    assert_false(json_object_object_get_ex(o, "jobid", NULL));
    assert_false(json_object_object_get_ex(o, "longest_wait_ns", NULL));
    assert_false(json_object_object_get_ex(o, "array_jobid", NULL));
    json_object_put(o);
}

static void test_copy(void **state)
{
    struct history_row copy;
    char *texts = NULL, name[] = "name";
    struct history_row row = sample;

    (void)state;
    row.name = name;
    assert_int_equal(history_row_copy(&row, &copy, &texts), 0);
    name[0] = 'X';
    assert_string_equal(copy.name, "name");
    assert_string_equal(copy.cluster, "test");
    assert_null(copy.account);
    assert_int_equal(copy.jobid, 123);
    free(texts);
}

static void test_unknown_and_missing(void **state)
{
    struct json_object *o =
        json_tokener_parse("{\"later\":[1],\"jobid\":7,\"read\":{\"bytes\":9}}");
    struct history_row row;

    (void)state;
    assert_int_equal(history_row_parse(o, &row, NULL), 0);
    assert_int_equal(row.jobid, 7);
    assert_int_equal(row.reads.bytes, 9);
    assert_null(row.user);
    json_object_put(o);
}

static void test_wrong_types(void **state)
{
    static const char *const bad[] = {"[]",
                                      "7",
                                      "{\"jobid\":\"7\"}",
                                      "{\"user\":7}",
                                      "{\"read\":[]}",
                                      "{\"meta\":{\"bytes\":true}}"};
    struct history_row row = {.jobid = 99};
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct json_object *o = json_tokener_parse(bad[i]);

        assert_int_equal(history_row_parse(o, &row, &error), -EBADMSG);
        assert_int_equal(row.jobid, 99);
        assert_true(strlen(error.text) > 0);
        json_object_put(o);
    }
}

static void test_sorts(void **state)
{
    (void)state;
    for (enum history_sort s = HISTORY_TIME; s <= HISTORY_JOBS; s++)
        assert_int_equal(history_sort_parse(history_sort_name(s)), s);
    assert_int_equal(history_sort_parse("name"), -EINVAL);
    for (enum history_group g = HISTORY_BY_USER; g <= HISTORY_BY_DAY; g++)
        assert_int_equal(history_group_parse(history_group_name(g)), g);
    assert_int_equal(history_group_parse("jobs"), -EINVAL);
    assert_int_equal(history_state_parse("R"), HISTORY_RUNNING);
    assert_int_equal(history_state_parse("ended"), HISTORY_ENDED);
    assert_int_equal(history_state_parse("F"), -EINVAL);
}

/* How many of three stored jobs are answered, with a limit of the filter and of the answer. */
static size_t answered(struct store *store, uint32_t limit, uint32_t max, bool *cut)
{
    const struct history_filter filter = {.uid = UINT32_MAX, .limit = limit};
    struct json_object *rows;
    struct error error;
    char *text = NULL;
    size_t n;

    assert_ok(history_answer(store, &filter, max, &text, cut, &error), error);
    rows = json_tokener_parse(text);
    assert_true(json_object_is_type(rows, json_type_array));
    n = json_object_array_length(rows);
    json_object_put(rows);
    free(text);
    return n;
}

static void test_long_answers_are_cut(void **state)
{
    struct store *store;
    struct error error;
    bool cut;

    (void)state;
    folder_make(&directory);
    store = open_store(&directory);
    assert_int_equal(answered(store, 0, 2, &cut), 0);
    assert_false(cut);
    for (uint32_t i = 1; i <= 3; i++) {
        struct job_account *job = job_make(i, NOW + i * SECOND);

        assert_ok(store_put_job(store, job, &error), error);
        job_account_destroy(job);
    }
    assert_int_equal(answered(store, 0, 2, &cut), 2);
    assert_true(cut);
    assert_int_equal(answered(store, 100, 2, &cut), 2);
    assert_true(cut);
    assert_int_equal(answered(store, 0, 3, &cut), 3);
    assert_false(cut);
    assert_int_equal(answered(store, 2, 2, &cut), 2);
    assert_false(cut);
    assert_int_equal(answered(store, 1, 2, &cut), 1);
    assert_false(cut);
    store_close(store);
    folder_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_unknown_and_missing),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_long_answers_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
