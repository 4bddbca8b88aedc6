/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was counted becomes accounts of steps: totals, peaks, time lines, and what is lost. */
#include "tests/unit/test.h"

#include "tests/unit/sampler_rig.h"

static void test_totals_peaks_and_names(void **state)
{
    uint32_t a = rig_tag(100, 0), b = rig_tag(200, 0);
    struct step_account account_a, account_b;

    (void)state;
    rig_touch(a, EXT4, "ext4");
    rig_touch(b, NFS, "nfs4");
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 10, 4096);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 100, 4096);
    fake_probe_count(rig.probe, b, NFS, IO_WRITE, 7, 100);
    rig_must(sampler_finish(rig.sampler, a, 20 * S, &rig.error));
    /* What comes after the last reading is not this account's. */
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 1000, 4096);
    rig_must(sampler_read(rig.sampler, 30 * S, &rig.error));

    account_a = rig_account(a);
    assert_int_equal(account_a.mounts.n, 1);
    assert_string_equal(account_a.mounts.items[0].mount, "/");
    assert_true(account_a.mounts.items[0].labelled);
    assert_int_equal(account_a.mounts.items[0].io.ops[IO_READ]->requests, 110);
    assert_int_equal(account_a.mounts.items[0].io.ops[IO_READ]->bytes, 110 * 4096);
    assert_int_equal(account_a.mounts.items[0].peaks[IO_READ].requests_per_s, 10);
    assert_int_equal(account_a.elapsed_ns, 20 * S);
    assert_int_equal(account_a.completeness.lost, 0);
    assert_int_equal(account_a.completeness.n, 0);
    account_b = rig_account(b);
    assert_string_equal(account_b.mounts.items[0].mount, "/home");
    assert_string_equal(account_b.mounts.items[0].source, "srv:/home");
    assert_int_equal(account_b.mounts.items[0].io.ops[IO_WRITE]->bytes, 700);
    assert_int_equal(account_b.elapsed_ns, 30 * S);
    step_account_clear(&account_a);
    step_account_clear(&account_b);
}

/* It ended before the reading of a tick. */
static void test_end_before_last_reading(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account got;

    (void)state;
    rig_touch(a, EXT4, "ext4");
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 100, 1);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 5, 1);
    rig_must(sampler_finish(rig.sampler, a, 10 * S - 1, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.elapsed_ns, 10 * S);
    step_account_clear(&got);
    sampler_set_end(rig.sampler, a, 2 * S);
    got = rig_account(a);
    assert_int_equal(got.mounts.items[0].io.ops[IO_READ]->requests, 105);
    assert_true(got.elapsed_ns == 2 * S && got.mounts.items[0].peaks[IO_READ].requests_per_s == 53);
    step_account_clear(&got);
}

static void test_losses_are_said(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account got;

    (void)state;
    fake_probe_step(rig.probe, a)->lost.requests = 3;
    fake_probe_step(rig.probe, a)->lost.bytes = 3000;
    fake_probe_step(rig.probe, a)->lost.ends = 4;
    fake_probe_step(rig.probe, a)->longest_wait_ns = 42;
    fake_probe_hook(rig.probe, 1)->missed = 5;
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    rig_must(sampler_read(rig.sampler, 20 * S, &rig.error));
    got = rig_account(a);
    /* Calls that found no room, and calls whose end nobody saw, are in no account. */
    assert_int_equal(got.completeness.lost, 3 + 4);
    assert_int_equal(got.longest_wait_ns, 42);
    assert_int_equal(got.completeness.n, 4);
    assert_string_equal(got.completeness.items[0].cause, "recursion-missed");
    assert_int_equal(got.completeness.items[0].count, 5);
    assert_int_equal(got.completeness.items[0].ops, 1 << IO_WRITE);
    assert_string_equal(got.completeness.items[1].cause, "map-full");
    assert_string_equal(got.completeness.items[2].cause, "map-full-bytes");
    assert_int_equal(got.completeness.items[2].count, 3000);
    assert_string_equal(got.completeness.items[3].cause, "end-unseen");
    assert_int_equal(got.completeness.items[3].count, 4);
    step_account_clear(&got);
}

static void test_peek_leaves_other_steps(void **state)
{
    uint32_t a = rig_tag(100, 0), b = rig_tag(101, 0);
    const uint32_t steps[] = {a};
    struct step_account got;

    (void)state;
    rig_touch(a, NFS, "nfs4");
    rig_touch(b, NFS, "nfs4");
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 1, 10);
    fake_probe_count(rig.probe, b, NFS, IO_WRITE, 1, 300);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 1, 5);
    fake_probe_count(rig.probe, b, NFS, IO_WRITE, 1, 7);
    rig_must(sampler_peek(rig.sampler, steps, 1, 12 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(rig_mount(&got, "/home")->io.ops[IO_WRITE]->bytes, 15);
    step_account_clear(&got);
    got = rig_account(b);
    assert_int_equal(rig_mount(&got, "/home")->io.ops[IO_WRITE]->bytes, 300);
    assert_int_equal(got.elapsed_ns, 10 * S);
    step_account_clear(&got);
    rig_must(sampler_read(rig.sampler, 20 * S, &rig.error));
    got = rig_account(b);
    assert_int_equal(rig_mount(&got, "/home")->io.ops[IO_WRITE]->bytes, 307);
    step_account_clear(&got);
}

static void test_missing_hook_is_said(void **state)
{
    struct step_account got;
    uint32_t a;

    (void)state;
    fake_probe_hook(rig.probe, 0)->backend = PROBE_NONE;
    a = rig_tag(100, 0);
    got = rig_account(a);
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "hook-not-attached");
    assert_int_equal(got.completeness.items[0].ops, 1 << IO_READ);
    step_account_clear(&got);
}

static void test_missing_feature_is_said(void **state)
{
    struct probe_hook *hook = fake_probe_hook(rig.probe, 1);
    struct step_account got;

    (void)state;
    hook->feature = "io_uring";
    hook->backend = PROBE_NONE;
    got = rig_account(rig_tag(100, 0));
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "unseen: io_uring");
    assert_int_equal(got.completeness.items[0].ops, 1 << IO_WRITE);
    step_account_clear(&got);
    hook->absent = true; /* what the kernel does not have, nobody uses */
    got = rig_account(rig_tag(101, 0));
    assert_int_equal(got.completeness.n, 0);
    step_account_clear(&got);
}

static void test_missing_io_uring_is_said_of_its_users(void **state)
{
    struct probe_hook *hook = fake_probe_hook(rig.probe, 1);
    struct step_account got;
    uint32_t a = rig_tag(100, 0), b;

    (void)state;
    hook->feature = "io_uring overflow";
    hook->backend = PROBE_NONE;
    hook->by_step = true;
    b = rig_tag(101, 0);
    fake_probe_step(rig.probe, a)->io_uring = 0;
    fake_probe_step(rig.probe, b)->io_uring = 3;
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    rig_must(sampler_read(rig.sampler, 20 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.completeness.n, 0);
    step_account_clear(&got);
    got = rig_account(b);
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "unseen: io_uring overflow");
    assert_int_equal(got.completeness.items[0].ops, 1 << IO_WRITE);
    step_account_clear(&got);
}

static void test_next_process_goes_on(void **state)
{
    struct step_account before, got;
    uint32_t a = rig_tag(100, 0);

    rig_touch(a, NFS, "nfs4");
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 10, 1000);
    fake_probe_step(rig.probe, a)->lost.requests = 2;
    rig_must(sampler_mark_incomplete(rig.sampler, a, "began-untracked", 1, 0) ? -1 : 0);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    before = rig_account(a);
    sampler_destroy(rig.sampler);
    mounts_destroy(rig.mounts);

    /* The maps stay; the names and the steps are learnt anew. */
    rig_must(mounts_create(&rig.mounts, rig.proc, &rig.error));
    rig_must(sampler_create(&rig.sampler, rig.probe, rig.mounts, 10 * S, &rig.error));
    rig_must(sampler_add(rig.sampler, a, 0, 0, &before, &rig.error));
    assert_int_equal(sampler_add(rig.sampler, a, 0, 0, &before, &rig.error), -EEXIST);
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 1, 1000);
    rig_must(sampler_read(rig.sampler, 20 * S, &rig.error));
    got = rig_account(a);
    assert_string_equal(got.mounts.items[0].mount, "/home");
    assert_int_equal(rig_written(&got, "/home", 0, 8), 8000); /* what the other one saw */
    assert_int_equal(got.mounts.items[0].io.ops[IO_WRITE]->bytes, 11000);
    assert_int_equal(got.mounts.items[0].peaks[IO_WRITE].bytes_per_s, 1000);
    assert_int_equal(got.completeness.lost, 2);
    assert_int_equal(got.completeness.n, 2);
    step_account_clear(&before);
    step_account_clear(&got);
    (void)state;
}

/* Nothing can be counted: that is said, and what an earlier process has counted stays. */
static void test_blind_probe_is_said(void **state)
{
    struct step_account before, got;
    uint32_t a = rig_tag(100, 0);

    (void)state;
    rig_touch(a, EXT4, "ext4");
    fake_probe_count(rig.probe, a, EXT4, IO_WRITE, 10, 100);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    before = rig_account(a);
    sampler_destroy(rig.sampler);
    fake_probe_go_blind(rig.probe, "no BTF");
    rig_must(sampler_create(&rig.sampler, rig.probe, rig.mounts, 10 * S, &rig.error));
    rig_must(sampler_add(rig.sampler, a, 0, 0, &before, &rig.error));
    rig_must(sampler_read(rig.sampler, 20 * S, &rig.error));
    rig_must(sampler_finish(rig.sampler, a, 30 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.elapsed_ns, 30 * S);
    assert_int_equal(got.mounts.n, 1);
    assert_int_equal(got.mounts.items[0].io.ops[IO_WRITE]->bytes, 1000);
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "not counted: no BTF");
    step_account_clear(&before);
    step_account_clear(&got);
    a = rig_tag(101, 0);
    rig_must(sampler_read(rig.sampler, 40 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.mounts.n, 0);
    assert_int_equal(got.completeness.n, 1);
    step_account_clear(&got);
}

static void set_narrow(struct io_counter *c, uint64_t value)
{
    c->latency_log2[3] = c->size_log2[0] = value;
    c->errors = c->sequential_requests = value;
    c->random_requests = value / 2;
}

/* Counters of 32 bits that wrapped before this process took them over, and once more while nobody
 * read: what is stored tells. What it cannot tell is said. */
static void test_wrapped_histograms(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account before, got;
    const struct io_counter *r;
    struct io_counter *c;

    (void)state;
    rig_touch(a, EXT4, "ext4");
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 10, 1);
    c = fake_probe_counter(rig.probe, a, EXT4, IO_READ);
    c->requests = (5ull << 32) + 5;
    set_narrow(c, (5ull << 32) + 5);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    before = rig_account(a);
    sampler_destroy(rig.sampler);
    rig_must(sampler_create(&rig.sampler, rig.probe, rig.mounts, 10 * S, &rig.error));
    rig_must(sampler_add(rig.sampler, a, 0, 0, &before, &rig.error));
    c->requests = (6ull << 32) + 2;
    set_narrow(c, 2); /* as a new rig.probe reads it */
    rig_must(sampler_read(rig.sampler, 20 * S, &rig.error));
    c->requests += 1ull << 32;
    set_narrow(c, (1ull << 32) + 2); /* and widens from then on */
    rig_must(sampler_read(rig.sampler, 30 * S, &rig.error));
    got = rig_account(a);
    r = got.mounts.items[0].io.ops[IO_READ];
    assert_true(r->latency_log2[3] == (7ull << 32) + 2);
    assert_true(r->size_log2[0] == (7ull << 32) + 2);
    assert_true(r->errors == (7ull << 32) + 2);
    assert_true(r->sequential_requests == (7ull << 32) + 2);
    assert_true(r->random_requests == (3ull << 32) + (1ull << 31) + 1);
    assert_int_equal(got.completeness.n, 0);
    step_account_clear(&got);
    c->requests += 3ull << 32;
    rig_must(sampler_read(rig.sampler, 40 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "histogram-short");
    assert_true(got.completeness.items[0].count == 3ull << 32);
    assert_int_equal(got.completeness.items[0].ops, 1 << IO_READ);
    step_account_clear(&got);
    step_account_clear(&before);
}

static void test_failed_reading_keeps_the_last(void **state)
{
    struct step_account got;
    uint32_t a = rig_tag(100, 0);

    (void)state;
    rig_touch(a, EXT4, "ext4");
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 1, 10);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    fake_probe_fail(rig.probe, -EIO);
    assert_int_equal(sampler_finish(rig.sampler, a, 20 * S, &rig.error), -EIO);
    got = rig_account(a);
    assert_int_equal(got.mounts.items[0].io.ops[IO_READ]->bytes, 10);
    step_account_clear(&got);
    fake_probe_fail(rig.probe, 0);
    fake_probe_count(rig.probe, a, EXT4, IO_READ, 1, 10);
    rig_must(sampler_finish(rig.sampler, a, 20 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.mounts.items[0].io.ops[IO_READ]->bytes, 20);
    step_account_clear(&got);
}

static void test_time_line(void **state)
{
    uint32_t a;
    struct step_account got;
    const struct timeline *t;

    (void)state;
    rig_must(probe_add(rig.probe, 100, 3, 2, &a, &rig.error));
    rig_must(
        sampler_add(rig.sampler, a, 5 * S, 1000 * S, NULL, &rig.error)); /* the clock says 1000 s */
    rig_touch(a, NFS, "nfs4");
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 10, 1000);
    fake_probe_count(rig.probe, a, NFS, IO_STAT, 10, 0);
    rig_must(sampler_read(rig.sampler, 15 * S, &rig.error));
    rig_must(sampler_read(rig.sampler, 25 * S, &rig.error)); /* quiet */
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 1, 4000);
    rig_must(sampler_peek(rig.sampler, &a, 1, 27 * S, &rig.error));
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 1, 7);
    rig_must(sampler_finish(rig.sampler, a, 29 * S, &rig.error));
    got = rig_account(a);
    t = &rig_mount(&got, "/home")->timeline;
    assert_int_equal(t->width_s, 8);
    assert_int_equal(t->start_s, 1000);
    assert_int_equal(t->n, 3);
    assert_int_equal(t->bins[0].of[TIMELINE_WRITE], 8000);
    assert_int_equal(t->bins[0].of[TIMELINE_META], 8);
    assert_int_equal(t->bins[1].of[TIMELINE_WRITE], 2000);
    assert_int_equal(t->bins[2].of[TIMELINE_WRITE], 4007); /* 1020 s to 1024 s */
    step_account_clear(&got);
}

/* The busiest bin of a mount, in threads that waited. */
static double most_waiting(const struct step_account *a, const char *mount)
{
    const struct timeline *t = &rig_mount(a, mount)->timeline;
    double most = 0;

    for (unsigned i = 0; i < t->n; i++) {
        double threads = (double)t->bins[i].of[TIMELINE_WAIT] / (double)t->width_s / S;

        most = threads > most ? threads : most;
    }
    return most;
}

/* Two threads in one call of 60 s each, which are counted when they return. */
static void test_time_line_of_long_calls(void **state)
{
    struct step_account got;
    struct io_counter *c;
    uint32_t a;

    (void)state;
    rig_must(probe_add(rig.probe, 100, 3, 2, &a, &rig.error));
    rig_must(sampler_add(rig.sampler, a, 0, 1024 * S, NULL, &rig.error));
    rig_touch(a, NFS, "nfs4");
    for (unsigned i = 1; i < 10; i++)
        rig_must(sampler_read(rig.sampler, i * 10 * S, &rig.error));
    fake_probe_count(rig.probe, a, NFS, IO_FSYNC, 2, 0);
    c = fake_probe_counter(rig.probe, a, NFS, IO_FSYNC);
    memset(c->latency_log2, 0, sizeof(c->latency_log2));
    c->latency_log2[io_latency_bucket(60 * S)] = 2;
    c->max_ns = 60 * S;
    c->time_ns = 120 * S;
    rig_must(sampler_finish(rig.sampler, a, 100 * S, &rig.error));
    got = rig_account(a);
    assert_true(most_waiting(&got, "/home") <= 2.001);
    assert_true(rig_mount(&got, "/home")->timeline.n >= 60 / 8);
    step_account_clear(&got);
}

#define SLICE PROBE_SLICE_NS

/* A step since 1024 s by the clock, at the start of slice 2. */
static uint32_t follow_waits(void)
{
    uint32_t a;

    rig_must(probe_add(rig.probe, 100, 3, 2, &a, &rig.error));
    rig_must(sampler_add(rig.sampler, a, 2 * SLICE, 1024 * S, NULL, &rig.error));
    rig_touch(a, NFS, "nfs4");
    return a;
}

/* One thread waits, in calls that return at this moment of the step. */
static void wait_until(uint32_t step, uint64_t at_ns, uint64_t slice, uint64_t wait_ns)
{
    fake_probe_count(rig.probe, step, NFS, IO_FSYNC, 1, 0);
    fake_probe_wait(rig.probe, step, NFS, slice, wait_ns);
    rig_must(sampler_peek(rig.sampler, &step, 1, 2 * SLICE + at_ns, &rig.error));
}

static uint64_t longest(uint32_t step, uint64_t from_s, uint64_t to_s)
{
    struct step_account got = rig_account(step);
    struct timeline_bin sum =
        timeline_between(&rig_mount(&got, "/home")->timeline, 1024 + from_s, 1024 + to_s);

    step_account_clear(&got);
    return sum.longest_ns;
}

/* A slice counts once, however often it is read, with the thread that waited longest. */
static void test_longest_wait(void **state)
{
    uint32_t a = follow_waits();

    (void)state;
    wait_until(a, S, 2, S / 2);
    wait_until(a, 2 * S, 2, S / 2); /* another thread, as long */
    wait_until(a, 3 * S, 2, 2 * S);
    assert_int_equal(longest(a, 0, 1024), 2 * S);
    wait_until(a, 2 * SLICE, 3, 3 * S);
    assert_int_equal(longest(a, 0, 1024), 5 * S);
    wait_until(a, 30 * S, 8, S);
    assert_int_equal(longest(a, 0, 16), 5 * S);
    assert_int_equal(longest(a, 24, 32), S);
    /* The calls of other threads before a slice end in it: they may have waited for longer. */
    wait_until(a, 31 * S, 7, S);
    wait_until(a, 32 * S, 7, 3 * S);
    assert_int_equal(longest(a, 0, 1024), 9 * S);
}

/* Threads in calls of 60 s, which return one after the other, waited for 60 s together. */
static void test_longest_wait_of_long_calls(void **state)
{
    uint64_t end = 2 * SLICE + 70 * S;
    uint32_t a = follow_waits();

    (void)state;
    for (unsigned i = 1; i < 7; i++)
        rig_must(sampler_read(rig.sampler, 2 * SLICE + i * 10 * S, &rig.error));
    wait_until(a, 70 * S, end / SLICE, end % SLICE);
    wait_until(a, 70 * S, end / SLICE - 1, 60 * S - end % SLICE);
    assert_int_equal(longest(a, 0, 1024), 60 * S);
    assert_in_range(longest(a, 16, 64), 47 * S, 48 * S);
    wait_until(a, 71 * S, end / SLICE, end % SLICE + S);
    wait_until(a, 71 * S, end / SLICE - 1, 60 * S - end % SLICE);
    assert_int_equal(longest(a, 0, 1024), 61 * S);
    /* Short waits in all slices of the probe, and then a thread has waited since 10 s. */
    for (uint64_t i = 74; i < 110; i += 3)
        wait_until(a, i * S, (2 * SLICE + i * S) / SLICE, 1);
    end += 40 * S;
    wait_until(a, 110 * S, end / SLICE, end % SLICE);
    wait_until(a, 110 * S, end / SLICE - 1, 100 * S - end % SLICE);
    assert_int_equal(longest(a, 0, 1024), 100 * S);
}

/* It is unknown before the slices that are kept, ... */
static void test_a_very_long_call(void **state)
{
    uint64_t end = 2 * SLICE + 500 * S;
    uint32_t a = follow_waits();

    (void)state;
    for (unsigned i = 1; i < 50; i++)
        rig_must(sampler_read(rig.sampler, 2 * SLICE + i * 10 * S, &rig.error));
    wait_until(a, 500 * S, end / SLICE, end % SLICE);
    wait_until(a, 500 * S, end / SLICE - 1, 400 * S);
    assert_true(longest(a, 128, 136) == TIMELINE_UNKNOWN);
    assert_in_range(longest(a, 256, 496), 239 * S, 240 * S);
    assert_int_equal(longest(a, 0, 96), 0);
}

/* Two threads return from a server that hung, the one that waited longer in a later reading. */
static void test_two_very_long_calls(void **state)
{
    uint32_t a = follow_waits();

    (void)state;
    for (unsigned i = 1; i < 50; i++)
        rig_must(sampler_read(rig.sampler, 2 * SLICE + i * 10 * S, &rig.error));
    wait_until(a, 503 * S, (2 * SLICE + 500 * S) / SLICE, 300 * S);
    wait_until(a, 513 * S, (2 * SLICE + 505 * S) / SLICE, 505 * S);
    assert_true(longest(a, 16, 96) == TIMELINE_UNKNOWN);
}

/* ... if there was no reading for too long, ... */
static void test_waits_without_readings(void **state)
{
    uint32_t a = follow_waits();

    (void)state;
    wait_until(a, S, 2, S);
    wait_until(a, 40 * S, 11, S);
    wait_until(a, 50 * S, 13, S);
    assert_true(longest(a, 8, 40) == TIMELINE_UNKNOWN);
    assert_int_equal(longest(a, 40, 56), S);
}

/* ... and for what another process has counted and not stored. */
static void test_longest_wait_after_a_restart(void **state)
{
    struct step_account before;
    uint32_t a = follow_waits();

    (void)state;
    wait_until(a, 8 * S, 3, S);
    before = rig_account(a);
    sampler_destroy(rig.sampler);
    rig_must(sampler_create(&rig.sampler, rig.probe, rig.mounts, 10 * S, &rig.error));
    rig_must(sampler_add(rig.sampler, a, 2 * SLICE, 1024 * S, &before, &rig.error));
    step_account_clear(&before);
    wait_until(a, 16 * S, 5, 2 * S);
    wait_until(a, 24 * S, 7, 3 * S);
    assert_int_equal(longest(a, 0, 8), S);
    assert_true(longest(a, 8, 16) == TIMELINE_UNKNOWN);
    assert_int_equal(longest(a, 16, 24), 3 * S);
}

/* What a process stored that knew of no time lines is spread over all the time until then. */
static void test_time_line_after_an_upgrade(void **state)
{
    struct step_account before, got;
    uint32_t a = rig_tag(100, 0);

    (void)state;
    rig_touch(a, EXT4, "ext4");
    fake_probe_count(rig.probe, a, EXT4, IO_WRITE, 16, 100);
    rig_must(sampler_read(rig.sampler, 16 * S, &rig.error));
    before = rig_account(a);
    timeline_clear(&before.mounts.items[0].timeline);
    sampler_destroy(rig.sampler);
    rig_must(sampler_create(&rig.sampler, rig.probe, rig.mounts, 10 * S, &rig.error));
    rig_must(sampler_add(rig.sampler, a, 0, 0, &before, &rig.error));
    fake_probe_count(rig.probe, a, EXT4, IO_WRITE, 1, 7);
    rig_must(sampler_read(rig.sampler, 24 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(rig_written(&got, "/", 0, 8), 800);
    assert_int_equal(rig_written(&got, "/", 8, 16), 800);
    assert_int_equal(rig_written(&got, "/", 16, 24), 7);
    step_account_clear(&before);
    step_account_clear(&got);
}

static void test_forget(void **state)
{
    struct step_account got = {0};
    uint32_t a = rig_tag(100, 0), b = rig_tag(50, 0);

    (void)state;
    sampler_forget(rig.sampler, a);
    sampler_forget(rig.sampler, a);
    assert_int_equal(sampler_account(rig.sampler, a, &got), -ENOENT);
    assert_null(sampler_mounts(rig.sampler, a));
    assert_non_null(sampler_mounts(rig.sampler, b));
    assert_int_equal(sampler_finish(rig.sampler, a, S, &rig.error), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_totals_peaks_and_names, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_end_before_last_reading, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_losses_are_said, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_blind_probe_is_said, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_peek_leaves_other_steps, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_missing_hook_is_said, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_missing_feature_is_said, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_missing_io_uring_is_said_of_its_users, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_next_process_goes_on, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_wrapped_histograms, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_failed_reading_keeps_the_last, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_time_line, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_time_line_of_long_calls, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_longest_wait, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_longest_wait_of_long_calls, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_very_long_call, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_two_very_long_calls, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_waits_without_readings, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_longest_wait_after_a_restart, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_time_line_after_an_upgrade, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_forget, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, rig_make_proc, rig_remove_proc);
}
