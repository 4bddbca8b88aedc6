/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user who floods the store: the rows of a step are bounded and their sums exact, the history of
 * other users stays, and the file does not grow beyond its limit. */
#define _GNU_SOURCE /* asprintf */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "collector/store/store_impl.h"
#include "collector/store/writer.h"
#include "common/clock.h"

#define HOUR (3600 * SECOND)
#define KEEP (2 << 20)
#define FULL (KEEP + (1 << 20))
#define ALICE 1000 /* floods the store */
#define BOB 2000
#define MOUNTS 64 /* limits of collector/store/put.c */
#define NAMES (16 << 10)

static void open_with(uint64_t keep_bytes)
{
    struct error error;

    assert_ok(store_open(&opened,
                         &(struct store_options){.path = directory.store, .keep_bytes = keep_bytes},
                         &error),
              error);
}

static int64_t number(const char *sql)
{
    struct error error;
    int64_t value = -1;

    assert_ok(store_number(opened, sql, &value, &error), error);
    return value;
}

/* --- one step ------------------------------------------------------------------------------------
 */

/* Add `count` private mounts with names of `length` bytes. The i-th has i + 1 writes and failed
 * opens. */
static void add_mounts(struct step_account *step, unsigned count, unsigned length)
{
    for (unsigned i = 0; i < count; i++) {
        _free_ char *name = NULL;
        struct io_mount *m;
        struct io_counter *c;
        struct timeline_bin all;

        assert_true(asprintf(&name, "/%0*u", (int)length - 1, i) > 0);
        m = io_mounts_get(&step->mounts, name, "tmpfs", "none", true);
        assert_non_null(m);
        c = io_account_op(&m->io, IO_WRITE);
        assert_non_null(c);
        c->requests = i + 1;
        c->bytes = 4096ull * i + 7;
        c->time_ns = 1000ull * i + 3;
        c->max_ns = 100 + i;
        c->size_log2[12] = c->latency_log2[i % IO_BUCKETS] = i + 1;
        c = io_account_op(&m->io, IO_OPEN);
        assert_non_null(c);
        c->requests = c->errors = i + 1;
        assert_int_equal(io_counter_errno(c, 1 + (int)i % 100, i + 1), 0);
        m->cache.miss_bytes = i;
        m->peaks[IO_WRITE].bytes_per_s = 1000 - i;
        all = io_account_now(&m->io);
        assert_int_equal(timeline_spread(&m->timeline, 1, step->tagged_at_ns,
                                         step->tagged_at_ns + step->elapsed_ns, &all),
                         0);
    }
}

/* The sum of all mounts. */
static void add_up(const struct io_mounts *mounts, struct io_mount *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *m = &mounts->items[i];

        assert_int_equal(io_account_add(&ret->io, &m->io), 0);
        io_cache_add(&ret->cache, &m->cache);
        assert_int_equal(timeline_add(&ret->timeline, &m->timeline), 0);
    }
}

static void assert_same_sums(const struct io_mounts *a, const struct io_mounts *b)
{
    struct io_mount x, y;

    add_up(a, &x);
    add_up(b, &y);
    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *c = x.io.ops[op], *d = y.io.ops[op];

        assert_int_equal(c != NULL, d != NULL);
        for (size_t i = 0; c && i < IO_FIELD_COUNT; i++)
            if (io_fields[i].kind != IO_FIELD_ERRNOS)
                assert_memory_equal(io_field_of(&io_fields[i], c), io_field_of(&io_fields[i], d),
                                    (io_fields[i].kind == IO_FIELD_HISTOGRAM ? IO_BUCKETS : 1) *
                                        sizeof(uint64_t));
        assert_int_equal(c ? c->n_errnos : 0, d ? d->n_errnos : 0);
        for (size_t i = 0; c && i < c->n_errnos; i++) {
            assert_int_equal(c->errnos[i].code, d->errnos[i].code);
            assert_int_equal(c->errnos[i].count, d->errnos[i].count);
        }
    }
    assert_memory_equal(&x.cache, &y.cache, sizeof(x.cache));
    assert_int_equal(x.timeline.n, y.timeline.n);
    assert_memory_equal(x.timeline.bins, y.timeline.bins, x.timeline.n * sizeof(*x.timeline.bins));
    io_account_clear(&x.io);
    io_account_clear(&y.io);
    timeline_clear(&x.timeline);
    timeline_clear(&y.timeline);
}

static size_t count_named(const struct io_mounts *mounts, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < mounts->n; i++)
        n += !strcmp(mounts->items[i].mount, name);
    return n;
}

static void assert_stored(const struct job_account *job, const struct step_account *step)
{
    struct job_account **found = jobs_found(job->key.jobid, false, UINT32_MAX);

    assert_non_null(found[0]);
    assert_int_equal(found[0]->n_steps, 1);
    assert_same_sums(&found[0]->steps[0].mounts, &step->mounts);
    assert_same_sums(&found[0]->mounts, &step->mounts);
    assert_int_equal(count_named(&found[0]->mounts, "(other mounts)"), 1);
    assert_int_equal(count_named(&found[0]->mounts, "/scratch"), 1);
    assert_true(found[0]->mounts.n <= MOUNTS + 1);
    store_jobs_free(found);
}

static const char names[] = "SELECT sum(length(mount) + length(fstype) + length(source)) FROM mount"
                            " WHERE mount <> '(other mounts)'";
static int64_t sum_of_writes(const char *table)
{
    char sql[128];

    (void)snprintf(sql, sizeof(sql), "SELECT sum(requests) FROM %s WHERE op = 'write'", table);
    return number(sql);
}

/* 1,000 mounts: 64 rows and the sum of the others. It stays exact if the step is written again. */
static void test_many_mounts(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 1);
    add_mounts(&step, 1000, 10);
    assert_int_equal(io_mounts_copy(&step.mounts, &job->mounts), 0);
    for (int written = 0; written < 3; written++) {
        put_rows(job, &step, written == 2);
        assert_stored(job, &step);
        assert_int_equal(number("SELECT count(*) FROM step_mount"), MOUNTS + 1);
        assert_int_equal(number("SELECT count(*) FROM timeline"), MOUNTS + 1);
        assert_int_equal(number("SELECT count(*) FROM job_mount"), MOUNTS + 1);
        assert_true(number("SELECT count(DISTINCT mount_id) FROM peak") <= MOUNTS + 1);
        assert_int_equal(number("SELECT write_requests FROM step"), 500503);
        assert_int_equal(number("SELECT write_requests FROM job"), 500503);
        assert_int_equal(number("SELECT sum(write_requests) FROM job_mount"), 500503);
        assert_int_equal(number("SELECT sum(errors) FROM job_mount"), 500503);
    }
    assert_int_equal(sum_of_writes("io"), 500502);
    assert_int_equal(sum_of_writes("node_total"), 500502);
    /* All of the others have this type. */
    assert_int_equal(number("SELECT requests FROM node_total WHERE mount = '(private)'"
                            " AND fstype = 'tmpfs' AND op = 'write'"),
                     500502);
    /* Those that caused the most wait have rows of their own. */
    assert_int_equal(number("SELECT count(*) FROM mount WHERE mount = '/000000999'"), 1);
    assert_int_equal(number("SELECT count(*) FROM mount WHERE mount = '/000000001'"), 0);
    assert_int_equal(number("SELECT peak_bytes_per_s FROM io JOIN mount ON id = mount_id"
                            " WHERE op = 'write' AND mount = '(other mounts)'"),
                     1000);
    assert_int_equal(number("SELECT bytes_per_s FROM peak JOIN mount ON id = mount_id"
                            " WHERE op = 'write' AND mount = '(other mounts)'"),
                     1000);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* Users can invent types of file systems (fuse.NAME). */
static void test_many_types(void **state)
{
    struct step_account step;

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        struct job_account *job = job_make(100 + i, NOW);
        char type[32];

        (void)snprintf(type, sizeof(type), "fuse.%03u", i);
        step_make(&step, 0, NOW, 1);
        io_account_op(&io_mounts_get(&step.mounts, "/m", type, "s", true)->io, IO_READ)->requests =
            i + 1;
        for (int written = 0; written < 2; written++) /* the second replaces the first */
            put_rows(job, &step, true);
        step_account_clear(&step);
        job_account_destroy(job);
    }
    assert_true(number("SELECT count(DISTINCT fstype) FROM node_total WHERE mount = '(private)'") <=
                IO_PRIVATE_TYPES + 1);
    assert_int_equal(number("SELECT requests FROM node_total WHERE fstype = 'fuse.000'"), 1);
    assert_int_equal(number("SELECT count(*) FROM node_total WHERE fstype = '(other)'"
                            " AND requests > 0"),
                     1);
    assert_int_equal(number("SELECT sum(requests) FROM node_total WHERE fstype LIKE 'fuse.%'"
                            " OR fstype = '(other)'"),
                     300 * 301 / 2);
}

static void test_long_names(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 1);
    add_mounts(&step, 50, 4000);
    put_rows(job, &step, true);
    assert_stored(job, &step);
    assert_true(number(names) <= NAMES);
    assert_true(number(names) > NAMES - 5000);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* An ordinary step is stored as it is. */
static void test_few_mounts(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 1);
    add_mounts(&step, MOUNTS - 2, 100);
    put_rows(job, &step, true);
    assert_int_equal(number("SELECT count(*) FROM step_mount"), MOUNTS);
    assert_int_equal(number("SELECT count(*) FROM mount WHERE mount LIKE '(%'"), 0);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* Mounts of several types have a sum of no type. */
static void test_several_types(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 1);
    add_mounts(&step, 100, 10);
    for (size_t i = 2; i < step.mounts.n; i++)
        if (i % 2) {
            free(step.mounts.items[i].fstype);
            step.mounts.items[i].fstype = strdup("ramfs");
        }
    put_rows(job, &step, true);
    assert_stored(job, &step);
    assert_int_equal(number("SELECT count(*) FROM mount WHERE mount = '(other mounts)'"
                            " AND fstype = 'unknown' AND source = 'none' AND private = 1"
                            " AND labelled = 0"),
                     1);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* --- two users -----------------------------------------------------------------------------------
 */

/* A job of `steps` steps with `mounts` mounts each. end_ns 0: it is running. */
static void put_flood(uint32_t uid, uint32_t jobid, uint64_t end_ns, uint32_t steps,
                      unsigned mounts)
{
    struct job_account *job = job_make(jobid, (end_ns ? end_ns : NOW) - HOUR / 4);
    struct step_account step;
    struct error error;

    job->uid = uid;
    job->ended = end_ns != 0;
    job->end_ns = end_ns;
    assert_ok(store_begin(opened, false, &error), error);
    assert_ok(store_put_job(opened, job, &error), error);
    for (uint32_t n = 0; n < steps; n++) {
        step_make(&step, n, job->start_ns + n, 1);
        add_mounts(&step, mounts, 20);
        assert_ok(store_put_step(opened, &job->key, &step, true, &error), error);
        step_account_clear(&step);
    }
    assert_ok(store_commit(opened, &error), error);
    job_account_destroy(job);
}

/* The stacks of the first step of such a job. */
static void put_stacks(uint32_t jobid)
{
    struct job_account *job = job_make(jobid, NOW - HOUR / 4);
    struct stack stack = {(char *)"app;main", {3, 300}};
    const struct stack_profile profile = {.stacks = &stack, .n = 1, .other = {1, 50}};
    struct step_account step;
    struct error error;

    step_make(&step, 0, job->start_ns, 1);
    assert_ok(store_put_stacks(opened, &job->key, &step, &profile, &error), error);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* 30 ordinary jobs, which are the oldest of all. */
static void put_history_of_bob(void)
{
    for (uint32_t i = 0; i < 30; i++)
        put_flood(BOB, 1 + i, NOW - (100 - i) * HOUR, 2, 3);
}

static void assert_bob_lost_nothing(void)
{
    assert_int_equal(number("SELECT count(*) FROM job WHERE uid = 2000"), 30);
    assert_int_equal(number("SELECT count(*) FROM step JOIN job ON job.id = job_id"
                            " WHERE uid = 2000"),
                     60);
    assert_int_equal(number("SELECT count(*) FROM step_mount JOIN step ON step.id = step_id"
                            " JOIN job ON job.id = job_id WHERE uid = 2000"),
                     300);
}

static void sweep(void)
{
    bool more = true;
    struct error error;

    while (more)
        assert_ok(store_sweep(opened, NOW, &more, &error), error);
}

static int64_t used(void)
{
    return number("PRAGMA page_count") * 4096 - number("PRAGMA freelist_count") * 4096;
}

/* The counted shares are those of the rows. */
static void assert_shares(void)
{
    const char *sum = "SELECT ifnull(sum(value), 0) FROM state WHERE key LIKE 'share/%'";
    const char *alice = "SELECT ifnull(sum(value), 0) FROM state WHERE key = 'share/1000'";
    int64_t all = number(sum), one = number(alice);
    struct error error;

    assert_ok(store_put_state(opened, "shares", NULL, &error), error);
    assert_ok(store_count_shares(opened, &error), error);
    assert_int_equal(number(sum), all);
    assert_int_equal(number(alice), one);
    assert_int_equal(number("SELECT count(*) FROM state WHERE key LIKE 'share/%'"),
                     number("SELECT count(DISTINCT uid) FROM job"));
}

/* By size, the oldest jobs of the user with the most go first. */
static void test_by_share(void **state)
{
    int64_t jobs;

    (void)state;
    open_with(KEEP);
    put_history_of_bob();
    for (uint32_t i = 0; i < 200; i++)
        put_flood(ALICE, 100 + i, NOW - 20 * HOUR + i * SECOND, 1, 60);
    assert_true(used() > KEEP);
    sweep();
    assert_true(used() <= KEEP);
    assert_true(used() > KEEP - KEEP / 10);
    assert_int_equal(store_deleted_early(opened), 0);
    assert_bob_lost_nothing();
    jobs = number("SELECT count(*) FROM job WHERE uid = 1000");
    assert_int_equal(number("SELECT max(jobid) FROM job"), 299);
    assert_int_equal(number("SELECT min(jobid) FROM job WHERE uid = 1000"), 300 - jobs);
    assert_shares();
}

/* Users with similar shares lose their oldest jobs by age. */
static void test_by_age_among_equals(void **state)
{
    (void)state;
    open_with(KEEP);
    for (uint32_t i = 0; i < 300; i++)
        put_flood(i % 2 ? ALICE : BOB, i, NOW - (1000 - i) * HOUR, 1, 60);
    sweep();
    assert_true(used() <= KEEP);
    assert_int_equal(number("SELECT count(*) FROM job"),
                     300 - number("SELECT min(jobid) FROM job"));
    assert_true(number("SELECT count(*) FROM job WHERE uid = 2000") > 10);
    assert_shares();
}

/* All jobs of the flood ended within the last hour. */
static void test_flood_within_the_last_hour(void **state)
{
    uint64_t early;
    struct stat st;

    (void)state;
    open_with(KEEP);
    put_history_of_bob();
    for (uint32_t i = 0; i < 400; i++) {
        bool more = true;
        struct error error;

        put_flood(ALICE, 100 + i, NOW - SECOND + i, 2, 200);
        while (more && store_is_full(opened, &error) > 0)
            assert_ok(store_sweep(opened, NOW, &more, &error), error);
        assert_int_equal(stat(directory.store, &st), 0);
        assert_true(st.st_size < FULL + (1 << 20));
        assert_true(used() <= FULL);
    }
    assert_bob_lost_nothing();
    assert_int_equal(number("SELECT max(jobid) FROM job"), 499);
    early = store_deleted_early(opened);
    /* One job may be hidden, with a part of its steps deleted. */
    assert_int_equal(early,
                     400 - number("SELECT count(*) FROM job WHERE uid = 1000 AND expired = 0"));
    assert_true(early > 0);
    sweep(); /* between both sizes, the last hour stays */
    assert_int_equal(store_deleted_early(opened), early);
    assert_true(used() > KEEP);
    assert_bob_lost_nothing();
    assert_shares();
}

/* A running job cannot be deleted. Beyond the limit, its steps have one row each. */
static void test_running_flood(void **state)
{
    int64_t requests;

    (void)state;
    open_with(KEEP);
    put_history_of_bob();
    put_flood(ALICE, 100, 0, 600, 100);
    assert_true(used() < FULL + (1 << 20));
    sweep();
    assert_bob_lost_nothing();
    assert_int_equal(number("SELECT steps FROM job WHERE jobid = 100"), 600);
    requests = number("SELECT write_requests FROM job WHERE jobid = 100");
    assert_int_equal(requests, 600 * (100 * 101 / 2 + 3));
    assert_int_equal(number("SELECT sum(requests) FROM io JOIN step ON step.id = step_id"
                            " JOIN job ON job.id = job_id WHERE jobid = 100"
                            " AND op IN ('write', 'copy_write')"),
                     requests);
    assert_int_equal(number("SELECT count(*) FROM step_mount WHERE step_id ="
                            " (SELECT max(id) FROM step)"),
                     1);
    put_flood(BOB, 101, NOW - HOUR, 1, 3); /* others are stored as always */
    assert_int_equal(number("SELECT count(*) FROM step_mount WHERE step_id ="
                            " (SELECT max(id) FROM step)"),
                     5);
    put_stacks(100);
    assert_int_equal(number("SELECT count(*) FROM stack"), 0);
    assert_int_equal(number("SELECT other_calls * 1000 + other_ns FROM stack_profile"), 4350);
    assert_shares();
}

/* A step that is written again counts once. */
static void test_written_again(void **state)
{
    (void)state;
    open_with(0);
    put_flood(ALICE, 1, 0, 3, 50);
    put_flood(ALICE, 1, 0, 4, 10);
    put_flood(BOB, 2, NOW, 1, 10);
    assert_shares();
}

/* A job with many steps and mounts: writing a step again takes no longer. */
static void test_many_steps_with_own_mounts(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    sqlite3_stmt *tidy;

    (void)state;
    open_with(0);
    for (uint32_t n = 0; n < 100; n++) {
        step_make(&step, n, NOW, 1);
        for (int i = 0; i < 20; i++) {
            _free_ char *name = NULL;
            struct io_mount *m;

            assert_true(asprintf(&name, "/%u/%d", n, i) > 0);
            m = io_mounts_get(&step.mounts, name, "tmpfs", "none", true);
            assert_non_null(m);
            io_account_op(&m->io, IO_STAT)->requests = 1;
        }
        put_rows(job, &step, true);
        if (n == 99)
            put_rows(job, &step, true);
        step_account_clear(&step);
    }
    tidy = opened->statements[SQL_JOB_MOUNT_TIDY];
    assert_non_null(tidy);
    assert_true(sqlite3_stmt_status(tidy, SQLITE_STMTSTATUS_VM_STEP, 0) < 2002 * 40);
    assert_int_equal(number("SELECT count(*) FROM job_mount"), 2002);
    job_account_destroy(job);
}

struct flood {
    uint32_t jobid;
    uint64_t now_ns;
};

static int run_flood(struct store *store, void *arg, struct error *error)
{
    const struct flood *flood = arg;
    struct job_account *job = job_make(flood->jobid, flood->now_ns - 10 * SECOND);
    struct step_account step;
    int r;

    job->ended = true;
    job->end_ns = flood->now_ns;
    step_make(&step, 0, job->start_ns, 1);
    add_mounts(&step, 100, 20);
    r = store_put_job(store, job, error);
    if (r == 0)
        r = store_put_step(store, &job->key, &step, true, error);
    step_account_clear(&step);
    job_account_destroy(job);
    return r;
}

/* The writer does not wait for the next sweep. */
static void test_writer_makes_room(void **state)
{
    struct writer *writer = NULL;
    struct flood flood = {.now_ns = clock_ns(CLOCK_REALTIME)};
    struct writer_stats stats;
    struct error error;
    struct stat st;

    (void)state;
    open_with(KEEP);
    put_history_of_bob();
    assert_ok(writer_create(&writer, opened, 0, 3600000, &error), error);
    opened = NULL;
    for (flood.jobid = 100; flood.jobid < 300; flood.jobid++) {
        assert_int_equal(writer_submit(writer, false, run_flood, NULL, &flood), 0);
        assert_int_equal(writer_flush(writer, 10000), 0);
        assert_int_equal(stat(directory.store, &st), 0);
        assert_true(st.st_size < FULL + (1 << 20));
    }
    writer_stats(writer, &stats);
    assert_true(stats.deleted_early > 0);
    writer_destroy(writer);
    open_with(0);
    assert_true(used() <= FULL);
    assert_bob_lost_nothing();
    assert_int_equal(number("SELECT max(jobid) FROM job"), 299);
    /* It may have deleted more since then, and a hidden job still has rows. */
    assert_true(stats.deleted_early <=
                200 -
                    (uint64_t)number("SELECT count(*) FROM job WHERE uid = 1000 AND NOT expired"));
}

#define LIMIT_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_many_mounts),
        STORE_TEST(test_many_types),
        STORE_TEST(test_long_names),
        STORE_TEST(test_few_mounts),
        STORE_TEST(test_several_types),
        LIMIT_TEST(test_by_share),
        LIMIT_TEST(test_by_age_among_equals),
        LIMIT_TEST(test_flood_within_the_last_hour),
        LIMIT_TEST(test_running_flood),
        LIMIT_TEST(test_written_again),
        LIMIT_TEST(test_many_steps_with_own_mounts),
        LIMIT_TEST(test_writer_makes_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
