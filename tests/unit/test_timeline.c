/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "common/account.h"
#include "common/cleanup.h"
#include "common/timeline.h"

#define S(s) ((uint64_t)(s)*1000000000u)
#define T0 UINT64_C(1795168801) /* odd: no multiple of any width but 1 */

static void check_rules(const struct timeline *t)
{
    assert_true(t->n <= TIMELINE_BINS);
    assert_true(t->n <= t->room);
    if (!t->n) {
        assert_int_equal(t->width_s, 0);
        return;
    }
    assert_int_equal(t->width_s & (t->width_s - 1), 0);
    assert_int_equal(t->start_s % t->width_s, 0);
    assert_false(timeline_bin_is_empty(&t->bins[0]));
    assert_false(timeline_bin_is_empty(&t->bins[t->n - 1]));
}

static void spread(struct timeline *t, uint64_t from_ns, uint64_t to_ns, uint64_t read)
{
    struct timeline_bin what = {.of = {read, read / 3, read / 7, read * 1000}};

    assert_int_equal(timeline_spread(t, 1, from_ns, to_ns, &what), 0);
    check_rules(t);
}

static void assert_same(const struct timeline *a, const struct timeline *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->start_s, b->start_s);
    assert_int_equal(a->width_s, b->width_s);
    if (a->n)
        assert_memory_equal(a->bins, b->bins, a->n * sizeof(*a->bins));
}

static void test_even_over_the_interval(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};

    (void)state;
    spread(&t, S(T0), S(T0 + 5), 500);
    assert_int_equal(t.start_s, T0);
    assert_int_equal(t.width_s, 1);
    assert_int_equal(t.n, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(t.bins[i].of[TIMELINE_READ], 100);
    assert_int_equal(timeline_end_s(&t), T0 + 5);
}

static void test_parts_of_bins_and_remainders(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};
    const struct timeline_bin seven = {.of = {7, 0, 1, 3}};

    (void)state;
    /* Half a bin, a complete bin, half a bin: 7 = 1.75 + 3.5 + 1.75, rounded down as it adds up. */
    assert_int_equal(timeline_spread(&t, 4, S(6), S(14), &seven), 0);
    assert_int_equal(t.start_s, 4);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.bins[0].of[TIMELINE_READ], 1);
    assert_int_equal(t.bins[1].of[TIMELINE_READ], 4);
    assert_int_equal(t.bins[2].of[TIMELINE_READ], 2);
    /* What cannot be divided is in the last. */
    assert_int_equal(t.bins[2].of[TIMELINE_META], 1);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_WAIT], 3);
}

static void test_width_doubles(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};

    (void)state;
    for (uint64_t i = 0; i < 200; i++)
        spread(&t, S(1000 + i), S(1001 + i), 10);
    assert_int_equal(t.width_s, 1);
    assert_int_equal(t.n, 200);
    spread(&t, S(1200), S(1201), 10);
    assert_int_equal(t.width_s, 2);
    assert_int_equal(t.n, 101);
    assert_int_equal(t.bins[0].of[TIMELINE_READ], 20);
    assert_int_equal(t.bins[100].of[TIMELINE_READ], 10);
    /* With an odd start the pairs are split: one bin more. */
    timeline_clear(&t);
    for (uint64_t i = 0; i < 200; i++)
        spread(&t, S(1001 + i), S(1002 + i), 10);
    assert_int_equal(t.n, 200);
    spread(&t, S(1201), S(1202), 10);
    assert_int_equal(t.width_s, 2);
    assert_int_equal(t.start_s, 1000);
    assert_int_equal(t.bins[0].of[TIMELINE_READ], 10);
    /* A long silence, and all is still there. */
    spread(&t, S(1000000), S(1000001), 10);
    assert_int_equal(t.width_s, 8192);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], 2020);
}

/* An interval that is longer than 200 of its bins, and one before all the others. */
static void test_long_intervals(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};

    (void)state;
    spread(&t, S(T0), S(T0) + S(30 * 86400), UINT64_C(123456789123));
    assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], UINT64_C(123456789123));
    assert_int_equal(t.width_s, 16384);
    spread(&t, S(T0 - 86400), S(T0 - 86399), 5);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], UINT64_C(123456789128));
    assert_int_equal(t.bins[0].of[TIMELINE_READ], 5);
    timeline_clear(&t);
    spread(&t, 0, UINT64_MAX, 77777);
    spread(&t, UINT64_MAX, UINT64_MAX, 1);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], 77778);
}

static void test_no_span_and_backward_clocks(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};

    (void)state;
    spread(&t, S(T0 + 9), S(T0 + 9), 41);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.start_s, T0 + 9);
    spread(&t, S(T0 + 9), S(T0 + 2), 7);
    assert_int_equal(t.start_s, T0 + 2);
    assert_int_equal(t.bins[0].of[TIMELINE_READ], 7);
    assert_int_equal(t.bins[7].of[TIMELINE_READ], 41);
    spread(&t, S(T0), S(T0 + 100), 0);
    assert_int_equal(t.n, 8);
}

/* --- any order gives the same ----------------------------------------------------------------- */

#define PARTS 12

static uint64_t random_to(unsigned *seed, uint64_t n)
{
    return ((uint64_t)rand_r(seed) << 31 | (uint64_t)rand_r(seed)) % n;
}

/* The rule as it is written, second by second, at a width that is known. */
static void check_against_seconds(const struct timeline *t, const struct timeline *parts)
{
    struct timeline_bin total = {0}, have = timeline_sum(t);

    for (unsigned i = 0; i < t->n; i++) {
        uint64_t from = t->start_s + i * t->width_s;
        struct timeline_bin want = {0};

        for (int p = 0; p < PARTS; p++) {
            struct timeline_bin b = timeline_between(&parts[p], from, from + t->width_s);

            for (int k = 0; k < TIMELINE_KINDS; k++)
                want.of[k] += b.of[k];
        }
        assert_memory_equal(&want, &t->bins[i], sizeof(want));
    }
    for (int p = 0; p < PARTS; p++)
        for (int k = 0; k < TIMELINE_KINDS; k++)
            total.of[k] += timeline_sum(&parts[p]).of[k];
    assert_memory_equal(&total, &have, sizeof(total));
}

static void test_any_order(void **state)
{
    (void)state;
    for (unsigned round = 1; round <= 300; round++) {
        struct timeline parts[PARTS] = {0};
        struct timeline left = {0}, right = {0}, halves[2] = {0};
        unsigned seed = round;
        uint64_t reach = UINT64_C(1) << (6 + round % 16);

        for (int p = 0; p < PARTS; p++)
            for (uint64_t n = random_to(&seed, 6); n; n--) {
                uint64_t from = S(T0) + random_to(&seed, S(reach));

                spread(&parts[p], from, from + random_to(&seed, S(40)),
                       random_to(&seed, UINT64_C(1) << 40));
            }
        for (int p = 0; p < PARTS; p++) {
            assert_int_equal(timeline_add(&left, &parts[p]), 0);
            assert_int_equal(timeline_add(&right, &parts[PARTS - 1 - p]), 0);
            assert_int_equal(timeline_add(&halves[p * 7 % 2], &parts[p]), 0);
            check_rules(&left);
        }
        assert_int_equal(timeline_add(&halves[1], &halves[0]), 0);
        assert_same(&left, &right);
        assert_same(&left, &halves[1]);
        check_against_seconds(&left, parts);
        for (int p = 0; p < PARTS; p++)
            timeline_clear(&parts[p]);
        timeline_clear(&left);
        timeline_clear(&right);
        timeline_clear(&halves[0]);
        timeline_clear(&halves[1]);
    }
}

/* What is read in many intervals is what is read in one, at the width that it gets in the end. */
static void test_growing_is_exact(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};
    unsigned seed = 7;
    uint64_t at = S(T0), total = 0;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        uint64_t next = at + random_to(&seed, S(17)), n = random_to(&seed, 1u << 20);

        spread(&t, at, next, n);
        total += n;
        at = next;
        assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], total);
    }
}

static void test_saturates(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};
    const struct timeline_bin most = {.of = {UINT64_MAX, 1, 0, UINT64_MAX}};

    (void)state;
    assert_int_equal(timeline_spread(&t, 1, S(5), S(9), &most), 0);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], UINT64_MAX);
    assert_int_equal(timeline_spread(&t, 1, S(5), S(6), &most), 0);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], UINT64_MAX);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_WRITE], 2);
}

/* --- moves ------------------------------------------------------------------------------------ */

static void test_move(void **state)
{
    CLEANUP(timeline_clear) struct timeline from = {0}, to = {0}, all = {0};
    const struct timeline_bin some = {.of = {100, 7, 3, 12345}};
    struct timeline_bin rest;

    (void)state;
    spread(&from, S(T0), S(T0 + 50), 1001);
    spread(&to, S(T0 + 20), S(T0 + 300), 55);
    assert_int_equal(timeline_copy(&from, &all), 0);
    assert_int_equal(timeline_add(&all, &to), 0);
    assert_int_equal(timeline_move(&from, &some, &to), 0);
    check_rules(&from);
    check_rules(&to);
    rest = timeline_sum(&from);
    assert_int_equal(rest.of[TIMELINE_READ], 901);
    assert_int_equal(rest.of[TIMELINE_WRITE], 1001 / 3 - 7);
    assert_int_equal(rest.of[TIMELINE_META], 1001 / 7 - 3);
    assert_int_equal(timeline_sum(&to).of[TIMELINE_READ], 155);
    /* Nothing has moved in time. */
    rest = (struct timeline_bin){.of = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    assert_int_equal(timeline_move(&from, &rest, &to), 0);
    assert_true(timeline_is_empty(&from));
    check_rules(&from);
    /* Whose wait was the longest is not known any more. */
    assert_true(to.bins[0].longest_ns == TIMELINE_UNKNOWN);
    timeline_forget_longest(&to);
    timeline_forget_longest(&all);
    assert_same(&to, &all);
    assert_int_equal(timeline_move(&to, &rest, NULL), 0);
    assert_true(timeline_is_empty(&to));
}

static void longest(struct timeline *t, uint64_t from_s, uint64_t to_s, uint64_t longest_ns)
{
    const struct timeline_bin what = {.longest_ns = longest_ns};

    assert_int_equal(timeline_spread(t, 1, S(from_s), S(to_s), &what), 0);
    check_rules(t);
}

/* On one time line it is added, from one bin to the next too; of two it is the maximum. */
static void test_longest(void **state)
{
    CLEANUP(timeline_clear) struct timeline a = {0}, b = {0}, turn = {0};

    (void)state;
    longest(&a, 100, 102, S(1));
    longest(&a, 100, 101, 7);
    assert_int_equal(a.bins[0].longest_ns, S(1) / 2 + 7);
    assert_int_equal(a.bins[1].longest_ns, S(1) / 2);
    longest(&turn, 102, 103, S(1)); /* another thread waits when the first does not */
    longest(&b, 100, 101, S(1));
    assert_int_equal(timeline_add(&a, &b), 0);
    assert_int_equal(a.bins[0].longest_ns, S(1));
    assert_int_equal(timeline_add(&a, &turn), 0);
    assert_int_equal(timeline_sum(&a).longest_ns, S(2) + S(1) / 2);
    timeline_widen(&b, 4);
    assert_int_equal(timeline_add(&a, &b), 0); /* at the width of the sum */
    assert_int_equal(a.n, 1);
    assert_int_equal(a.bins[0].longest_ns, S(2) + S(1) / 2);
}

static void test_longest_is_unknown(void **state)
{
    CLEANUP(timeline_clear) struct timeline old = {0}, known = {0}, sum = {0};

    (void)state;
    spread(&old, S(100), S(102), 500);
    assert_int_equal(timeline_length(&old, TIMELINE_LONGEST), 1); /* it is known: 0 */
    timeline_forget_longest(&old);
    assert_true(timeline_sum(&old).longest_ns == TIMELINE_UNKNOWN);
    assert_int_equal(timeline_length(&old, TIMELINE_LONGEST), 0);
    longest(&known, 101, 104, S(3));
    assert_int_equal(timeline_length(&known, TIMELINE_LONGEST), 3);
    for (int first = 0; first < 2; first++) {
        assert_int_equal(timeline_add(&sum, first ? &old : &known), 0);
        assert_int_equal(timeline_add(&sum, first ? &known : &old), 0);
        assert_true(sum.bins[1].longest_ns == TIMELINE_UNKNOWN);
        assert_int_equal(sum.bins[3].longest_ns, S(1));
        timeline_clear(&sum);
    }
    longest(&known, 102, 103, TIMELINE_UNKNOWN);
    assert_true(timeline_between(&known, 102, 103).longest_ns == TIMELINE_UNKNOWN);
    assert_int_equal(timeline_between(&known, 103, 105).longest_ns, S(1));
}

static void test_limit(void **state)
{
    CLEANUP(timeline_clear) struct timeline t = {0};

    (void)state;
    spread(&t, S(T0), S(T0 + 180), 123456);
    timeline_limit(&t, 200);
    assert_int_equal(t.width_s, 1);
    timeline_limit(&t, 50);
    check_rules(&t);
    assert_int_equal(t.width_s, 4);
    assert_int_equal(t.n, 46);
    timeline_limit(&t, 1);
    assert_true(t.n == 1);
    assert_int_equal(timeline_sum(&t).of[TIMELINE_READ], 123456);
    timeline_clear(&t);
    timeline_limit(&t, 1);
    assert_true(timeline_is_empty(&t));
}

static void test_set_checks(void **state)
{
    static const struct timeline_bin none[TIMELINE_BINS + 1],
        two[4] = {{.of = {0}}, {.of = {1}}, {.of = {2}}};
    CLEANUP(timeline_clear) struct timeline t = {0};

    (void)state;
    assert_int_equal(timeline_set(&t, 64, 16, two, 4), 0);
    check_rules(&t);
    assert_int_equal(t.start_s, 80);
    assert_int_equal(t.n, 2);
    timeline_clear(&t);
    assert_int_equal(timeline_set(&t, 64, 24, two, 3), -EINVAL);
    assert_int_equal(timeline_set(&t, 64, 0, two, 3), -EINVAL);
    assert_int_equal(timeline_set(&t, 65, 2, two, 3), -EINVAL);
    assert_int_equal(timeline_set(&t, 0, UINT64_C(1) << 33, two, 3), -EINVAL);
    assert_int_equal(timeline_set(&t, UINT64_MAX, 1, two, 3), -EINVAL);
    assert_int_equal(timeline_set(&t, UINT64_C(1) << 36, 1, two, 3), -EINVAL);
    assert_int_equal(timeline_set(&t, 64, 1, none, TIMELINE_BINS + 1), -EINVAL);
    assert_int_equal(timeline_set(&t, 0, 1, none, TIMELINE_BINS), 0);
    assert_true(timeline_is_empty(&t));
    timeline_clear(&t);
    assert_int_equal(timeline_set(&t, 65, 0, NULL, 0), 0);
    timeline_clear(NULL);
}

static void test_widths(void **state)
{
    (void)state;
    assert_int_equal(timeline_width(0), 1);
    assert_int_equal(timeline_width(S(1)), 1);
    assert_int_equal(timeline_width(S(5)), 4);
    assert_int_equal(timeline_width(S(15)), 8);
    assert_int_equal(timeline_width(UINT64_MAX), TIMELINE_MAX_S);
    assert_string_equal(timeline_kind_name(TIMELINE_META), "meta_requests");
}

/* The lists of mounts carry it. */
static void test_mounts(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts a = {0}, b = {0}, copy = {0};
    struct io_mount *m = io_mounts_get(&a, "/scratch", "nfs4", "srv:/", false);

    (void)state;
    io_account_op(&m->io, IO_READ)->bytes = 300;
    io_account_op(&m->io, IO_COPY_READ)->bytes = 7;
    io_account_op(&m->io, IO_CREATE)->requests = 4;
    io_account_op(&m->io, IO_OPEN)->requests = 5;
    io_account_op(&m->io, IO_OPEN)->time_ns = 50;
    io_account_op(&m->io, IO_WRITE)->time_ns = 5;
    assert_int_equal(io_account_now(&m->io).of[TIMELINE_READ], 307);
    assert_int_equal(io_account_now(&m->io).of[TIMELINE_WRITE], 0);
    assert_int_equal(io_account_now(&m->io).of[TIMELINE_META], 5);
    assert_int_equal(io_account_now(&m->io).of[TIMELINE_WAIT], 55);
    spread(&m->timeline, S(T0), S(T0 + 3), 307);
    m = io_mounts_get(&b, "/scratch", "nfs4", "srv:/", false);
    spread(&m->timeline, S(T0 + 1), S(T0 + 1000), 1000);
    assert_int_equal(io_mounts_add(&b, &a), 0);
    assert_int_equal(timeline_sum(&b.items[0].timeline).of[TIMELINE_READ], 1307);
    assert_int_equal(io_mounts_copy(&b, &copy), 0);
    assert_same(&copy.items[0].timeline, &b.items[0].timeline);
    assert_ptr_not_equal(copy.items[0].timeline.bins, b.items[0].timeline.bins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even_over_the_interval),
        cmocka_unit_test(test_parts_of_bins_and_remainders),
        cmocka_unit_test(test_width_doubles),
        cmocka_unit_test(test_long_intervals),
        cmocka_unit_test(test_no_span_and_backward_clocks),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_growing_is_exact),
        cmocka_unit_test(test_saturates),
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_longest_is_unknown),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_set_checks),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_mounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
