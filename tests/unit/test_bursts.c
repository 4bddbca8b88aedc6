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

#define THREADS 8

/* When a program writes, and waits for that: milliseconds since the start. */
struct program {
    struct {
        uint64_t from_ms, to_ms, bytes;
        unsigned thread;
    } writes[WRITES];
    unsigned thread; /* of the next ones */
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
    assert_true(p->n < WRITES && from_ms < to_ms && to_ms <= p->length_ms && p->thread < THREADS);
    p->writes[p->n].from_ms = from_ms;
    p->writes[p->n].to_ms = to_ms;
    p->writes[p->n].thread = p->thread;
    p->writes[p->n++].bytes = bytes;
}

/* What it did until then, and how long each thread waited. */
static struct timeline_bin program_sum(const struct program *p, uint64_t until_ms,
                                       uint64_t waits_ns[THREADS])
{
    struct timeline_bin sum = {0};

    memset(waits_ns, 0, THREADS * sizeof(*waits_ns));

    for (size_t i = 0; i < p->n; i++) {
        uint64_t length = p->writes[i].to_ms - p->writes[i].from_ms, done = 0;

        if (until_ms > p->writes[i].from_ms)
            done = until_ms - p->writes[i].from_ms;
        done = done < length ? done : length;
        sum.of[TIMELINE_WRITE] += p->writes[i].bytes / length * done;
        sum.of[TIMELINE_WAIT] += done * NS_PER_MS;
        waits_ns[p->writes[i].thread] += done * NS_PER_MS;
    }
    return sum;
}

/* Read the counters every interval, up to 3 % late. */
static void program_read(const struct program *p, uint64_t interval_ms, struct timeline *t)
{
    uint64_t from = 0, to, late = 0, last[THREADS] = {0}, waits[THREADS];
    struct timeline_bin before = {0};

    for (; from < p->length_ms; from = to) {
        struct timeline_bin now, what = {0};

        to = from + interval_ms + late++ % 4 * interval_ms / 100;
        to = to < p->length_ms ? to : p->length_ms;
        now = program_sum(p, to, waits);
        for (int kind = 0; kind < TIMELINE_KINDS; kind++)
            what.of[kind] = now.of[kind] - before.of[kind];
        for (unsigned i = 0; i < THREADS; i++)
            what.longest_ns =
                waits[i] - last[i] > what.longest_ns ? waits[i] - last[i] : what.longest_ns;
        memcpy(last, waits, sizeof(last));
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
    assert_int_equal(b.stall_ns, 21 * NS_PER_S);
}

/* The first thread waits before the bursts, so that it waits longest; others wait in the bursts. */
static void test_threads_in_turn(void **state)
{
    struct program *p = program_make(200);
    struct bursts b;

    (void)state;
    program_write(p, 0, 8000, 1);
    for (unsigned i = 1; i <= 5; i++) {
        p->thread = i;
        program_write(p, i * 30000, i * 30000 + 3000, 3000 * MIB);
    }
    b = find(p, 1000);
    assert_int_equal(b.n, 5);
    assert_int_equal(b.wait_ns, 15 * NS_PER_S);
    assert_int_equal(b.stall_ns, 15 * NS_PER_S);
}

static void test_threads_alike(void **state)
{
    struct program *p = program_make(200);
    struct bursts b;

    (void)state;
    for (unsigned i = 1; i <= 5; i++)
        for (p->thread = 0; p->thread < THREADS; p->thread++)
            program_write(p, i * 30000, i * 30000 + 3000, 3000 * MIB);
    b = find(p, 1000);
    assert_int_equal(b.n, 5);
    assert_int_equal(b.wait_ns, 15 * THREADS * NS_PER_S);
    assert_int_equal(b.stall_ns, 15 * NS_PER_S);
}

/* write(2) takes a moment, the fsync after it 20 s. */
static struct program *program_fsyncs(void)
{
    struct program *p = program_make(600);

    for (unsigned i = 1; i <= 5; i++) {
        program_write(p, i * 100000, i * 100000 + 500, 500 * MIB);
        program_write(p, i * 100000 + 500, i * 100000 + 20500, 0);
    }
    return p;
}

static void test_long_calls(void **state)
{
    struct bursts b = find(program_fsyncs(), 1000);

    (void)state;
    assert_int_equal(b.n, 5);
    assert_int_equal(b.wait_ns, 5 * 20500 * NS_PER_MS);
    assert_int_equal(b.stall_ns, 5 * 20500 * NS_PER_MS);
}

/* A thread waits between the bursts, too: what the bursts cost is not known. */
static void test_other_waits(void **state)
{
    struct program *p = program_fsyncs();
    struct bursts b;

    (void)state;
    p->thread = 1;
    for (uint64_t at = 0; at < 590000; at += 1000)
        program_write(p, at, at + 300, 0);
    b = find(p, 1000);
    assert_int_equal(b.n, 5);
    assert_true(b.stall_ns == TIMELINE_UNKNOWN);
    p = program_fsyncs();
    p->thread = 1;
    for (uint64_t at = 0; at < 590000; at += 1000)
        program_write(p, at, at + 3, 0);
    b = find(p, 1000);
    assert_in_range(b.stall_ns, 5 * 20500 * NS_PER_MS, 5 * 20600 * NS_PER_MS);
}

/* An older release does not report whose wait was the longest. */
static void test_longest_is_unknown(void **state)
{
    struct program *p = program_fsyncs();
    _line_ t = {0};

    (void)state;
    program_read(p, 1000, &t);
    free(p);
    timeline_forget_longest(&t);
    assert_int_equal(bursts_find(&t).n, 5);
    assert_true(bursts_find(&t).stall_ns == TIMELINE_UNKNOWN);
}

/* Threads read for as long as a thread waits for the fsync: whose wait was longer? */
static void test_reads_beside(void **state)
{
    struct program *p = program_fsyncs();
    struct timeline_bin read = {{1000, 0, 0, 0}, 0};
    _line_ t = {0};

    (void)state;
    program_read(p, 1000, &t);
    free(p);
    assert_int_equal(timeline_spread(&t, 1, START_S * NS_PER_S, (START_S + 600) * NS_PER_S, &read),
                     0);
    assert_int_equal(bursts_find(&t).n, 5);
    assert_true(bursts_find(&t).stall_ns == TIMELINE_UNKNOWN);
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

/* Four bursts of 5 s on a mount, each with a longest wait of 5 s, and the same waits on another
 * mount: whose they are is not known. */
static void test_waits_on_another_mount(void **state)
{
    struct io_mounts mounts CLEANUP(io_mounts_clear) = {0};
    const struct timeline_bin burst = {{0, 100 * MIB, 0, 8 * 5 * NS_PER_S}, 5 * NS_PER_S};
    const struct timeline_bin other = {{0, 0, 0, 4 * NS_PER_S}, 4 * NS_PER_S};
    struct io_mount *b;

    (void)state;
    assert_non_null(io_mounts_get(&mounts, "/a", "nfs4", "a", false));
    b = io_mounts_get(&mounts, "/b", "nfs4", "b", false);
    assert_non_null(b);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t from = (START_S + 100 * i) * NS_PER_S;

        assert_int_equal(
            timeline_spread(&mounts.items[0].timeline, 1, from, from + 5 * NS_PER_S, &burst), 0);
    }
    assert_int_equal(bursts_of_mount(&mounts, &mounts.items[0]).n, 4);
    assert_int_equal(bursts_of_mount(&mounts, &mounts.items[0]).stall_ns, 20 * NS_PER_S);
    assert_int_equal(timeline_spread(&b->timeline, 1, (START_S + 50) * NS_PER_S,
                                     (START_S + 60) * NS_PER_S, &other),
                     0);
    assert_int_equal(bursts_of_mount(&mounts, &mounts.items[0]).stall_ns, 20 * NS_PER_S);
    assert_int_equal(
        timeline_spread(&b->timeline, 1, START_S * NS_PER_S, (START_S + 5) * NS_PER_S, &other), 0);
    assert_true(bursts_of_mount(&mounts, &mounts.items[0]).stall_ns == TIMELINE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_on_another_mount),
        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_threads_in_turn),
        cmocka_unit_test(test_threads_alike),
        cmocka_unit_test(test_long_calls),
        cmocka_unit_test(test_other_waits),
        cmocka_unit_test(test_longest_is_unknown),
        cmocka_unit_test(test_reads_beside),
        cmocka_unit_test(test_exact_or_none),
        cmocka_unit_test(test_long_job),
        cmocka_unit_test(test_disturbed),
        cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
