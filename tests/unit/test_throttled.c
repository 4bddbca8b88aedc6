/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes that the kernel held up until dirty pages were written: what the reports say. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "report/advice/advice.h"
#include "report/json/json.h"
#include "report/summary/summary.h"
#include "tests/unit/sample.h"

static struct advice *advice;
static struct job_account *job;

static void say(const char *text, void *arg)
{
    (void)arg;
    fail_msg("%s", text);
}

static struct io_counter *writes(void)
{
    return io_account_op(&job->mounts.items[0].io, IO_WRITE);
}

/* A job of 1,000 s that writes for 300 s, 1,000 times 16 KiB. */
static int setup(void **state)
{
    struct io_counter *c;
    struct error error;

    (void)state;
    if (advice_create(&advice, &error) < 0 ||
        advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error) < 0)
        fail_msg("%s", error.text);
    job = job_account_create();
    job->elapsed_ns = SECONDS(1000);
    job->longest_wait_ns = SECONDS(300);
    job->nodes_expected = job->nodes_reported = 1;
    assert_non_null(io_mounts_get(&job->mounts, "/scratch", "lustre", "fs", false));
    c = writes();
    *c = (struct io_counter){
        .requests = 1000, .bytes = 1000 * KIB(16), .time_ns = SECONDS(300), .max_ns = SECONDS(1)};
    c->size_log2[io_size_bucket(KIB(16))] = 1000;
    c->latency_log2[io_latency_bucket(SECONDS(300) / 1000)] = 1000;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    advice_destroy(advice);
    job_account_destroy(job);
    return 0;
}

static void check_sentence(const char *want)
{
    _free_ char *text = summary_throttled(&job->mounts.items[0].io);

    if (want)
        assert_string_equal(text, want);
    else
        assert_null(text);
}

static void test_sentence(void **state)
{
    struct io_counter *mapped = io_account_op(&job->mounts.items[0].io, IO_MMAP_WRITE);

    (void)state;
    check_sentence(NULL);
    writes()->throttled_ns = SECONDS(3) - 1; /* less than 1 % */
    check_sentence(NULL);
    writes()->throttled_ns = SECONDS(240);
    check_sentence("held up until dirty pages were written: write 240 s of 300 s (80 %)");
    mapped->requests = 1;
    mapped->time_ns = mapped->throttled_ns = SECONDS(2);
    check_sentence("held up until dirty pages were written: write 240 s of 300 s (80 %), "
                   "mmap_write 2.0 s of 2.0 s (100 %)");
}

/* Whether the JSON document has the number. */
static void check_document(bool has)
{
    struct json_object *document = report_json(job, 0);
    const char *text = json_object_to_json_string(document);

    assert_int_equal(strstr(text, "\"throttled_ns\":") != NULL, has);
    json_object_put(document);
}

static void test_document(void **state)
{
    (void)state;
    check_document(false);
    writes()->throttled_ns = 1;
    check_document(true);
}

static bool is_told(const char *rule)
{
    struct advice_notes notes = {0};
    struct error error;
    bool told = false;

    assert_int_equal(advice_give(advice, job, 20, &notes, &error), 0);
    for (size_t i = 0; i < notes.n; i++)
        told |= !strcmp(notes.items[i].rule, rule);
    advice_notes_clear(&notes);
    return told;
}

/* Half of the time decides whether the storage made each write wait, or the kernel made the writer
 * wait for all. */
static void test_rule(void **state)
{
    (void)state;
    writes()->throttled_ns = SECONDS(150) - 1;
    assert_false(is_told("throttled-writes"));
    assert_true(is_told("synchronous-writes"));
    writes()->throttled_ns = SECONDS(150);
    assert_true(is_told("throttled-writes"));
    assert_false(is_told("synchronous-writes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sentence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_document, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rule, setup, teardown),
    };

    return cmocka_run_group_tests_name("throttled", tests, NULL, NULL);
}
