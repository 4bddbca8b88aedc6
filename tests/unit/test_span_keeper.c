/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/trace/keeper.h"
#include "common/cleanup.h"

DEFINE_CLEANUP(struct span_keeper, span_keeper_destroy)

static struct span span_of(uint64_t time_ns, enum span_kind kind)
{
    static uint64_t start_ns;

    start_ns++;
    return (struct span){.start_ns = start_ns, .time_ns = time_ns, .kind = kind, .name = "write"};
}

static void add(struct span_keeper *keeper, uint64_t time_ns, enum span_kind kind)
{
    struct span span = span_of(time_ns, kind);

    span_keeper_add(keeper, &span);
}

static int compare_slower_first(const void *a, const void *b)
{
    uint64_t x = ((const struct span *)a)->time_ns, y = ((const struct span *)b)->time_ns;

    return (x < y) - (x > y);
}

/* Durations of 1 to 1000 in an order that is not theirs; 7 has no common divisor with 1000. */
static void add_thousand(struct span_keeper *keeper)
{
    for (uint64_t i = 0; i < 1000; i++)
        add(keeper, i * 7 % 1000 + 1, SPAN_REQUEST);
}

static void check_kept(struct span_keeper *keeper, size_t n, uint64_t slowest, uint64_t dropped)
{
    CLEANUP(trace_clear) struct trace trace = {0};

    span_keeper_finish(keeper, &trace);
    assert_int_equal(trace.n_spans, n);
    if (n) /* else there may be no array, which qsort() may not be given */
        qsort(trace.spans, trace.n_spans, sizeof(*trace.spans), compare_slower_first);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(trace.spans[i].time_ns, slowest - i);
    assert_int_equal(trace_dropped(&trace, SPAN_REQUEST), dropped);
    assert_int_equal(trace_dropped(&trace, SPAN_MPI), 0);
}

static void add_open(struct span_keeper *keeper, uint64_t time_ns, const char *path)
{
    char text[64];
    struct span span = span_of(time_ns, SPAN_REQUEST);

    (void)snprintf(text, sizeof(text), "%s", path);
    span.path = text;
    span_keeper_add(keeper, &span);
    memset(text, 'x', sizeof(text));
}

static void test_paths(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(2, 2);
    CLEANUP(trace_clear) struct trace trace = {0};

    (void)state;
    add_open(keeper, 30, "/slowest");
    add_open(keeper, 10, "/left/out/for/the/next/one");
    add_open(keeper, 20, "/second");
    add_open(keeper, 1, "/left/out");
    span_keeper_turn(keeper);
    add_open(keeper, 5, "/left/out/at/the/turn");
    add(keeper, 25, SPAN_REQUEST);
    span_keeper_finish(keeper, &trace);
    assert_int_equal(trace.n_spans, 2);
    qsort(trace.spans, trace.n_spans, sizeof(*trace.spans), compare_slower_first);
    assert_string_equal(trace.spans[0].path, "/slowest");
    assert_null(trace.spans[1].path);
    add_open(keeper, 7, "/not/finished");
}

/* Each needs 1024 bytes: the room is for 1024 of those that are kept. */
static void test_room_of_paths(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(1100, 1100);
    CLEANUP(trace_clear) struct trace trace = {0};
    struct span span;
    char path[1024];
    size_t n = 0;

    (void)state;
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    for (uint64_t i = 0; i < 2200; i++) {
        span = span_of(i + 1, SPAN_REQUEST);
        span.path = path;
        span.flags = SPAN_PATH_CUT;
        span_keeper_add(keeper, &span);
    }
    span_keeper_finish(keeper, &trace);
    assert_int_equal(trace.n_spans, 1100);
    for (size_t i = 0; i < trace.n_spans; i++) {
        n += trace.spans[i].path != NULL;
        assert_int_equal(trace.spans[i].flags, trace.spans[i].path ? SPAN_PATH_CUT : 0);
    }
    assert_int_equal(n, SPAN_KEEPER_PATH_BYTES / 1024);
}

static void test_all_are_kept(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(1000, 2000);

    (void)state;
    add_thousand(keeper);
    check_kept(keeper, 1000, 1000, 0);
}

static void test_the_slowest_of_an_interval_are_kept(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(100, 2000);

    (void)state;
    add_thousand(keeper);
    check_kept(keeper, 100, 1000, 900);
}

/* The second interval is as quiet as the first one is not: each has its own budget. */
static void test_each_interval_has_its_budget(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(100, 2000);
    CLEANUP(trace_clear) struct trace trace = {0};

    (void)state;
    add_thousand(keeper);
    assert_int_equal(span_keeper_least_ns(keeper), 901);
    span_keeper_turn(keeper);
    assert_int_equal(span_keeper_least_ns(keeper), 0);
    add(keeper, 5, SPAN_REQUEST);
    span_keeper_finish(keeper, &trace);
    assert_int_equal(trace.n_spans, 101);
    assert_int_equal(trace_dropped(&trace, SPAN_REQUEST), 900);
}

static void test_the_slowest_of_all_are_kept(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(1000, 50);

    (void)state;
    add_thousand(keeper);
    span_keeper_turn(keeper);
    assert_int_equal(span_keeper_least_ns(keeper), 951);
    for (int i = 0; i < 10; i++)
        add(keeper, 950, SPAN_REQUEST);
    check_kept(keeper, 50, 1000, 960);
}

static void test_a_call_outlasts_its_requests(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(1, 1);
    CLEANUP(trace_clear) struct trace trace = {0};

    (void)state;
    add(keeper, 10, SPAN_REQUEST);
    add(keeper, 10, SPAN_MPI);
    add(keeper, 10, SPAN_REQUEST);
    span_keeper_finish(keeper, &trace);
    assert_int_equal(trace.n_spans, 1);
    assert_int_equal(trace.spans[0].kind, SPAN_MPI);
    assert_int_equal(trace_dropped(&trace, SPAN_REQUEST), 2);
}

static void test_an_empty_trace(void **state)
{
    CLEANUP(span_keeper_destroyp) struct span_keeper *keeper = span_keeper_create(1, 1);

    (void)state;
    assert_int_equal(span_keeper_least_ns(keeper), 0);
    check_kept(keeper, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_kept),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_room_of_paths),
        cmocka_unit_test(test_the_slowest_of_an_interval_are_kept),
        cmocka_unit_test(test_each_interval_has_its_budget),
        cmocka_unit_test(test_the_slowest_of_all_are_kept),
        cmocka_unit_test(test_a_call_outlasts_its_requests),
        cmocka_unit_test(test_an_empty_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
