/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On a fake probe (tests/unit/fake_probe.h) and the real table of mounts over a made-up /proc. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/mounts.h"
#include "collector/sampler.h"
#include "tests/unit/fake_probe.h"

#define S 1000000000ull
#define EXT4 ((8u << 20) | 1)
#define NFS 40u

static char proc[] = "/tmp/jobio-test-sampler-XXXXXX";
static struct probe *probe;
static struct mounts *mounts;
static struct sampler *sampler;
static struct error error;

static const char mountinfo[] = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                "21 20 0:40 / /home rw - nfs4 srv:/home rw\n";

static void must(int r)
{
    if (r < 0)
        fail_msg("%d: %s", r, error.text);
}

static void make_proc(void)
{
    char name[128];
    FILE *f;

    assert_non_null(mkdtemp(proc));
    snprintf(name, sizeof(name), "%s/1", proc);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(name, sizeof(name), "%s/1/mountinfo", proc);
    f = fopen(name, "w");
    assert_non_null(f);
    fputs(mountinfo, f);
    fclose(f);
}

static void remove_proc(void)
{
    char name[128];

    snprintf(name, sizeof(name), "%s/1/mountinfo", proc);
    unlink(name);
    snprintf(name, sizeof(name), "%s/1", proc);
    rmdir(name);
    rmdir(proc);
}

static int setup(void **state)
{
    (void)state;
    probe = fake_probe_create();
    must(mounts_create(&mounts, proc, &error));
    must(sampler_create(&sampler, probe, mounts, 10 * S, &error));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sampler_destroy(sampler);
    mounts_destroy(mounts);
    probe_destroy(probe);
    return 0;
}

static uint32_t tag(uint64_t cgroup_id, uint64_t at_ns)
{
    uint32_t step;

    must(probe_add(probe, cgroup_id, 3, 2, &step, &error));
    must(sampler_add(sampler, step, at_ns, at_ns, NULL, &error));
    return step;
}

static struct step_account account(uint32_t step)
{
    struct step_account a = {0};

    assert_int_equal(sampler_account(sampler, step, &a), 0);
    /* Whatever happens: the time line adds up to the account. */
    for (size_t i = 0; i < a.mounts.n; i++) {
        struct timeline_bin sum = timeline_sum(&a.mounts.items[i].timeline);
        struct timeline_bin total = io_account_now(&a.mounts.items[i].io);

        assert_memory_equal(&sum, &total, sizeof(sum));
    }
    return a;
}

static void touch(uint32_t step, uint64_t dev, const char *fstype)
{
    fake_probe_sight(probe, step, dev, fstype);
    must(sampler_sightings(sampler, &error));
}

static void test_totals_peaks_and_names(void **state)
{
    uint32_t a = tag(100, 0), b = tag(200, 0);
    struct step_account account_a, account_b;

    (void)state;
    touch(a, EXT4, "ext4");
    touch(b, NFS, "nfs4");
    fake_probe_count(probe, a, EXT4, IO_READ, 10, 4096);
    must(sampler_read(sampler, 10 * S, &error));
    fake_probe_count(probe, a, EXT4, IO_READ, 100, 4096);
    fake_probe_count(probe, b, NFS, IO_WRITE, 7, 100);
    must(sampler_finish(sampler, a, 20 * S, &error));
    /* What comes after the last reading is not this account's. */
    fake_probe_count(probe, a, EXT4, IO_READ, 1000, 4096);
    must(sampler_read(sampler, 30 * S, &error));

    account_a = account(a);
    assert_int_equal(account_a.mounts.n, 1);
    assert_string_equal(account_a.mounts.items[0].mount, "/");
    assert_true(account_a.mounts.items[0].labelled);
    assert_int_equal(account_a.mounts.items[0].io.ops[IO_READ]->requests, 110);
    assert_int_equal(account_a.mounts.items[0].io.ops[IO_READ]->bytes, 110 * 4096);
    assert_int_equal(account_a.mounts.items[0].peaks[IO_READ].requests_per_s, 10);
    assert_int_equal(account_a.elapsed_ns, 20 * S);
    assert_int_equal(account_a.completeness.lost, 0);
    assert_int_equal(account_a.completeness.n, 0);
    account_b = account(b);
    assert_string_equal(account_b.mounts.items[0].mount, "/home");
    assert_string_equal(account_b.mounts.items[0].source, "srv:/home");
    assert_int_equal(account_b.mounts.items[0].io.ops[IO_WRITE]->bytes, 700);
    assert_int_equal(account_b.elapsed_ns, 30 * S);
    step_account_clear(&account_a);
    step_account_clear(&account_b);
}

static void test_losses_are_said(void **state)
{
    uint32_t a = tag(100, 0);
    struct step_account got;

    (void)state;
    fake_probe_step(probe, a)->lost.requests = 3;
    fake_probe_step(probe, a)->lost.bytes = 3000;
    fake_probe_step(probe, a)->lost.ends = 4;
    fake_probe_step(probe, a)->longest_wait_ns = 42;
    fake_probe_hook(probe, 1)->missed = 5;
    must(sampler_read(sampler, 10 * S, &error));
    must(sampler_read(sampler, 20 * S, &error));
    got = account(a);
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

static void test_missing_hook_is_said(void **state)
{
    struct step_account got;
    uint32_t a;

    (void)state;
    fake_probe_hook(probe, 0)->backend = PROBE_NONE;
    a = tag(100, 0);
    got = account(a);
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "hook-not-attached");
    assert_int_equal(got.completeness.items[0].ops, 1 << IO_READ);
    step_account_clear(&got);
}

static void test_missing_feature_is_said(void **state)
{
    struct probe_hook *hook = fake_probe_hook(probe, 1);
    struct step_account got;

    (void)state;
    hook->feature = "io_uring";
    hook->backend = PROBE_NONE;
    got = account(tag(100, 0));
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "unseen: io_uring");
    assert_int_equal(got.completeness.items[0].ops, 1 << IO_WRITE);
    step_account_clear(&got);
    hook->absent = true; /* what the kernel does not have, nobody uses */
    got = account(tag(101, 0));
    assert_int_equal(got.completeness.n, 0);
    step_account_clear(&got);
}

static const struct io_mount *mount_at(const struct step_account *a, const char *mount)
{
    for (size_t i = 0; i < a->mounts.n; i++)
        if (!strcmp(a->mounts.items[i].mount, mount))
            return &a->mounts.items[i];
    fail_msg("no %s", mount);
    return NULL;
}

/* Bytes in the bins that begin in [from_s, to_s). */
static uint64_t written(const struct step_account *a, const char *mount, uint64_t from_s,
                        uint64_t to_s)
{
    return timeline_between(&mount_at(a, mount)->timeline, from_s, to_s).of[TIMELINE_WRITE];
}

static void test_next_process_goes_on(void **state)
{
    struct step_account before, got;
    uint32_t a = tag(100, 0);

    touch(a, NFS, "nfs4");
    fake_probe_count(probe, a, NFS, IO_WRITE, 10, 1000);
    fake_probe_step(probe, a)->lost.requests = 2;
    must(sampler_blame(sampler, a, "began-untracked", 1, 0) ? -1 : 0);
    must(sampler_read(sampler, 10 * S, &error));
    before = account(a);
    sampler_destroy(sampler);
    mounts_destroy(mounts);

    /* The maps stay; the names and the steps are learnt anew. */
    must(mounts_create(&mounts, proc, &error));
    must(sampler_create(&sampler, probe, mounts, 10 * S, &error));
    must(sampler_add(sampler, a, 0, 0, &before, &error));
    assert_int_equal(sampler_add(sampler, a, 0, 0, &before, &error), -EEXIST);
    fake_probe_count(probe, a, NFS, IO_WRITE, 1, 1000);
    must(sampler_read(sampler, 20 * S, &error));
    got = account(a);
    assert_string_equal(got.mounts.items[0].mount, "/home");
    assert_int_equal(written(&got, "/home", 0, 8), 8000); /* what the other one saw */
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
    uint32_t a = tag(100, 0);

    (void)state;
    touch(a, EXT4, "ext4");
    fake_probe_count(probe, a, EXT4, IO_WRITE, 10, 100);
    must(sampler_read(sampler, 10 * S, &error));
    before = account(a);
    sampler_destroy(sampler);
    fake_probe_go_blind(probe, "no BTF");
    must(sampler_create(&sampler, probe, mounts, 10 * S, &error));
    must(sampler_add(sampler, a, 0, 0, &before, &error));
    must(sampler_read(sampler, 20 * S, &error));
    must(sampler_finish(sampler, a, 30 * S, &error));
    got = account(a);
    assert_int_equal(got.elapsed_ns, 30 * S);
    assert_int_equal(got.mounts.n, 1);
    assert_int_equal(got.mounts.items[0].io.ops[IO_WRITE]->bytes, 1000);
    assert_int_equal(got.completeness.n, 1);
    assert_string_equal(got.completeness.items[0].cause, "not counted: no BTF");
    step_account_clear(&before);
    step_account_clear(&got);
    a = tag(101, 0);
    must(sampler_read(sampler, 40 * S, &error));
    got = account(a);
    assert_int_equal(got.mounts.n, 0);
    assert_int_equal(got.completeness.n, 1);
    step_account_clear(&got);
}

/* The second file system with a number has gone as well before anybody asked for its name. */
static void test_number_of_another(void **state)
{
    uint32_t a = tag(100, 0);
    uint64_t later = 1ull << 32 | NFS;
    struct step_account got;

    (void)state;
    touch(a, NFS, "nfs4");
    fake_probe_count(probe, a, NFS, IO_WRITE, 10, 1000);
    fake_probe_count(probe, a, later, IO_WRITE, 1, 1);
    fake_probe_unmount(probe, later, 0);
    touch(a, later, "tmpfs");
    must(sampler_finish(sampler, a, 10 * S, &error));
    got = account(a);
    assert_int_equal(got.mounts.n, 2);
    assert_int_equal(mount_at(&got, "/home")->io.ops[IO_WRITE]->bytes, 10000);
    assert_int_equal(mount_at(&got, "(unknown)")->io.ops[IO_WRITE]->bytes, 1);
    assert_string_equal(mount_at(&got, "(unknown)")->fstype, "tmpfs");
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
    uint32_t a = tag(100, 0);
    struct step_account before, got;
    const struct io_counter *r;
    struct io_counter *c;

    (void)state;
    touch(a, EXT4, "ext4");
    fake_probe_count(probe, a, EXT4, IO_READ, 10, 1);
    c = fake_probe_counter(probe, a, EXT4, IO_READ);
    c->requests = (5ull << 32) + 5;
    set_narrow(c, (5ull << 32) + 5);
    must(sampler_read(sampler, 10 * S, &error));
    before = account(a);
    sampler_destroy(sampler);
    must(sampler_create(&sampler, probe, mounts, 10 * S, &error));
    must(sampler_add(sampler, a, 0, 0, &before, &error));
    c->requests = (6ull << 32) + 2;
    set_narrow(c, 2); /* as a new probe reads it */
    must(sampler_read(sampler, 20 * S, &error));
    c->requests += 1ull << 32;
    set_narrow(c, (1ull << 32) + 2); /* and widens from then on */
    must(sampler_read(sampler, 30 * S, &error));
    got = account(a);
    r = got.mounts.items[0].io.ops[IO_READ];
    assert_true(r->latency_log2[3] == (7ull << 32) + 2);
    assert_true(r->size_log2[0] == (7ull << 32) + 2);
    assert_true(r->errors == (7ull << 32) + 2);
    assert_true(r->sequential_requests == (7ull << 32) + 2);
    assert_true(r->random_requests == (3ull << 32) + (1ull << 31) + 1);
    assert_int_equal(got.completeness.n, 0);
    step_account_clear(&got);
    c->requests += 3ull << 32;
    must(sampler_read(sampler, 40 * S, &error));
    got = account(a);
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
    uint32_t a = tag(100, 0);

    (void)state;
    touch(a, EXT4, "ext4");
    fake_probe_count(probe, a, EXT4, IO_READ, 1, 10);
    must(sampler_read(sampler, 10 * S, &error));
    fake_probe_fail(probe, -EIO);
    assert_int_equal(sampler_finish(sampler, a, 20 * S, &error), -EIO);
    got = account(a);
    assert_int_equal(got.mounts.items[0].io.ops[IO_READ]->bytes, 10);
    step_account_clear(&got);
    fake_probe_fail(probe, 0);
    fake_probe_count(probe, a, EXT4, IO_READ, 1, 10);
    must(sampler_finish(sampler, a, 20 * S, &error));
    got = account(a);
    assert_int_equal(got.mounts.items[0].io.ops[IO_READ]->bytes, 20);
    step_account_clear(&got);
}

/* --- a mount that only a job's namespace has ---------------------------------------------------- */

#define PRIVATE 77u
static char task[160]; /* its folder */
static unsigned asked;

static void task_begin(void)
{
    char name[200];
    FILE *f;

    snprintf(task, sizeof(task), "%s/55", proc);
    assert_int_equal(mkdir(task, 0700), 0);
    snprintf(name, sizeof(name), "%s/mountinfo", task);
    f = fopen(name, "w");
    assert_non_null(f);
    fputs("90 1 0:77 / /image rw - squashfs /dev/loop0 ro\n", f);
    fclose(f);
}

static void task_end(void)
{
    char name[200];

    snprintf(name, sizeof(name), "%s/mountinfo", task);
    unlink(name);
    rmdir(task);
}

static size_t list_tasks(uint32_t step, uint32_t *pids, size_t max, void *arg)
{
    assert_int_equal(step, *(uint32_t *)arg);
    assert_true(max >= 2);
    asked++;
    pids[0] = 54; /* has just gone */
    pids[1] = 55;
    return 2;
}

/* The task that was seen has gone: others of the step are asked, less and less often. What was
 * counted in the meantime gets the name, too, and is no burst. */
static void test_another_task_knows_the_name(void **state)
{
    uint32_t a = tag(100, 0);
    struct step_account got;
    uint64_t at = 0;

    (void)state;
    asked = 0;
    sampler_set_tasks(sampler, list_tasks, &a);
    touch(a, PRIVATE, "squashfs");
    for (int i = 0; i < 4; i++) {
        fake_probe_count(probe, a, PRIVATE, IO_READ, 1, 2500);
        must(sampler_read(sampler, at += 10 * S, &error));
    }
    assert_int_equal(asked, 2); /* at readings 1 and 3, next at 7 */
    got = account(a);
    assert_string_equal(got.mounts.items[0].mount, "(unknown)");
    assert_string_equal(got.mounts.items[0].fstype, "squashfs");
    step_account_clear(&got);
    task_begin();
    for (int i = 0; i < 3; i++)
        must(sampler_read(sampler, at += 10 * S, &error));
    assert_int_equal(asked, 3);
    task_end();
    fake_probe_count(probe, a, PRIVATE, IO_READ, 1, 500);
    for (int i = 0; i < 12; i++)
        must(sampler_read(sampler, at += 10 * S, &error));
    assert_int_equal(asked, 3);
    got = account(a);
    assert_int_equal(got.mounts.n, 1);
    assert_string_equal(got.mounts.items[0].mount, "/image");
    assert_true(got.mounts.items[0].private);
    assert_int_equal(got.mounts.items[0].io.ops[IO_READ]->bytes, 10500);
    assert_int_equal(got.mounts.items[0].peaks[IO_READ].bytes_per_s, 250);
    step_account_clear(&got);
}

static void test_a_name_that_nobody_knows(void **state)
{
    uint32_t a = tag(100, 0);

    (void)state;
    asked = 0;
    sampler_set_tasks(sampler, list_tasks, &a);
    touch(a, PRIVATE, "tmpfs");
    for (uint64_t at = 10 * S; at < 2000 * S; at += 10 * S)
        must(sampler_read(sampler, at, &error));
    assert_int_equal(asked, 6);
}

/* Its table is long, and the step ends before it is read: the last reading waits for it. */
static void test_a_name_that_comes_with_the_end(void **state)
{
    uint32_t a = tag(100, 0);
    struct step_account got;

    (void)state;
    task_begin();
    mounts_set_lines(mounts, 0);
    fake_probe_sight(probe, a, PRIVATE, "squashfs")->pid = 55;
    fake_probe_count(probe, a, PRIVATE, IO_READ, 1, 10);
    must(sampler_read(sampler, 10 * S, &error));
    got = account(a);
    assert_string_equal(got.mounts.items[0].mount, "(unknown)");
    step_account_clear(&got);
    task_end();
    assert_int_equal(sampler_seal(sampler, a, 9 * S), -EAGAIN);
    must(sampler_peek(sampler, 0, 11 * S, &error));
    must(sampler_seal(sampler, a, 9 * S));
    got = account(a);
    assert_string_equal(got.mounts.items[0].mount, "/image");
    step_account_clear(&got);
}

/* Readings of 10 s give bins of 8 s. 10 s are one of them and a quarter of the next. */
static void test_time_line(void **state)
{
    uint32_t a;
    struct step_account got;
    const struct timeline *t;

    (void)state;
    must(probe_add(probe, 100, 3, 2, &a, &error));
    must(sampler_add(sampler, a, 5 * S, 1000 * S, NULL, &error)); /* the clock says 1000 s */
    touch(a, NFS, "nfs4");
    fake_probe_count(probe, a, NFS, IO_WRITE, 10, 1000);
    fake_probe_count(probe, a, NFS, IO_STAT, 10, 0);
    must(sampler_read(sampler, 15 * S, &error));
    must(sampler_read(sampler, 25 * S, &error)); /* quiet */
    fake_probe_count(probe, a, NFS, IO_WRITE, 1, 4000);
    must(sampler_peek(sampler, a, 27 * S, &error));
    fake_probe_count(probe, a, NFS, IO_WRITE, 1, 7);
    must(sampler_finish(sampler, a, 29 * S, &error));
    got = account(a);
    t = &mount_at(&got, "/home")->timeline;
    assert_int_equal(t->width_s, 8);
    assert_int_equal(t->start_s, 1000);
    assert_int_equal(t->n, 3);
    assert_int_equal(t->bins[0].of[TIMELINE_WRITE], 8000);
    assert_int_equal(t->bins[0].of[TIMELINE_META], 8);
    assert_int_equal(t->bins[1].of[TIMELINE_WRITE], 2000);
    assert_int_equal(t->bins[2].of[TIMELINE_WRITE], 4007); /* 1020 s to 1024 s */
    step_account_clear(&got);
}

/* What was done on "(unknown)" was done then, not when the name came. */
static void test_time_line_of_a_late_name(void **state)
{
    uint32_t a = tag(100, 0);
    struct step_account got;

    (void)state;
    task_begin();
    mounts_set_lines(mounts, 0);
    touch(a, NFS, "nfs4");
    fake_probe_count(probe, a, NFS, IO_WRITE, 1, 600);
    fake_probe_sight(probe, a, PRIVATE, "squashfs")->pid = 55;
    fake_probe_count(probe, a, PRIVATE, IO_WRITE, 1, 500);
    must(sampler_read(sampler, 8 * S, &error));
    got = account(a);
    assert_int_equal(written(&got, "(unknown)", 0, 8), 500);
    step_account_clear(&got);
    task_end();
    fake_probe_count(probe, a, PRIVATE, IO_WRITE, 1, 90);
    fake_probe_count(probe, a, NFS, IO_WRITE, 1, 60000);
    must(sampler_finish(sampler, a, 16 * S, &error));
    got = account(a);
    assert_int_equal(written(&got, "/image", 0, 8), 500);
    assert_int_equal(written(&got, "/image", 8, 16), 90);
    assert_int_equal(written(&got, "/home", 0, 8), 600);
    assert_int_equal(written(&got, "/home", 8, 16), 60000);
    step_account_clear(&got);
}

/* What a process stored that knew of no time lines is spread over all the time until then. */
static void test_time_line_after_an_upgrade(void **state)
{
    struct step_account before, got;
    uint32_t a = tag(100, 0);

    (void)state;
    touch(a, EXT4, "ext4");
    fake_probe_count(probe, a, EXT4, IO_WRITE, 16, 100);
    must(sampler_read(sampler, 16 * S, &error));
    before = account(a);
    timeline_clear(&before.mounts.items[0].timeline);
    sampler_destroy(sampler);
    must(sampler_create(&sampler, probe, mounts, 10 * S, &error));
    must(sampler_add(sampler, a, 0, 0, &before, &error));
    fake_probe_count(probe, a, EXT4, IO_WRITE, 1, 7);
    must(sampler_read(sampler, 24 * S, &error));
    got = account(a);
    assert_int_equal(written(&got, "/", 0, 8), 800);
    assert_int_equal(written(&got, "/", 8, 16), 800);
    assert_int_equal(written(&got, "/", 16, 24), 7);
    step_account_clear(&before);
    step_account_clear(&got);
}

static void test_forget(void **state)
{
    struct step_account got = {0};
    uint32_t a = tag(100, 0), b = tag(50, 0);

    (void)state;
    sampler_forget(sampler, a);
    sampler_forget(sampler, a);
    assert_int_equal(sampler_account(sampler, a, &got), -ENOENT);
    assert_null(sampler_mounts(sampler, a));
    assert_non_null(sampler_mounts(sampler, b));
    assert_int_equal(sampler_finish(sampler, a, S, &error), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_totals_peaks_and_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_losses_are_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_blind_probe_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_hook_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_missing_feature_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_next_process_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_number_of_another, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrapped_histograms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failed_reading_keeps_the_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_task_knows_the_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_name_that_nobody_knows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_name_that_comes_with_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time_line_of_a_late_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time_line_after_an_upgrade, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
    };
    int r;

    make_proc();
    r = cmocka_run_group_tests(tests, NULL, NULL);
    remove_proc();
    return r;
}
