/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <time.h>

#include "collector/sample/meter.h"

#define S 1000000000ull

/* A growing account of one mount, read at chosen times. */
static struct io_mounts totals;
static struct meter *meter;

static void start(uint64_t at_ns)
{
    io_mounts_clear(&totals);
    assert_non_null(io_mounts_get(&totals, "/a", "ext4", "/dev/a", false));
    meter = meter_create(10 * S, at_ns);
    assert_non_null(meter);
}

static void reading(uint64_t at_ns, uint64_t bytes, uint64_t requests, bool tick)
{
    struct io_counter *c = io_account_op(&totals.items[0].io, IO_READ);

    c->bytes += bytes;
    c->requests += requests;
    meter_start(meter);
    assert_int_equal(meter_add(meter, &totals), 0);
    meter_end(meter, at_ns, tick);
}

static struct io_peak peak_after(uint64_t elapsed_ns)
{
    struct io_mounts copy = {0};
    struct io_peak peak;

    assert_int_equal(io_mounts_copy(&totals, &copy), 0);
    meter_fill(meter, &copy, elapsed_ns);
    peak = copy.items[0].peaks[IO_READ];
    io_mounts_clear(&copy);
    return peak;
}

static int finish(void **state)
{
    (void)state;
    meter_destroy(meter);
    io_mounts_clear(&totals);
    return 0;
}

static void test_busiest_interval(void **state)
{
    (void)state;
    start(100 * S);
    reading(110 * S, 1000, 10, true);
    reading(120 * S, 9000, 5, true);
    reading(130 * S, 100, 400, true);
    reading(140 * S, 0, 0, true);
    assert_int_equal(peak_after(40 * S).bytes_per_s, 900);
    /* Requests have their own busiest interval. */
    assert_int_equal(peak_after(40 * S).requests_per_s, 40);
}

/* 6,000 bytes by one write of 60 s, which is counted when it returns. */
static void test_long_call(void **state)
{
    struct io_counter *c;

    (void)state;
    start(0);
    for (unsigned i = 1; i < 6; i++)
        reading(i * 10 * S, 0, 0, true);
    c = io_account_op(&totals.items[0].io, IO_READ);
    c->time_ns = c->max_ns = 60 * S;
    c->latency_log2[io_latency_bucket(60 * S)] = 1;
    reading(60 * S, 6000, 1, true);
    reading(70 * S, 0, 0, true);
    assert_int_equal(peak_after(70 * S).bytes_per_s, 100);
    /* Short calls besides it belong to the interval. */
    c->time_ns += S;
    c->latency_log2[io_latency_bucket(S)]++;
    reading(80 * S, 5000, 1, true);
    assert_int_equal(peak_after(80 * S).bytes_per_s, 500);
}

static void test_short_last_interval_is_joined(void **state)
{
    (void)state;
    start(0);
    reading(10 * S, 0, 0, true);
    reading(20 * S, 1000, 1, true);
    /* 1,000 bytes in 1 s would be 1,000 B/s; joined with the 10 s before: 2,000 in 11 s. */
    reading(21 * S, 1000, 1, true);
    assert_int_equal(peak_after(21 * S).bytes_per_s, 182);
}

static void test_short_first_interval_is_joined(void **state)
{
    (void)state;
    start(0);
    reading(1 * S, 1000, 1, true);
    reading(11 * S, 100, 1, true);
    reading(21 * S, 0, 0, true);
    assert_int_equal(peak_after(21 * S).bytes_per_s, 100);
}

static void test_peak_is_never_below_the_mean(void **state)
{
    (void)state;
    start(0);
    reading(2 * S, 5000, 50, true);
    assert_int_equal(peak_after(2 * S).bytes_per_s, 2500);
    assert_int_equal(peak_after(2 * S).requests_per_s, 25);
    finish(NULL);
    start(0);
    reading(3 * S, 5000, 5, true); /* 1,666.7 and 1.7 */
    assert_int_equal(peak_after(3 * S).bytes_per_s, io_per_second(5000, 3 * S));
    assert_int_equal(peak_after(3 * S).requests_per_s, io_per_second(5, 3 * S));
}

static void test_readings_in_between_close_nothing(void **state)
{
    (void)state;
    start(0);
    for (int i = 1; i < 100; i++)
        reading((uint64_t)i * S / 10, 100, 1, false);
    reading(10 * S, 100, 1, true);
    for (int i = 1; i < 100; i++)
        reading(10 * S + (uint64_t)i * S / 10, 0, 0, false);
    reading(20 * S, 0, 0, true);
    assert_int_equal(peak_after(20 * S).bytes_per_s, 1000);
}

static void test_resume_goes_on(void **state)
{
    struct io_mounts before = {0};

    (void)state;
    start(0);
    reading(10 * S, 20000, 10, true);
    assert_int_equal(io_mounts_copy(&totals, &before), 0);
    meter_fill(meter, &before, 10 * S);
    meter_destroy(meter);
    /* The next process: what was counted before is no burst of its first interval. */
    meter = meter_create(10 * S, 0);
    assert_int_equal(meter_resume(meter, &before, 10 * S), 0);
    reading(20 * S, 1000, 1, true);
    reading(30 * S, 1000, 1, true);
    assert_int_equal(peak_after(30 * S).bytes_per_s, 2000);
    io_mounts_clear(&before);
}

static void fill(struct io_mounts *mounts, unsigned n, bool named)
{
    char text[64];

    for (unsigned i = 0; i < n; i++) {
        struct io_mount *m;

        (void)snprintf(text, sizeof(text), named ? "/mount%u" : "none 0:%u", i);
        m = io_mounts_get(mounts, named ? text : "(unknown)", "tmpfs", named ? "none" : text, true);
        assert_non_null(m);
        m->dev = n - i;
        io_account_op(&m->io, IO_READ)->bytes = i;
    }
}

/* CPU time of four readings of n mounts, which get their names before the third. */
static clock_t name_mounts(unsigned n)
{
    struct io_mounts unnamed = {0}, named = {0};
    clock_t start = clock();

    fill(&unnamed, n, false);
    fill(&named, n, true);
    meter = meter_create(10 * S, 0);
    for (unsigned i = 1; i <= 4; i++) {
        meter_start(meter);
        assert_int_equal(meter_add(meter, i < 3 ? &unnamed : &named), 0);
        meter_end(meter, i * 10 * S, true);
    }
    meter_fill(meter, &named, 40 * S);
    /* All bytes came in the first interval: earlier I/O is not a burst. */
    assert_int_equal(named.items[n - 10].peaks[IO_READ].bytes_per_s, (n - 10) / 10);
    assert_int_equal(named.items[50].peaks[IO_READ].bytes_per_s, 5);
    meter_destroy(meter);
    meter = NULL;
    io_mounts_clear(&unnamed);
    io_mounts_clear(&named);
    return clock() - start;
}

/* The time is about linear: 8 times as many mounts take 8 times as long, not 64 times. */
static void test_many_mounts_get_their_names(void **state)
{
    clock_t few = name_mounts(2500), many = name_mounts(20000);

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        clock_t again = name_mounts(2500);

        few = again > few ? again : few;
    }
    assert_true(many < 24 * few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_busiest_interval, finish),
        cmocka_unit_test_teardown(test_long_call, finish),
        cmocka_unit_test_teardown(test_short_last_interval_is_joined, finish),
        cmocka_unit_test_teardown(test_short_first_interval_is_joined, finish),
        cmocka_unit_test_teardown(test_peak_is_never_below_the_mean, finish),
        cmocka_unit_test_teardown(test_readings_in_between_close_nothing, finish),
        cmocka_unit_test_teardown(test_resume_goes_on, finish),
        cmocka_unit_test_teardown(test_many_mounts_get_their_names, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
