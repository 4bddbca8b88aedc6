/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arithmetic of the longest wait in slices of time, against a table of all slices. */
#include "tests/unit/test.h"

#include <string.h>

#include "collector/sample/sampler_impl.h"
#include "common/cleanup.h"

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define SLICE PROBE_SLICE_NS
#define SLICES_ALL 400
#define FIRST 2 /* the slice in which the step starts */

static const struct followed step = {.started_ns = FIRST * SLICE, .real_ns = 1024 * S};

uint64_t probe_slice_start_ns(uint64_t slice)
{
    return slice * SLICE;
}

/* A time line, and what the last reading found. */
static struct line {
    struct timeline t;
    struct slices last;
    uint64_t read_ns;
} line;

struct found {
    uint64_t slice, wait_ns;
};

static int setup(void **state)
{
    (void)state;
    line = (struct line){.read_ns = step.started_ns};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    timeline_clear(&line.t);
    return 0;
}

/* The maps hold these at this moment. */
static void take(uint64_t now_ns, const struct found *found, size_t n)
{
    const struct slices_span span = {&step, line.read_ns, now_ns, 1};
    struct slices now = {0};

    for (size_t i = 0; i < n; i++)
        slices_raise(&now, found[i].slice, found[i].wait_ns);
    slices_merge(&now, &line.last);
    assert_int_equal(slices_spread(&line.t, &span, &now, &line.last), 0);
    line.last = now;
    line.read_ns = now_ns;
}

#define TAKE(now, ...) \
    take(now, (const struct found[]){__VA_ARGS__}, ARRAY_SIZE(((struct found[]){__VA_ARGS__})))

static uint64_t total(void)
{
    return timeline_sum(&line.t).longest_ns;
}

/* The longest wait is unknown in the bins with these seconds of the step, and in no other one. */
static void assert_unknown(uint64_t from_s, uint64_t to_s)
{
    for (uint64_t start = 0; start < 1000; start += line.t.width_s) {
        uint64_t end = start + line.t.width_s;
        struct timeline_bin bin = timeline_between(&line.t, 1024 + start, 1024 + end);

        assert_int_equal(bin.longest_ns == TIMELINE_UNKNOWN, end > from_s && start < to_s);
    }
}

/* --- one reading ------------------------------------------------------------------------------ */

static void test_sums(void **state)
{
    static const struct {
        struct found found[3];
        uint64_t total;
    } rows[] = {
        {{{3, 7 * MS}}, 7 * MS},
        {{{3, SLICE}, {4, SLICE}}, 2 * SLICE},
        {{{3, SLICE}, {4, SLICE + 1}}, 2 * SLICE},
        {{{4, SLICE + MS}, {3, 0}}, SLICE + MS},
        {{{4, SLICE + MS}, {3, 9 * MS}}, SLICE + 9 * MS},
        {{{3, 9 * MS}, {4, 7 * MS}, {4, 8 * MS}}, 17 * MS},
        {{{12, 10 * SLICE + 3}, {5, 4 * MS}, {2, 5 * MS}}, 10 * SLICE + 5 * MS},
        {{{12, 5 * MS}, {70, 60 * SLICE}}, 60 * SLICE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        (void)setup(NULL);
        take(100 * SLICE, rows[i].found, ARRAY_SIZE(rows[i].found));
        assert_int_equal(total(), rows[i].total);
        (void)teardown(NULL);
    }
}

/* --- calls longer than the slices that are kept ----------------------------------------------- */

/* A thread waited for 300 s until slice 93, and others until slice 100: the order of the probe does
 * not matter. */
static void test_edge_of_the_slices_kept(void **state)
{
    static const struct found orders[][2] = {{{93, 300 * S}, {100, MS}},
                                             {{100, MS}, {93, 300 * S}}};
    uint64_t end_s = (94 - FIRST) * SLICE / S, kept_s = (100 - SLICES_KEPT + 1 - FIRST) * SLICE / S;

    (void)state;
    for (int i = 0; i < 2; i++) {
        (void)setup(NULL);
        take(101 * SLICE, orders[i], 2);
        assert_unknown(end_s - 300, kept_s + 1);
        (void)teardown(NULL);
    }
}

/* What an earlier reading has found stays known, as long as the call is in the maps. */
static void test_known_stays_known(void **state)
{
    uint64_t end_s = (94 - FIRST) * SLICE / S, kept_s = (93 - SLICES_KEPT + 1 - FIRST) * SLICE / S;

    (void)state;
    TAKE(94 * SLICE, {93, 300 * S});
    assert_unknown(end_s - 300, kept_s + 1);
    for (uint64_t slice = 94; slice < 130; slice++) {
        TAKE((slice + 1) * SLICE, {93, 300 * S}, {slice, MS});
        assert_unknown(end_s - 300, kept_s + 1);
    }
}

static void test_kept_call_stays_known(void **state)
{
    (void)state;
    for (uint64_t slice = 80; slice < 180; slice++)
        TAKE((slice + 1) * SLICE, {80, 50 * SLICE}, {slice, slice > 80 ? MS : 0});
    assert_int_equal(total(), 50 * SLICE + 99 * MS);
}

/* A thread that waited longer than another one is found in a later reading. */
static void test_longer_call_later(void **state)
{
    uint64_t end_s = (94 - FIRST) * SLICE / S, kept_s = (93 - SLICES_KEPT + 1 - FIRST) * SLICE / S;

    (void)state;
    TAKE(94 * SLICE, {93, 300 * S});
    TAKE(96 * SLICE, {93, 300 * S}, {95, 340 * S});
    assert_unknown(end_s + 2 * SLICE / S - 340, kept_s + 1);
}

/* --- bins ------------------------------------------------------------------------------------- */

static void assert_bins(void)
{
    for (unsigned i = 0; i < line.t.n; i++)
        assert_true(line.t.bins[i].longest_ns <= line.t.width_s * S);
}

/* A thread, and then another one that waited all the time. */
static void test_bin_is_not_longer_than_its_width(void **state)
{
    uint64_t start = 3 * SLICE;

    (void)state;
    TAKE(start + 4 * S, {3, S});
    TAKE(start + 9 * S, {3, 4200 * MS}, {4, S});
    assert_bins();
    assert_int_equal(total(), 5200 * MS);
}

/* All of it was in one bin, and the thread waited before. */
static void test_bin_moves_to_a_new_one(void **state)
{
    uint64_t start = FIRST * SLICE;

    (void)state;
    TAKE(start + 5000 * MS, {0, 0});
    TAKE(start + 5300 * MS, {3, 300 * MS});
    TAKE(start + 5900 * MS, {3, 1200 * MS});
    assert_int_equal(line.t.start_s, 1024 + 4);
    assert_int_equal(line.t.bins[0].longest_ns, 200 * MS);
    assert_int_equal(line.t.bins[1].longest_ns, S);
}

static uint64_t random_to(unsigned *seed, uint64_t max)
{
    *seed = *seed * 1103515245u + 12345;
    return (uint64_t)(*seed >> 8) * max >> 24;
}

/* One thread waited as long, until this slice. */
static void add_to_table(uint64_t table[SLICES_ALL], uint64_t slice, uint64_t wait_ns)
{
    for (; wait_ns; slice--) {
        uint64_t inside = wait_ns < SLICE ? wait_ns : SLICE;

        table[slice] = table[slice] > inside ? table[slice] : inside;
        wait_ns -= inside;
    }
}

/* A wait that the time so far allows: in the last slice only until now, in an earlier one of any
 * length, since it started or since the step started. */
static struct found random_wait(unsigned *seed, uint64_t now_ns)
{
    uint64_t newest = now_ns / SLICE, slice = newest - random_to(seed, 3), longest;

    slice = slice < FIRST ? FIRST : slice;
    longest = slice == newest ? now_ns - slice * SLICE : SLICE;
    if (slice < newest && random_to(seed, 8) == 0)
        longest = (slice + 1) * SLICE - step.started_ns;
    return (struct found){slice, random_to(seed, longest + 1)};
}

static void check_random(unsigned seed)
{
    uint64_t table[SLICES_ALL] = {0}, sum = 0, now = step.started_ns;

    (void)setup(NULL);
    while (now < (SLICES_KEPT - 1) * SLICE) {
        struct found found[2];

        now += 1 + random_to(&seed, 5 * S);
        for (int i = 0; i < 2; i++) {
            found[i] = random_wait(&seed, now);
            add_to_table(table, found[i].slice, found[i].wait_ns);
        }
        take(now, found, 2);
        assert_bins();
    }
    for (int i = 0; i < SLICES_ALL; i++)
        sum += table[i];
    assert_int_equal(total(), sum);
    (void)teardown(NULL);
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 200; seed++)
        check_random(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_edge_of_the_slices_kept),
        cmocka_unit_test_setup_teardown(test_known_stays_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kept_call_stays_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_longer_call_later, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bin_is_not_longer_than_its_width, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bin_moves_to_a_new_one, setup, teardown),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
