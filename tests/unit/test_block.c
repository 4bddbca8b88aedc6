/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of block requests: sums, JSON both ways, and the table. */
#include "config.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "common/clock.h"
#include "report/json/json.h"
#include "report/text/block.h"
#include "tests/unit/json_at.h"
#include "tests/unit/sample.h"

/* 1,000 reads of 4 KiB, each 1 ms in the queue and 2 ms at the device. */
static void fill(struct block_counter *c, uint64_t n)
{
    c->requests += n;
    c->bytes += n * KIB(4);
    c->queued_ns += n * NS_PER_MS;
    c->device_ns += 2 * n * NS_PER_MS;
    c->latency_log2[14] += n; /* at most 2^21 ns */
}

static struct block_account *make(uint64_t n)
{
    struct block_account *account = calloc(1, sizeof(*account));

    assert_non_null(account);
    fill(&block_account_get(account, "sdb")->own[BLOCK_READ], n);
    fill(&block_account_get(account, "sda")->own[BLOCK_WRITE], 2 * n);
    fill(&block_account_get(account, "sda")->shared[BLOCK_WRITE], 3);
    block_account_get(account, "sda")->own[BLOCK_WRITE].errors = 1;
    return account;
}

/* Those of which the times are not known do not lower the means. */
static void test_timed(void **state)
{
    _job_ *job = sample_run();
    _free_ char *text = NULL;

    (void)state;
    job->block = make(10);
    job->block->items[1].own[BLOCK_READ].requests = 1000;
    assert_int_equal(block_counter_timed(&job->block->items[1].own[BLOCK_READ]), 10);
    text = report_block_text(job, 0);
    assert_non_null(
        strstr(text, "sdb read                     1000  40.0 KiB      -   1.0 ms   2.0 ms"));
}

static void test_devices(void **state)
{
    struct block_account account = {0};

    (void)state;
    assert_null(block_account_find(&account, "sda"));
    assert_string_equal(block_account_get(&account, "sdb")->name, "sdb");
    assert_string_equal(block_account_get(&account, "sda")->name, "sda");
    assert_ptr_equal(block_account_get(&account, "sdb"), &account.items[1]);
    assert_ptr_equal(block_account_find(&account, "sda"), &account.items[0]);
    assert_int_equal(account.n, 2);
    assert_int_equal(
        strlen(block_account_get(&account, "a-name-of-more-than-thirty-one-bytes")->name), 31);
    block_account_clear(&account);
}

static void test_sums(void **state)
{
    struct block_account *a = make(10), *b = make(5), *sum = NULL;

    (void)state;
    assert_int_equal(block_account_add(&sum, false, NULL, false), 0);
    assert_null(sum);
    assert_int_equal(block_account_add(&sum, false, a, false), 0);
    assert_false(sum->shared_at_most);
    assert_memory_equal(sum->items, a->items, a->n * sizeof(*a->items));
    b->incomplete = true;
    assert_int_equal(block_account_add(&sum, false, b, false), 0);
    assert_true(sum->shared_at_most);
    assert_true(sum->incomplete);
    assert_int_equal(sum->n, 2);
    assert_int_equal(sum->items[0].own[BLOCK_WRITE].requests, 30);
    assert_int_equal(sum->items[0].own[BLOCK_WRITE].errors, 2);
    assert_int_equal(sum->items[0].shared[BLOCK_WRITE].requests, 6);
    assert_int_equal(sum->items[1].own[BLOCK_READ].latency_log2[14], 15);
    sum->shared_at_most = false;
    assert_int_equal(block_account_continue(&sum, NULL), 0);
    assert_int_equal(block_account_continue(&sum, b), 0);
    assert_false(sum->shared_at_most);
    assert_int_equal(sum->items[0].own[BLOCK_WRITE].requests, 40);
    b->shared_at_most = true;
    assert_int_equal(block_account_continue(&sum, b), 0);
    assert_true(sum->shared_at_most);
    block_counter_subtract(&sum->items[1].own[BLOCK_READ], &b->items[1].own[BLOCK_READ]);
    block_counter_subtract(&sum->items[1].own[BLOCK_READ], &b->items[1].own[BLOCK_READ]);
    block_counter_subtract(&sum->items[1].own[BLOCK_READ], &a->items[1].own[BLOCK_READ]);
    assert_memory_equal(&sum->items[1].own[BLOCK_READ], &b->items[1].own[BLOCK_READ],
                        sizeof(struct block_counter));
    block_account_destroy(a);
    block_account_destroy(b);
    block_account_destroy(sum);
}

/* A step without an account adds nothing: not counted is not the same as no request. */
static void test_steps(void **state)
{
    struct step_account counted = {.block = make(10)}, other = {0};
    _job_ *job = job_account_create();

    (void)state;
    assert_int_equal(job_account_add_step(job, &other), 0);
    assert_null(job->block);
    assert_int_equal(job_account_add_step(job, &counted), 0);
    assert_int_equal(job->block->items[1].own[BLOCK_READ].requests, 10);
    step_account_clear(&counted);
}

static void test_json(void **state)
{
    _job_ *job = sample_job(), *parsed = NULL;
    _json_ *o = NULL;
    struct error error;

    (void)state;
    job->block = make(1000);
    job->steps[1].block = make(7);
    job->block->incomplete = job->steps[1].block->shared_at_most = true;
    o = report_json(job, REPORT_STEPS);
    check_at(o, "/block/complete", "false");
    check_at(o, "/block/devices/0/device", "\"sda\"");
    check_at(o, "/block/devices/0/ops/write/errors", "1");
    check_at(o, "/block/devices/0/shared/write/requests", "3");
    check_at(o, "/block/devices/1/ops/read/bytes", "4096000");
    check_at(o, "/block/devices/1/ops/read/device_ns", "2000000000");
    check_at(o, "/steps/1/block/devices/1/ops/read/requests", "7");
    assert_null(json_object_object_get(at(o, "/block/devices/1"), "shared"));
    assert_null(json_object_object_get(at(o, "/block/devices/1/ops"), "write"));
    assert_null(json_object_object_get(at(o, "/steps/0"), "block"));
    assert_int_equal(report_json_parse(o, &parsed, &error), 0);
    assert_int_equal(parsed->block->n, 2);
    assert_true(parsed->block->incomplete);
    assert_false(parsed->block->shared_at_most);
    assert_true(parsed->steps[1].block->shared_at_most);
    assert_false(parsed->steps[1].block->incomplete);
    assert_memory_equal(parsed->block->items, job->block->items, 2 * sizeof(*job->block->items));
}

static void check_bad(const char *block)
{
    _job_ *job = sample_job(), *parsed = NULL;
    _json_ *o = report_json(job, 0);
    struct error error;

    json_object_object_add(o, "block", json_tokener_parse(block));
    assert_int_equal(report_json_parse(o, &parsed, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "block"));
}

static void test_bad_json(void **state)
{
    (void)state;
    check_bad("[]");
    check_bad("{\"devices\":{}}");
    check_bad("{\"devices\":[1]}");
    check_bad("{\"devices\":[{\"ops\":{}}]}");
    check_bad("{\"devices\":[{\"device\":\"sda\",\"ops\":{\"read\":[]}}]}");
    check_bad("{\"devices\":[{\"device\":\"sda\",\"ops\":{\"read\":{\"bytes\":-1}}}]}");
}

static void check_text(const struct job_account *job, const char *want)
{
    _free_ char *text = report_block_text(job, 0);

    assert_string_equal(text, want);
}

static void test_text(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    check_text(job,
               "\nblock requests: not counted (count = yes in [block] of jobio.conf; jobs from\n"
               "  ClickHouse have none)\n");
    job->block = calloc(1, sizeof(*job->block));
    check_text(job, "\nblock requests: none\n");
    block_account_destroy(job->block);
    job->block = make(1000);
    job->block->incomplete = true;
    check_text(job,
               "\n"
               "block requests             number     bytes   errs  ~queued  ~device      p99\n"
               "sda write                    2000   7.8 MiB      1   1.0 ms   2.0 ms   2.1 ms\n"
               "sda write *                     3  12.0 KiB      -   1.0 ms   2.0 ms   2.1 ms\n"
               "sdb read                     1000   3.9 MiB      -   1.0 ms   2.0 ms   2.1 ms\n"
               "(~queued and ~device: the mean times of a request before and after the driver\n"
               " got it; p99: an upper bound of 99 % of the latter, in powers of two)\n"
               "(*: by kernel threads for all processes, mostly writeback)\n"
               "block requests NOT complete: some were not counted\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timed), cmocka_unit_test(test_devices),
        cmocka_unit_test(test_sums),  cmocka_unit_test(test_steps),
        cmocka_unit_test(test_json),  cmocka_unit_test(test_bad_json),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
