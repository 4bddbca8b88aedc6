/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The baselines of mounts, from the medians of stored jobs. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdlib.h>
#include <time.h>

#include "collector/store/store_impl.h"

#define DAY (24 * 3600 * SECOND)
#define MS 1000000ull

/* Add `calls` of an operation, each of `ns`. */
static void calls(struct io_mount *m, enum io_op op, uint64_t n, uint64_t ns)
{
    struct io_counter *c = io_account_op(&m->io, op);

    assert_non_null(c);
    c->requests += n;
    c->time_ns += n * ns;
    c->latency_log2[io_latency_bucket(ns)] += n;
}

static struct io_mount *mount_make(struct io_mounts *mounts)
{
    struct io_mount *m = io_mounts_get(mounts, "/scratch", "nfs4", "srv:/x", false);

    assert_non_null(m);
    return m;
}

/* A job of two steps that ended then. It has 100 reads; all but a few took `ns`. */
static void put_job(uint32_t jobid, uint64_t end_ns, uint64_t ns)
{
    struct job_account *job = job_make(jobid, end_ns - 10 * SECOND);
    struct error error;

    job->ended = true;
    job->end_ns = end_ns;
    for (uint32_t s = 0; s < 2; s++) {
        struct step_account step = {.het = HET_NONE,
                                    .step = s,
                                    .node = strdup("n1"),
                                    .tagged_at_ns = job->start_ns,
                                    .state = STEP_ENDED};
        struct io_mount *m = mount_make(&step.mounts);

        calls(m, IO_READ, s ? 60 : 40, ns);
        calls(m, IO_READ, 3, 500 * MS);
        calls(m, IO_OPEN, 4, MS); /* eight are too few for a median */
        put_rows(job, &step, true);
        step_account_clear(&step);
    }
    assert_ok(store_put_baseline(opened, &job->key, &error), error);
    assert_ok(store_put_baseline(opened, &job->key, &error),
              error); /* the second call does nothing */
    job_account_destroy(job);
}

static struct mount_baseline baseline(const struct io_mount *mount, uint32_t but)
{
    struct job_key key = {.cluster = (char *)"linux", .jobid = but};
    struct mount_baseline ret;
    struct error error;

    assert_ok(store_mount_baseline(opened, mount, but ? &key : NULL, NOW, &ret, &error), error);
    return ret;
}

static void test_quantiles(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    struct io_mount *m = mount_make(&mounts);
    struct mount_baseline n = baseline(m, 0);
    const uint64_t fast = io_latency_bound(io_latency_bucket(MS)),
                   slow = io_latency_bound(io_latency_bucket(40 * MS));

    (void)state;
    assert_int_equal(n.read.jobs, 0);
    assert_int_equal(n.read.q99_ns, 0);
    /* 199 jobs of 1 ms, over as many as 30 days, and two of 40 ms: 0.99 x 201 = 198.99. */
    for (uint32_t i = 0; i < 199; i++)
        put_job(100 + i, NOW - (uint64_t)(i % 30) * DAY, MS);
    put_job(1, NOW - DAY, 40 * MS);
    put_job(2, NOW - DAY, 40 * MS);
    n = baseline(m, 0);
    assert_int_equal(n.read.jobs, 201);
    assert_int_equal(n.read.q50_ns, fast);
    assert_int_equal(n.read.q99_ns, fast);
    assert_int_equal(n.open.jobs, 0);
    assert_int_equal(n.write.jobs, 0);
    put_job(3, NOW - DAY, 40 * MS);
    n = baseline(m, 0);
    assert_int_equal(n.read.jobs, 202);
    assert_int_equal(n.read.q99_ns, slow);
    /* Job 3 is excluded: it must not be compared with itself. */
    calls(m, IO_READ, 100, 40 * MS);
    n = baseline(m, 3);
    assert_int_equal(n.read.jobs, 201);
    assert_int_equal(n.read.q99_ns, fast);
    /* Job 4 is not counted, so excluding it changes nothing. */
    assert_int_equal(baseline(m, 4).read.jobs, 202);
}

static void test_other_mounts_and_old_days(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    struct io_mount *m = mount_make(&mounts);
    struct error error;
    int64_t left;
    bool more;

    (void)state;
    put_job(1, NOW - 29 * DAY, MS);
    put_job(2, NOW - 40 * DAY, MS);
    assert_int_equal(baseline(m, 0).read.jobs, 1);
    m->private = true;
    assert_int_equal(baseline(m, 0).read.jobs, 0);
    m->private = false;
    free(m->source);
    m->source = strdup("srv:/y");
    assert_int_equal(baseline(m, 0).read.jobs, 0);
    assert_ok(store_sweep(opened, NOW, &more, &error), error);
    assert_ok(store_number(opened, "SELECT count(*) FROM latency_day", &left, &error), error);
    assert_int_equal(left, 1);
}

/* A job that is read has the baselines without itself; and the baselines of all mounts. */
static void test_jobs_and_mounts(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts all = {0};
    struct job_account **jobs = NULL;
    struct error error;

    (void)state;
    for (uint32_t i = 1; i <= 5; i++)
        put_job(i, NOW - DAY, i == 1 ? 40 * MS : MS);
    assert_ok(store_jobs(opened, NULL, 1, false, UINT32_MAX, &jobs, &error), error);
    assert_int_equal(jobs[0]->mounts.items[0].baseline.read.jobs, 4);
    assert_int_equal(jobs[0]->mounts.items[0].baseline.read.q99_ns,
                     io_latency_bound(io_latency_bucket(MS)));
    store_jobs_free(jobs);
    assert_ok(store_baselines(opened, NOW, &all, &error), error);
    assert_int_equal(all.n, 1);
    assert_string_equal(all.items[0].mount, "/scratch");
    assert_int_equal(all.items[0].baseline.read.jobs, 5);
    assert_int_equal(all.items[0].baseline.read.q99_ns,
                     io_latency_bound(io_latency_bucket(40 * MS)));
}

/* The baseline does not keep jobs in the store, and deleting jobs does not change it. */
static void test_after_retention(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    struct io_mount *m = mount_make(&mounts);
    struct error error;
    bool more = true;

    (void)state;
    put_job(1, NOW - 20 * DAY, MS);
    store_close(opened);
    assert_ok(store_open(&opened,
                         &(struct store_options){.path = directory.store, .keep_ns = 10 * DAY},
                         &error),
              error);
    while (more)
        assert_ok(store_sweep(opened, NOW, &more, &error), error);
    assert_int_equal(baseline(m, 0).read.jobs, 1);
    for (more = true; more;)
        assert_ok(store_sweep(opened, NOW + 20 * DAY, &more, &error), error);
    assert_int_equal(baseline(m, 0).read.jobs, 0);
}

/* A step on `node` with 100 reads of `ns` each. */
static void put_node_step(const struct job_account *job, const char *node, uint64_t ns)
{
    struct step_account step = {
        .het = HET_NONE, .node = strdup(node), .tagged_at_ns = job->start_ns, .state = STEP_ENDED};

    calls(mount_make(&step.mounts), IO_READ, 100, ns);
    put_rows(job, &step, true);
    step_account_clear(&step);
}

static uint64_t median_of(const struct io_mount *m)
{
    return baseline(m, 0).read.jobs == 1 ? baseline(m, 0).read.q50_ns : 0;
}

/* An ended job on three nodes, of which the first has reported. */
static struct job_account *put_large(void)
{
    struct job_account *job = job_make(1, NOW - 30 * SECOND);
    struct error error;

    job->nodes_expected = 3;
    job->ended = true;
    job->end_ns = NOW;
    put_node_step(job, "n1", MS);
    assert_ok(store_put_baseline(opened, &job->key, &error), error);
    return job;
}

/* The job is counted once all nodes have reported, with all their latencies, and counted again if a
 * node reports again. */
static void test_nodes_that_report_late(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    struct io_mount *m = mount_make(&mounts);
    struct job_account *job = put_large();
    const uint64_t fast = io_latency_bound(io_latency_bucket(MS)),
                   slow = io_latency_bound(io_latency_bucket(40 * MS));
    struct error error;
    int64_t rows;

    (void)state;
    assert_int_equal(baseline(m, 0).read.jobs, 0);
    put_node_step(job, "n2", 40 * MS);
    assert_ok(store_put_node(opened, &job->key, "n2", &error), error);
    assert_int_equal(baseline(m, 0).read.jobs, 0);
    put_node_step(job, "n3", 40 * MS);
    assert_ok(store_put_node(opened, &job->key, "n3", &error), error);
    assert_int_equal(median_of(m), slow);
    assert_ok(store_put_node(opened, &job->key, "n3", &error), error);
    assert_int_equal(median_of(m), slow);
    put_node_step(job, "n2", MS);
    put_node_step(job, "n3", MS);
    assert_int_equal(baseline(m, 0).read.jobs, 0);
    assert_ok(store_put_node(opened, &job->key, "n3", &error), error);
    assert_int_equal(median_of(m), fast);
    assert_ok(store_number(opened, "SELECT count(*) FROM latency_day", &rows, &error), error);
    assert_int_equal(rows, 1);
    assert_ok(
        store_number(opened, "SELECT count(*) FROM state WHERE key LIKE 'normal/%'", &rows, &error),
        error);
    assert_int_equal(rows, 0);
    job_account_destroy(job);
}

/* After an hour the job is counted without missing nodes; a later account is added. */
static void test_nodes_that_never_report(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    struct io_mount *m = mount_make(&mounts);
    struct job_account *job = put_large();
    const uint64_t fast = io_latency_bound(io_latency_bucket(MS)),
                   slow = io_latency_bound(io_latency_bucket(40 * MS));
    struct error error;
    bool more;

    (void)state;
    assert_ok(store_sweep(opened, NOW + 3600 * SECOND, &more, &error), error);
    assert_int_equal(baseline(m, 0).read.jobs, 0);
    for (int i = 1; i < 3; i++) {
        assert_ok(store_sweep(opened, NOW + 3601 * SECOND, &more, &error), error);
        assert_int_equal(median_of(m), fast);
    }
    put_node_step(job, "n2", 40 * MS);
    put_node_step(job, "n3", 40 * MS);
    assert_int_equal(baseline(m, 0).read.jobs, 0);
    assert_ok(store_sweep(opened, NOW + 3601 * SECOND, &more, &error), error);
    assert_int_equal(median_of(m), slow);
    job_account_destroy(job);
}

/* If another node collects the account of a job, this node counts its own part. */
static void test_another_node_has_it_all(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    struct io_mount *m = mount_make(&mounts);
    struct job_account *job = job_make(1, NOW - 30 * SECOND);
    struct error error;

    (void)state;
    job->nodes_expected = 3;
    job->ended = true;
    job->end_ns = NOW;
    job->first_node = strdup("n0");
    put_node_step(job, "n1", MS);
    assert_ok(store_put_baseline(opened, &job->key, &error), error);
    assert_int_equal(baseline(m, 0).read.jobs, 1);
    job_account_destroy(job);
}

static void test_a_job_that_runs(void **state)
{
    struct job_account *job = job_make(1, NOW);
    struct error error;

    (void)state;
    put_rows(job, NULL, false);
    assert_int_equal(store_put_baseline(opened, &job->key, &error), -ENOENT);
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_quantiles),
        STORE_TEST(test_other_mounts_and_old_days),
        STORE_TEST(test_jobs_and_mounts),
        STORE_TEST(test_after_retention),
        STORE_TEST(test_nodes_that_report_late),
        STORE_TEST(test_nodes_that_never_report),
        STORE_TEST(test_another_node_has_it_all),
        STORE_TEST(test_a_job_that_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
