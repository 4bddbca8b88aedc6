/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: a row of the history keeps every field on its way through JSON, and an answer that is cut
 * says so. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "collector/store/history_json.h"
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
    .writes = {.requests = 20, .bytes = UINT64_MAX},
    .meta = {.requests = 30, .errors = 3},
    .errors = 4,
    .wait_ns = 77,
    .longest_wait_ns = 66,
};

static void test_round_trip(void **state)
{
    struct json_object *made = history_row_json(&sample);
    struct json_object *read;
    struct history_row row;

    (void)state;
    assert_non_null(made);
    read = json_tokener_parse(json_object_to_json_string(made));
    assert_int_equal(history_row_parse(read, &row, NULL), 0);
    assert_string_equal(row.cluster, "test");
    assert_string_equal(row.user, "alice");
    assert_null(row.account);
    assert_string_equal(row.name, sample.name);
    assert_int_equal(row.jobid, 123);
    assert_int_equal(row.array_job, 120);
    assert_int_equal(row.array_task, 0);
    assert_int_equal(row.restart, 2);
    assert_int_equal(row.uid, 1000);
    assert_true(row.ended);
    assert_false(row.complete);
    assert_true(row.start_ns == sample.start_ns && row.end_ns == sample.end_ns);
    assert_true(row.elapsed_ns == sample.elapsed_ns);
    assert_int_equal(row.steps, 3);
    assert_memory_equal(&row.reads, &sample.reads, sizeof(row.reads));
    assert_memory_equal(&row.writes, &sample.writes, sizeof(row.writes));
    assert_memory_equal(&row.meta, &sample.meta, sizeof(row.meta));
    assert_int_equal(row.errors, 4);
    assert_int_equal(row.wait_ns, 77);
    assert_int_equal(row.longest_wait_ns, 66);
    json_object_put(read);
    json_object_put(made);
}

/* What is written as text is what json-c would write. */
static void test_text(void **state)
{
    struct history_row rows[] = {sample, sample, sample};

    (void)state;
    rows[1].name = "\x01 \x1b[31m\"\\\n\t/ \xc3\xa4\xff";
    rows[1].array_job = 7;
    rows[1].mount = "/scratch";
    rows[2].jobs = 3;
    rows[2].day = "2026-11-21";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *object = history_row_json(&rows[i]), *read;
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        history_row_write(&rows[i], out);
        assert_int_equal(fclose(out), 0);
        read = json_tokener_parse(text);
        assert_non_null(read);
        assert_true(json_object_equal(read, object));
        json_object_put(read);
        json_object_put(object);
        free(text);
    }
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
    folder_make(&folder);
    store = open_store(&folder);
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
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_unknown_and_missing),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_long_answers_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
