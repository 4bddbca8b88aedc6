/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks of a job array: the newest run of each, in order, in parts. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/array_json.h"
#include "tests/unit/store_data.h"

static void put_task(uint32_t jobid, uint32_t array, uint32_t task, uint64_t start_ns)
{
    struct job_account *job = job_make(jobid, start_ns);

    job->array_job = array;
    job->array_task = task;
    put_rows(job, NULL, false);
    job->array_job = job->array_task = 0;
    put_rows(job, NULL, false);
    job_account_destroy(job);
}

struct seen_tasks {
    uint32_t jobs[8];
    size_t n;
};

static int see_task(const struct job_account *job, void *arg)
{
    struct seen_tasks *seen = arg;

    assert_true(seen->n < 8);
    seen->jobs[seen->n++] = job->key.jobid;
    return 0;
}

/* The newest run of each task, in order, without those of another user. */
static void test_array(void **state)
{
    struct job_account *job = job_make(22, NOW + 9 * SECOND);
    struct seen_tasks seen = {.n = 0};
    struct error error;

    (void)state;
    put_task(23, 20, 1, NOW);
    put_task(22, 20, 0, NOW);
    put_task(20, 20, 7, NOW);
    job->key.restart = 1; /* requeued */
    job->array_job = 20;
    put_rows(job, NULL, false);
    job->uid = 4711; /* a user who had that number before */
    job->key.jobid = 9;
    job->start_ns = NOW - SECOND;
    job->array_task = 3;
    put_rows(job, NULL, false);
    assert_ok(store_array(opened, 20, UINT32_MAX, 0, see_task, &seen, &error), error);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.jobs[0], 22);
    assert_int_equal(seen.jobs[1], 23);
    assert_int_equal(seen.jobs[2], 20);
    seen.n = 0;
    assert_ok(store_array(opened, 20, UINT32_MAX, 2, see_task, &seen, &error), error);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.jobs[0], 20);
    seen.n = 0;
    assert_ok(store_array(opened, 20, 4711, 0, see_task, &seen, &error), error);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.jobs[0], 9);
    seen.n = 0;
    assert_ok(store_array(opened, 20, 4712, 0, see_task, &seen, &error), error);
    assert_ok(store_array(opened, 21, UINT32_MAX, 0, see_task, &seen, &error), error);
    assert_int_equal(seen.n, 0);
    job_account_destroy(job);
}

static size_t count_in(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = strstr(text, what); p; p = strstr(p + 1, what))
        n++;
    return n;
}

struct seen_parts {
    size_t rows, sums;
    uint32_t last;
    uint64_t elapsed_ns; /* of the sums */
};

static int see_row(const struct history_row *row, void *arg, struct error *error)
{
    struct seen_parts *seen = arg;

    (void)error;
    assert_int_equal(row->array_job, 30);
    assert_int_equal(row->array_task, 3 * seen->rows++);
    seen->last = row->array_task;
    return 0;
}

static int see_sum(const struct job_account *sum, void *arg, struct error *error)
{
    struct seen_parts *seen = arg;

    (void)error;
    seen->sums++;
    seen->elapsed_ns += sum->elapsed_ns;
    return 0;
}

/* The answer from task `from` on, as the command reads it. */
static uint32_t read_part(const char *text, uint32_t from, struct seen_parts *seen)
{
    const struct array_reader reader = {see_row, see_sum, seen};
    struct json_object *answer = json_tokener_parse(text);
    struct error error;
    uint32_t next;

    assert_ok(array_answer_parse(answer, from, &reader, &next, &error), error);
    json_object_put(answer);
    return next;
}

static void test_bad_answers(void **state)
{
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"tasks\":[7]}",
        "{\"tasks\":[{\"array_jobid\":30,\"array_task\":0}]}",
        "{\"tasks\":[],\"next\":5}",
        "{\"tasks\":[],\"next\":-1}",
    };
    struct seen_parts seen = {.rows = 0};
    const struct array_reader reader = {see_row, see_sum, &seen};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct json_object *answer = json_tokener_parse(bad[i]);
        struct error error;
        uint32_t next;

        seen.rows = 0;
        assert_int_equal(array_answer_parse(answer, 5, &reader, &next, &error), -EBADMSG);
        json_object_put(answer);
    }
}

/* An answer has at most a thousand tasks. */
static void test_array_in_parts(void **state)
{
    struct seen_parts seen = {.rows = 0};
    char *text = NULL;
    bool more;
    struct error error;

    (void)state;
    assert_ok(store_begin(opened, false, &error), error);
    for (uint32_t i = 0; i <= ARRAY_TASKS_MAX; i++)
        put_task(5000 + i, 30, 3 * i, NOW);
    assert_ok(store_commit(opened, &error), error);
    assert_ok(array_answer(opened, 30, UINT32_MAX, 0, &text, &more, &error), error);
    assert_true(more);
    assert_int_equal(count_in(text, "\"array_task\":"), ARRAY_TASKS_MAX);
    assert_non_null(strstr(text, ",\"next\":3000,"));
    assert_int_equal(read_part(text, 0, &seen), 3000);
    free(text);
    assert_ok(array_answer(opened, 30, UINT32_MAX, 3000, &text, &more, &error), error);
    assert_false(more);
    assert_int_equal(count_in(text, "\"array_task\":3000"), 1);
    assert_int_equal(count_in(text, "\"array_task\":"), 1);
    assert_null(strstr(text, "next"));
    assert_int_equal(read_part(text, 3000, &seen), 0);
    assert_int_equal(seen.rows, ARRAY_TASKS_MAX + 1);
    assert_int_equal(seen.sums, 2);
    assert_true(seen.elapsed_ns > 0);
    free(text);
    assert_ok(array_answer(opened, 30, UINT32_MAX, 3001, &text, &more, &error), error);
    assert_false(more);
    assert_int_equal(count_in(text, "\"tasks\":[]"), 1);
    assert_int_equal(read_part(text, 3001, &seen), 0);
    assert_int_equal(seen.sums, 2);
    free(text);
}

static void test_tasks_of_an_array(void **state)
{
    struct job_account **found = NULL;
    struct error error;

    (void)state;
    put_task(21, 20, 0, NOW);
    put_task(22, 20, 1, NOW);
    put_task(20, 20, 2, NOW); /* the last task has the number of the array */
    put_task(31, 30, 1, NOW);
    put_task(40, 20, 1, NOW + SECOND); /* a reused number */
    put_task(50, 0, 0, NOW);
    assert_ok(store_task_jobs(opened, NULL, 20, 1, UINT32_MAX, UINT32_MAX, &found, &error), error);
    assert_int_equal(found[0]->key.jobid, 40);
    assert_int_equal(found[1]->key.jobid, 22);
    assert_int_equal(found[1]->array_job, 20);
    assert_int_equal(found[1]->array_task, 1);
    assert_null(found[2]);
    store_jobs_free(found);
    assert_ok(store_task_jobs(opened, NULL, 20, 0, 1, 1000, &found, &error), error);
    assert_int_equal(found[0]->key.jobid, 21);
    store_jobs_free(found);
    assert_ok(store_task_jobs(opened, NULL, 20, 0, 1, 1001, &found, &error), error);
    assert_null(found[0]);
    store_jobs_free(found);
    found = jobs_found(20, true, UINT32_MAX);
    assert_int_equal(found[0]->array_task, 2);
    assert_null(found[1]);
    store_jobs_free(found);
    found = jobs_found(50, true, UINT32_MAX);
    assert_int_equal(found[0]->array_job, 0);
    store_jobs_free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_array),
        STORE_TEST(test_array_in_parts),
        STORE_TEST(test_bad_answers),
        STORE_TEST(test_tasks_of_an_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
