/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts of writes in time lines that are made as the collector makes them: by readings. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/timeline.h"
#include "report/bursts.h"

#define MIB (UINT64_C(1) << 20)
#define START_S UINT64_C(1770000003)

#define _line_ CLEANUP(timeline_clear) struct timeline

#define WRITES 1000

/* When a program with one thread writes, and waits for that: milliseconds since the start. */
struct program {
    struct {
        uint64_t from_ms, to_ms, bytes;
    } writes[WRITES];
    size_t n;
    uint64_t length_ms;
};

static struct program *program_make(uint64_t length_s)
{
    struct program *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->length_ms = length_s * 1000;
    return p;
}

static void program_write(struct program *p, uint64_t from_ms, uint64_t to_ms, uint64_t bytes)
{
    assert_true(p->n < WRITES && from_ms < to_ms && to_ms <= p->length_ms);
    p->writes[p->n].from_ms = from_ms;
    p->writes[p->n].to_ms = to_ms;
    p->writes[p->n++].bytes = bytes;
}

/* What it did until then. */
static struct timeline_bin program_sum(const struct program *p, uint64_t until_ms)
{
    struct timeline_bin sum = {0};

    for (size_t i = 0; i < p->n; i++) {
        uint64_t length = p->writes[i].to_ms - p->writes[i].from_ms, done = 0;

        if (until_ms > p->writes[i].from_ms)
            done = until_ms - p->writes[i].from_ms;
        done = done < length ? done : length;
        sum.of[TIMELINE_WRITE] += p->writes[i].bytes / length * done;
        sum.of[TIMELINE_WAIT] += done * NS_PER_MS;
    }
    return sum;
}

/* Read the counters every interval, up to 3 % late. */
static void program_read(const struct program *p, uint64_t interval_ms, struct timeline *t)
{
    uint64_t from = 0, to, late = 0;
    struct timeline_bin before = {0};

    for (; from < p->length_ms; from = to) {
        struct timeline_bin now, what;

        to = from + interval_ms + late++ % 4 * interval_ms / 100;
        to = to < p->length_ms ? to : p->length_ms;
        now = program_sum(p, to);
        for (int kind = 0; kind < TIMELINE_KINDS; kind++)
            what.of[kind] = now.of[kind] - before.of[kind];
        before = now;
        assert_int_equal(timeline_spread(t, timeline_width(interval_ms * NS_PER_MS),
                                         START_S * NS_PER_S + from * NS_PER_MS,
                                         START_S * NS_PER_S + to * NS_PER_MS, &what),
                         0);
    }
}

/* Takes ownership of the program. */
static struct bursts find(struct program *p, uint64_t interval_ms)
{
    _line_ t = {0};

    program_read(p, interval_ms, &t);
    free(p);
    return bursts_find(&t);
}

/* Bursts of this length and size, `every` apart; all of them are found, or none. */
static struct bursts rhythm(unsigned n, uint64_t every_ms, uint64_t length_ms, uint64_t interval_ms)
{
    struct program *p = program_make((n + 1) * every_ms / 1000 + 1);

    for (unsigned i = 1; i <= n; i++)
        program_write(p, i * every_ms, i * every_ms + length_ms, length_ms * MIB);
    return find(p, interval_ms);
}

static void test_checkpoints(void **state)
{
    struct bursts b = rhythm(7, 20000, 3000, 1000);

    (void)state;
    assert_int_equal(b.n, 7);
    assert_int_equal(b.every_s, 20);
    assert_int_equal(b.bytes, 7 * 3000 * MIB);
    assert_in_range(b.longest_s, 3, 5);
    assert_int_equal(b.wait_ns, 21 * NS_PER_S);
    assert_int_equal(bursts_stall_ns(&b, 21 * NS_PER_S, 21 * NS_PER_S), 21 * NS_PER_S);
}

/* Eight threads that wait together, and wait as long again elsewhere. */
static void test_stall(void **state)
{
    struct bursts b = {.n = 4, .wait_ns = 80 * NS_PER_S};

    (void)state;
    assert_int_equal(bursts_stall_ns(&b, 20 * NS_PER_S, 160 * NS_PER_S), 10 * NS_PER_S);
    b.wait_ns = 0;
    assert_int_equal(bursts_stall_ns(&b, 20 * NS_PER_S, 160 * NS_PER_S), 0);
    assert_int_equal(bursts_stall_ns(&b, 0, 0), 0);
    b.wait_ns = 3; /* more than all there is: an account without part of it */
    assert_int_equal(bursts_stall_ns(&b, 2, 1), 2);
}

/* Whatever the rhythm and the interval: the number is exact, or none are reported. */
static void test_exact_or_none(void **state)
{
    unsigned found = 0, none = 0;

    (void)state;
    for (uint64_t interval = 1000; interval <= 10000; interval += 3000)
        for (uint64_t every = 1000; every <= 61000; every += 1700)
            for (unsigned n = 5; n <= 40; n += 14)
                for (uint64_t length = 200; length < every; length = length * 3 + 100) {
                    struct bursts b = rhythm(n, every, length, interval);
                    uint64_t bins = (n + 1) * every / 1000 / timeline_width(interval * NS_PER_MS);

                    if (b.n && b.n != n)
                        fail_msg("%u of %u bursts of %u ms every %u ms, read every %u ms", b.n, n,
                                 (unsigned)length, (unsigned)every, (unsigned)interval);
                    found += b.n > 0;
                    none += !b.n;
                    /* Six quiet readings are enough, unless the bins are wider or the bursts long.
                     */
                    if (every - length >= 6 * interval + length && bins < TIMELINE_BINS)
                        assert_int_equal(b.n, n);
                }
    assert_true(found > 100 && none > 100);
    /* The bins are two thirds of the distance: most bursts look like one. */
    assert_int_equal(rhythm(127, 47650, 6700, 1000).n, 0);
}

/* A day of checkpoints: the bins become 512 s wide. */
static void test_long_job(void **state)
{
    struct bursts hourly = rhythm(24, 3600000, 40000, 10000);
    struct bursts often = rhythm(200, 420000, 40000, 10000);

    (void)state;
    assert_int_equal(hourly.n, 24);
    assert_in_range(hourly.every_s, 3590, 3610);
    assert_int_equal(hourly.wait_ns, 24 * 40 * NS_PER_S);
    assert_int_equal(often.n, 0);
}

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* Jitter of a fifth, a background of log lines, and other output at the start and the end. */
static void test_disturbed(void **state)
{
    struct program *p = program_make(700);

    (void)state;
    seed = 1;
    for (uint64_t at = 0; at < 700000; at += 1000)
        program_write(p, at, at + 1, 1000 + random_below(1000));
    program_write(p, 100, 900, 40 * MIB);
    for (unsigned i = 1; i <= 10; i++) {
        uint64_t at = i * 60000 + random_below(12000) - 6000;

        program_write(p, at, at + 2000 + random_below(1000), 800 * MIB + random_below(100 * MIB));
    }
    assert_int_equal(find(p, 1000).n, 10);
}

/* Programs without bursts that recur. */
static void test_healthy(void **state)
{
    struct program *p = program_make(100);

    (void)state;
    program_write(p, 0, 100000, 1000 * MIB); /* a stream */
    assert_int_equal(find(p, 1000).n, 0);
    p = program_make(100);
    program_write(p, 90000, 99000, 1000 * MIB); /* the result at the end */
    assert_int_equal(find(p, 1000).n, 0);
    p = program_make(100);
    program_write(p, 5000, 9000, 1000 * MIB); /* twice is not a rhythm */
    program_write(p, 90000, 94000, 1000 * MIB);
    assert_int_equal(find(p, 1000).n, 0);
    p = program_make(100);
    for (unsigned i = 0; i < 10; i++) /* log lines */
        program_write(p, i * 10000, i * 10000 + 10, 100000);
    assert_int_equal(find(p, 1000).n, 0);
    assert_int_equal(bursts_find(&(struct timeline){0}).n, 0);
}

/* Files written at random times, of random sizes: at most one program in fifty looks as if it had a
 * rhythm. */
static void test_random(void **state)
{
    unsigned claimed = 0;

    (void)state;
    for (seed = 1; seed < 0xffffffff; seed = seed * 5 + 1) {
        for (unsigned k = 0; k < 20; k++) {
            struct program *p = program_make(300);
            unsigned n = 3 + (unsigned)random_below(20);

            for (unsigned i = 0; i < n; i++) {
                uint64_t at = random_below(290000);

                program_write(p, at, at + 100 + random_below(9000), (1 + random_below(500)) * MIB);
            }
            claimed += find(p, 1000).n > 0;
        }
        if (seed > 100000000)
            break;
    }
    assert_in_range(claimed, 0, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoints),   cmocka_unit_test(test_stall),
        cmocka_unit_test(test_exact_or_none), cmocka_unit_test(test_long_job),
        cmocka_unit_test(test_disturbed),     cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
