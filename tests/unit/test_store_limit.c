/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user who floods the store: the rows of a step are bounded and their sums exact. */
#define _GNU_SOURCE /* asprintf */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/store/store_impl.h"

#define MOUNTS 64 /* limits of collector/store/put.c */
#define NAMES (16 << 10)

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_many_mounts),
        STORE_TEST(test_long_names),
        STORE_TEST(test_few_mounts),
        STORE_TEST(test_several_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
