/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each allocation, read and write of the store fails once: it is complete or unchanged afterwards,
 * and what it reads is exact or an error. */
#define _GNU_SOURCE /* open_memstream */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/store_impl.h"
#include "report/json/json.h"
#include "tests/unit/fault.h"

#define HOUR (3600 * SECOND)
/* The rows of the old step of job 7 have this scale, those of the new one the other. */
#define OLD 3
#define NEW 11

static char *before, *after; /* the rows of the database without a fault */
static struct job_account **found;
static char *expected;

/* --- scenarios -------------------------------------------------------------------------------- */

static void finish(void)
{
    store_close(opened);
    opened = NULL;
    folder_remove(&directory);
}

static int open_it(struct error *error)
{
    return store_open(
        &opened, &(struct store_options){.path = directory.store, .keep_ns = 24 * HOUR}, error);
}

static void put_step(uint32_t number, uint64_t scale)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    step_make(&step, number, NOW, scale);
    put_rows(job, &step, true);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* One job, incomplete and ended, with two steps, and a row in an outbox. */
static void prepare_job(void)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    folder_make(&directory);
    assert_ok(open_it(&error), error);
    job->ended = true;
    job->end_ns = NOW + HOUR;
    job->unsupported = 1u << IO_COPY_READ | 1u << IO_STAT;
    assert_int_equal(completeness_add(&job->completeness, "restart", 2, 1u << IO_READ), 0);
    for (uint32_t n = 0; n < 2; n++) {
        step_make(&step, n, NOW, OLD);
        step_add_mpi(&step, OLD);
        assert_int_equal(completeness_add(&step.completeness, "late", 1, 1u << IO_WRITE), 0);
        put_rows(job, &step, true);
        step_account_clear(&step);
    }
    job_account_destroy(job);
}

static struct job_account *job;
static struct step_account step;

static void prepare_write(void)
{
    prepare_job();
    job = job_make(7, NOW);
    job->ended = true;
    job->end_ns = NOW + 2 * HOUR;
    assert_int_equal(completeness_add(&job->completeness, "pause", 5, 1u << IO_OPEN), 0);
    step_make(&step, 1, NOW, NEW);
    step_add_mpi(&step, NEW);
    assert_int_equal(completeness_add(&step.completeness, "pause", 1, 1u << IO_OPEN), 0);
}

/* Replaces the job and one of its steps, and adds the job to the baseline and to an outbox. */
static int run_write(struct error *error)
{
    int r = store_begin(opened, true, error);

    if (r == 0)
        r = store_put_job(opened, job, error);
    if (r == 0)
        r = store_put_step(opened, &job->key, &step, true, error);
    if (r == 0)
        r = store_put_baseline(opened, &job->key, error);
    if (r == 0)
        r = store_outbox_put(opened, &job->key, &step, "sink", error);
    if (r == 0)
        return store_commit(opened, error);
    store_rollback(opened);
    return r;
}

/* The rows are those before or after the run; the same connection then writes what is missing. */
static void check_rows(int (*run)(struct error *error), int r)
{
    char *rows = store_rows();
    bool done = strcmp(rows, after) == 0;
    struct error error;

    assert_store_rows(rows, r < 0 && !done ? before : after);
    free(rows);
    if (!done)
        assert_ok(run(&error), error);
    rows = store_rows();
    assert_store_rows(rows, after);
    free(rows);
}

static void check_write(int r, bool hit)
{
    (void)hit;
    check_rows(run_write, r);
    step_account_clear(&step);
    job_account_destroy(job);
    finish();
}

/* Without a transaction of the caller: a step of another scale. */
static int run_step(struct error *error)
{
    return store_put_step(opened, &job->key, &step, true, error);
}

static void check_step(int r, bool hit)
{
    (void)hit;
    check_rows(run_step, r);
    step_account_clear(&step);
    job_account_destroy(job);
    finish();
}

static void record(void (*prepare)(void), int (*run)(struct error *error), void (*clean)(void))
{
    struct error error;

    prepare();
    before = store_rows();
    assert_ok(run(&error), error);
    after = store_rows();
    if (clean)
        clean();
    finish();
}

static void clean_step(void)
{
    step_account_clear(&step);
    job_account_destroy(job);
}

static void forget(void)
{
    free(before);
    free(after);
    before = after = NULL;
}

static void each_kind(const struct fault_scenario *s, const unsigned steps[FAULT_SQLITE_FULL + 1])
{
    for (int kind = FAULT_MEMORY; kind <= FAULT_SQLITE_FULL; kind++)
        if (steps[kind])
            fault_each(kind, s, steps[kind]);
}

static void test_write(void **state)
{
    static const struct fault_scenario writing = {"write a job", prepare_write, run_write,
                                                  check_write};
    static const struct fault_scenario one = {"write a step", prepare_write, run_step, check_step};
    static const unsigned steps[] = {[FAULT_MEMORY] = 1,
                                     [FAULT_SQLITE_MEMORY] = 41,
                                     [FAULT_SQLITE_IO] = 1,
                                     [FAULT_SQLITE_FULL] = 1};

    (void)state;
    record(prepare_write, run_write, clean_step);
    each_kind(&writing, steps);
    forget();
    record(prepare_write, run_step, clean_step);
    each_kind(&one, steps);
    forget();
}

/* --- reading ---------------------------------------------------------------------------------- */

static int run_read(struct error *error)
{
    found = NULL;
    return store_jobs(opened, "linux", 7, true, UINT32_MAX, &found, error);
}

static char *found_text(void)
{
    char *text = report_json_text(found[0], REPORT_STEPS | REPORT_TIMELINE);

    assert_non_null(text);
    store_jobs_free(found);
    return text;
}

static void check_read(int r, bool hit)
{
    struct error error;
    char *text;

    (void)hit;
    if (r < 0)
        assert_ok(run_read(&error), error);
    text = found_text();
    assert_string_equal(text, expected);
    free(text);
    finish();
}

static void test_read(void **state)
{
    static const struct fault_scenario reading = {"read a job", prepare_job, run_read, check_read};
    static const unsigned steps[] = {[FAULT_MEMORY] = 1,
                                     [FAULT_SQLITE_MEMORY] = 3,
                                     [FAULT_SQLITE_IO] = 1,
                                     [FAULT_SQLITE_FULL] = 0};
    struct error error;

    (void)state;
    prepare_job();
    assert_ok(run_read(&error), error);
    expected = found_text();
    finish();
    each_kind(&reading, steps);
    free(expected);
}

/* --- the end of a transaction ----------------------------------------------------------------- */

static int allow(void *arg, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)arg, (void)action, (void)a, (void)b, (void)c, (void)d;
    return SQLITE_OK;
}

/* End a read transaction while SQLite has no memory; returns whether that needed some. */
static bool end_reading(struct store *store, bool expired)
{
    struct error error;
    bool begun, hit;

    assert_ok(store_snapshot(store, &begun, &error), error);
    assert_true(begun);
    if (expired) /* of all prepared statements */
        assert_int_equal(sqlite3_set_authorizer(store->db, allow, NULL), SQLITE_OK);
    fault_arm(FAULT_SQLITE_MEMORY, 1);
    store_snapshot_end(store, begun);
    hit = fault_disarm();
    if (hit) { /* and still not: nothing begins in the old transaction */
        fault_arm(FAULT_SQLITE_MEMORY, 1);
        assert_int_equal(store_snapshot(store, &begun, &error), -ENOMEM);
        assert_true(fault_disarm());
        assert_false(begun);
    }
    assert_ok(store_snapshot(store, &begun, &error), error);
    assert_true(begun);
    store_snapshot_end(store, begun);
    return hit;
}

static void test_end_without_memory(void **state)
{
    struct store *reader;
    struct error error;

    (void)state;
    prepare_job();
    assert_ok(store_open_reader(&reader, directory.store, &error), error);
    assert_false(end_reading(opened, false));
    assert_false(end_reading(reader, false));
    assert_true(end_reading(opened, true));
    assert_ok(store_begin(opened, true, &error), error);
    store_rollback(opened);
    store_close(reader);
    finish();
}

/* --- opening and migration -------------------------------------------------------------------- */

static void prepare_directory(void)
{
    folder_make(&directory);
}

static void check_open(int r, bool hit)
{
    struct error error;
    char *rows;

    (void)r, (void)hit;
    store_close(opened);
    assert_ok(open_it(&error), error);
    put_step(0, OLD);
    store_close(opened);
    opened = NULL;
    rows = store_rows();
    assert_store_rows(rows, after);
    free(rows);
    finish();
}

static int run_open_and_put(struct error *error)
{
    int r = open_it(error);

    if (r == 0)
        put_step(0, OLD);
    return r;
}

static void test_open(void **state)
{
    static const struct fault_scenario opening = {"make a store", prepare_directory, open_it,
                                                  check_open};
    static const unsigned steps[] = {[FAULT_MEMORY] = 1,
                                     [FAULT_FILE] = 1,
                                     [FAULT_SQLITE_MEMORY] = 149,
                                     [FAULT_SQLITE_IO] = 5,
                                     [FAULT_SQLITE_FULL] = 5};

    (void)state;
    record(prepare_directory, run_open_and_put, NULL);
    each_kind(&opening, steps);
    forget();
}

/* --- retention -------------------------------------------------------------------------------- */

/* Job 7 is older than the store keeps, job 8 is not. */
static void prepare_sweep(void)
{
    struct job_account *young = job_make(8, NOW + 40 * HOUR);
    struct step_account step_8;

    prepare_job();
    young->ended = true;
    young->end_ns = NOW + 41 * HOUR;
    step_make(&step_8, 0, young->start_ns, NEW);
    put_rows(young, &step_8, true);
    step_account_clear(&step_8);
    job_account_destroy(young);
}

static int run_sweep(struct error *error)
{
    bool more = true;
    int r = 0;

    while (r == 0 && more)
        r = store_sweep(opened, NOW + 42 * HOUR, &more, error);
    return r;
}

static void check_sweep(int r, bool hit)
{
    struct error error;
    char *rows;

    (void)hit;
    if (r < 0)
        assert_ok(run_sweep(&error), error);
    rows = store_rows();
    assert_store_rows(rows, after);
    free(rows);
    finish();
}

static void test_sweep(void **state)
{
    static const struct fault_scenario sweeping = {"delete a job", prepare_sweep, run_sweep,
                                                   check_sweep};
    static const unsigned steps[] = {[FAULT_MEMORY] = 0,
                                     [FAULT_SQLITE_MEMORY] = 61,
                                     [FAULT_SQLITE_IO] = 3,
                                     [FAULT_SQLITE_FULL] = 1};

    (void)state;
    record(prepare_sweep, run_sweep, NULL);
    each_kind(&sweeping, steps);
    forget();
}

static int set_up(void **state)
{
    (void)state;
    fault_sqlite_set_up();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_without_memory),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_sweep),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
