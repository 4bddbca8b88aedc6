/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of a name and tasks of an array: medians, deviations, and what is said of them. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "report/compare/array.h"
#include "report/compare/trend.h"
#include "tests/unit/sample.h"

static void assert_near(double got, double want)
{
    if (got < want * 0.999999 || got > want * 1.000001)
        fail_msg("%f instead of %f", got, want);
}

/* --- change ----------------------------------------------------------------------------------- */

static void test_change(void **state)
{
    static const struct {
        double values[12];
        size_t n, last;
    } cases[] = {
        {{10, 10, 10, 10, 40, 40}, 6, 2},
        {{10, 11, 9, 10, 12, 8, 10, 40, 41, 39}, 10, 3},
        {{40, 40, 40, 40, 40, 10}, 6, 1},
        {{10, 11, 9, 10, 12, 8, 10, 12}, 8, 0}, /* no more than usual */
        {{10, 30, 5, 60, 20, 2, 10, 40}, 8, 0}, /* never the same */
        {{10, 10, 10, 10, 10, 40, 10}, 7, 0},   /* one odd run, long ago */
        {{10, 10, 10, 40}, 4, 0},               /* too few */
        {{10, 10, 10, 10, 40, 5}, 6, 1},        /* both odd, each on its side */
        {{0, 0, 0, 0, 0, 0.5}, 6, 0},           /* below what is worth a word */
        {{0}, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct trend_change c = trend_find(cases[i].values, cases[i].n, 1);

        if (c.last != cases[i].last)
            fail_msg("case %zu: %zu instead of %zu", i, c.last, cases[i].last);
    }
    assert_near(trend_find(cases[1].values, 10, 1).before, 10);
    assert_near(trend_find(cases[1].values, 10, 1).after, 40);
}

static void test_ratio(void **state)
{
    static const double values[] = {10, 20, 30, 40, 50, 0};

    (void)state;
    assert_true(trend_ratio(values, 3) == 0);
    assert_near(trend_ratio(values, 4), 2);
    assert_true(trend_ratio(values, 5) == 0);
}

static void test_sparkline(void **state)
{
    static const double values[] = {0, 1, 2, 8};
    _free_ char *blocks = trend_sparkline(values, 4, true, true),
                *ascii = trend_sparkline(values, 4, true, false),
                *part = trend_sparkline(values + 2, 2, false, false),
                *none = trend_sparkline(values, 0, true, false),
                *zeros = trend_sparkline(values, 1, true, false);

    (void)state;
    assert_string_equal(blocks, "▁▂▃█");
    assert_string_equal(ascii, "_.-#");
    assert_string_equal(part, "_#");
    assert_string_equal(none, "");
    assert_string_equal(zeros, "_");
}

/* A run that ran and waited so many seconds, for calls of a kind on a mount. */
static struct profile run_of(uint64_t elapsed_s, uint64_t wait_s, enum io_op op, const char *mount)
{
    _job_ *job = job_account_create();
    struct profile p;

    assert_non_null(job);
    job->elapsed_ns = SECONDS(elapsed_s);
    job->longest_wait_ns = SECONDS(wait_s);
    sample_calls(sample_mount(&job->mounts, mount, "nfs4", "srv:/x"), op, 100, 4096,
                 SECONDS(wait_s));
    assert_int_equal(profile_make(job, &p), 0);
    return p;
}

static void check_sentence(const struct profile *profiles, size_t n, const char *want)
{
    struct trend_run runs[16];
    _free_ char *text = NULL;

    for (size_t i = 0; i < n; i++)
        runs[i] = (struct trend_run){"1", 0, &profiles[i]};
    text = trend_sentence(runs, n);
    assert_string_equal(text, want);
}

static void test_trend_sentences(void **state)
{
    struct profile p[8];

    (void)state;
    for (size_t i = 0; i < 5; i++)
        p[i] = run_of(100, 2, IO_READ, "/scratch");
    check_sentence(p, 1, "1 run: a trend needs at least 5.");
    check_sentence(p, 5, "No change in 5 runs: typically 00:01:40, 2.0 % of it waiting for I/O.");
    for (size_t i = 5; i < 8; i++)
        p[i] = run_of(100, 40, IO_STAT, "/ho\033me");
    check_sentence(p, 6,
                   "The last run waited 20x longer for I/O than the 5 before, mostly metadata "
                   "on /ho?me.");
    check_sentence(p, 8,
                   "The last 3 runs waited 20x longer for I/O than the 5 before, mostly "
                   "metadata on /ho?me.");
    for (size_t i = 5; i < 8; i++) {
        profile_clear(&p[i]);
        p[i] = run_of(300, 2, IO_READ, "/scratch");
    }
    check_sentence(p, 8,
                   "The last 3 runs ran 3.0x longer than the 5 before; I/O is not the cause.");
    for (size_t i = 0; i < 8; i++)
        profile_clear(&p[i]);
}

/* --- arrays ----------------------------------------------------------------------------------- */

static void test_array(void **state)
{
    const struct array_task tasks[] = {
        {0, 121, true, true, {100, 0.10, 1000, 0, 10, 0}, SLURM_STATE_COMPLETED},
        {3, 122, true, false, {200, 0.61, 3000, 5, 10, 9}, SLURM_STATE_FAILED},
        {7, 120, false, true, {300, 0.12, 2000, 0, 10, 1}, SLURM_STATE_UNKNOWN},
    };
    _job_ *job = job_account_create();
    CLEANUP(profile_clear) struct profile sum = {0};
    struct array array = {.jobid = 120,
                          .tasks = tasks,
                          .n = 3,
                          .sum = &sum,
                          .worst_mount = "/home",
                          .worst_kind = PROFILE_META};
    _free_ char *text = NULL, *csv = NULL;
    struct json_object *document;
    const char *json;
    size_t size;
    FILE *out = open_memstream(&csv, &size);

    (void)state;
    assert_int_equal(profile_make(job, &sum), 0);
    assert_int_equal(array_sum_up(&array), 0);
    assert_int_equal(array.running, 1);
    assert_int_equal(array.incomplete, 1);
    assert_near(array.ranges[ARRAY_ELAPSED].sum, 600);
    assert_near(array.ranges[ARRAY_ELAPSED].median, 200);
    assert_near(array.ranges[ARRAY_ELAPSED].min, 100);
    assert_int_equal(array.ranges[ARRAY_ELAPSED].most, 7);
    /* 10 s, 122 s and 36 s of 600 s. */
    assert_near(array.ranges[ARRAY_WAITING].sum, 0.28);
    assert_near(array.ranges[ARRAY_WAITING].median, 0.12);
    assert_int_equal(array.ranges[ARRAY_READ].most, 3);
    assert_int_equal(array_slowest(&array)->task, 3);
    assert_int_equal(array_failing(&array)->task, 3);
    text = array_sentence(&array);
    assert_string_equal(text,
                        "Task 3 (job 122) waited longest for I/O: 61 % of its run time, the "
                        "median task 12 %; mostly metadata on /home. Task 3 (job 122) has 9 of "
                        "the 10 failed calls.");
    array_csv(&array, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(csv, "\n7,120,running,yes,00:05:00,12.00,2000,0,10,1\r\n"));
    document = array_json(&array);
    json = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN);
    assert_non_null(strstr(json, "\"jobid\":122,\"state\":\"ended\",\"slurm_state\":\"FAILED\","));
    assert_non_null(strstr(json, "\"jobid\":120,\"state\":\"running\",\"complete\""));
    json_object_put(document);
}

static void test_array_of_equals(void **state)
{
    struct array_task tasks[2] = {{.task = 0, .ended = true, .values = {100, 0.3}},
                                  {.task = 1, .ended = true, .values = {100, 0.3}}};
    struct array array = {.jobid = 1, .tasks = tasks, .n = 2};
    _free_ char *same = NULL, *little = NULL;

    (void)state;
    assert_int_equal(array_sum_up(&array), 0);
    assert_null(array_slowest(&array));
    assert_null(array_failing(&array));
    same = array_sentence(&array);
    assert_string_equal(same, "All tasks waited about as much for I/O.");
    tasks[0].values[ARRAY_WAITING] = 0.01;
    tasks[1].values[ARRAY_WAITING] = 0.04;
    assert_int_equal(array_sum_up(&array), 0);
    assert_null(array_slowest(&array));
    little = array_sentence(&array);
    assert_string_equal(little, "No task waited more than 4.0 % of its run time for I/O.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_change),    cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_sparkline), cmocka_unit_test(test_trend_sentences),
        cmocka_unit_test(test_array),     cmocka_unit_test(test_array_of_equals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
