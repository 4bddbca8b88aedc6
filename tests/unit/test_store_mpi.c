/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI-IO of steps is read back as it was stored, and disappears with its step. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <string.h>

#include "collector/store/store_impl.h"

static int64_t count(const char *sql)
{
    struct error error;
    int64_t n = -1;

    assert_ok(store_number(opened, sql, &n, &error), error);
    return n;
}

static void execute(const char *sql)
{
    struct error error;

    assert_ok(store_exec(opened, sql, &error), error);
}

static void assert_same_mpi(const struct mpi_account *a, const struct mpi_account *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (!a || !b)
        return;
    assert_memory_equal(a->classes, b->classes, sizeof(a->classes));
    assert_int_equal(a->completeness.n, b->completeness.n);
    for (size_t i = 0; i < a->completeness.n; i++) {
        assert_string_equal(a->completeness.items[i].cause, b->completeness.items[i].cause);
        assert_int_equal(a->completeness.items[i].count, b->completeness.items[i].count);
        assert_int_equal(a->completeness.items[i].ops, b->completeness.items[i].ops);
    }
}

/* The only step of job 7 is stored with this account. */
static void assert_stored(const struct mpi_account *mpi)
{
    struct job_account **found = jobs_found(7, false, UINT32_MAX);

    assert_int_equal(found[0]->n_steps, 1);
    assert_same_mpi(found[0]->steps[0].mpi, mpi);
    assert_same_mpi(found[0]->mpi, mpi);
    store_jobs_free(found);
}

/* The rows of a running step are replaced, also by fewer; the largest numbers fit. */
static void test_round_trip(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 5);
    step_add_mpi(&step, 3);
    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        step.mpi->classes[i].calls++;
    put_rows(job, &step, false);
    assert_stored(step.mpi);
    mpi_account_destroy(step.mpi);
    step_add_mpi(&step, 7);
    completeness_add(&step.mpi->completeness, MPI_CAUSE_LIBRARY "libmpi.so: \"why\"", 1, 0);
    put_rows(job, &step, false);
    assert_stored(step.mpi);
    step.mpi->classes[MPI_OPEN].calls = step.mpi->classes[MPI_OPEN].time_ns = INT64_MAX;
    put_rows(job, &step, true);
    assert_stored(step.mpi);
    assert_int_equal(count("SELECT count(*) FROM mpi"), 2);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* A step without MPI-IO has no row, whether it was counted or not. */
static void test_no_calls(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 5);
    put_rows(job, &step, true);
    assert_stored(NULL);
    assert_int_equal(count("SELECT count(*) FROM step WHERE mpi_incomplete IS NULL"), 1);
    step.mpi = calloc(1, sizeof(*step.mpi));
    put_rows(job, &step, true);
    assert_stored(step.mpi);
    assert_int_equal(count("SELECT count(*) FROM mpi"), 0);
    mpi_account_destroy(TAKE_PTR(step.mpi));
    put_rows(job, &step, true);
    assert_stored(NULL);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* Two nodes of one step, a step without MPI, and an aggregate, whose row grows after it is final.
 */
static void test_sums(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct mpi_account *sum = NULL;
    struct step_account step;

    (void)state;
    for (unsigned i = 1; i <= 2; i++) {
        step_make(&step, 0, NOW, 5);
        free(step.node);
        step.node = strdup(i == 1 ? "n1" : "n2");
        step_add_mpi(&step, i);
        put_rows(job, &step, true);
        assert_int_equal(mpi_account_add(&sum, step.mpi), 0);
        step_account_clear(&step);
    }
    step_make(&step, 1, NOW, 5);
    put_rows(job, &step, true);
    for (unsigned i = 1; i <= 2; i++) {
        step_account_clear(&step);
        step_make(&step, STEP_FOLDED, NOW, 5);
        step.folded = i;
        step_add_mpi(&step, 10 * i);
        put_rows(job, &step, true);
    }
    assert_int_equal(mpi_account_add(&sum, step.mpi), 0);
    found = jobs_found(7, false, UINT32_MAX);
    assert_same_mpi(found[0]->mpi, sum);
    assert_int_equal(found[0]->mpi->classes[MPI_WRITE_ALL].calls, 8 * (1 + 2 + 20));
    assert_int_equal(found[0]->mpi->completeness.items[0].count, 1 + 2 + 20);
    assert_true(found[0]->completeness.n == 0); /* the mounts are complete */
    store_jobs_free(found);
    mpi_account_destroy(sum);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* A node with an older jobiod: its part is missing from the sum. */
static void test_node_without_mpi(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct step_account step;

    (void)state;
    for (unsigned i = 1; i <= 2; i++) {
        step_make(&step, 0, NOW, 5);
        free(step.node);
        step.node = strdup(i == 1 ? "n1" : "n2");
        if (i == 1)
            step.mpi = calloc(1, sizeof(*step.mpi));
        put_rows(job, &step, true);
        step_account_clear(&step);
    }
    found = jobs_found(7, false, UINT32_MAX);
    assert_int_equal(found[0]->mpi->completeness.n, 1);
    assert_string_equal(found[0]->mpi->completeness.items[0].cause, MPI_CAUSE_NODE);
    store_jobs_free(found);
    job_account_destroy(job);
}

static void test_views(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    for (uint32_t n = 0; n < 2; n++) {
        step_make(&step, n, NOW, 5);
        step_add_mpi(&step, n + 1);
        if (n == 0)
            completeness_clear(&step.mpi->completeness);
        put_rows(job, &step, true);
        step_account_clear(&step);
    }
    assert_int_equal(count("SELECT calls FROM v_step_mpi WHERE jobid = 7 AND step = '1'"
                           " AND node = 'n1' AND class = 'write_all'"),
                     16);
    assert_int_equal(count("SELECT count(*) FROM v_step_mpi WHERE incomplete = '[]'"), 2);
    assert_int_equal(count("SELECT calls FROM v_job_mpi WHERE jobid = 7 AND class = 'write_all'"),
                     24);
    assert_int_equal(count("SELECT bytes FROM v_job_mpi WHERE class = 'write_all'"), 3 << 23);
    assert_int_equal(count("SELECT sum(complete) FROM v_job_mpi"), 0);
    execute("UPDATE step SET mpi_incomplete = '[]'");
    assert_int_equal(count("SELECT sum(complete) FROM v_job_mpi"), 2);
    execute("DELETE FROM job");
    assert_int_equal(count("SELECT count(*) FROM mpi"), 0);
    job_account_destroy(job);
}

/* The owner of a job is charged for these rows. */
static void test_bytes(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;
    uint64_t before, after;

    (void)state;
    step_make(&step, 0, NOW, 5);
    put_rows(job, &step, true);
    assert_ok(store_step_bytes(opened, 1, &before, &error), error);
    step_add_mpi(&step, 5);
    put_rows(job, &step, true);
    assert_ok(store_step_bytes(opened, 1, &after, &error), error);
    assert_in_range(after - before, 200, 400); /* two rows */
    step_account_clear(&step);
    job_account_destroy(job);
}

static int keep_step(int64_t id, const struct job_account *job, void *arg)
{
    (void)id;
    assert_same_mpi(job->steps[0].mpi, ((const struct step_account *)arg)->mpi);
    return 1;
}

/* What another node is sent has it. */
static void test_outbox(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 5);
    step_add_mpi(&step, 5);
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "peer:n0", &error), error);
    assert_int_equal(store_outbox_read(opened, "peer:n0", 0, 10, keep_step, &step, &error), 1);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* A class of a newer version is ignored; a malformed text is an error. */
static void test_odd_rows(void **state)
{
    static const char *const bad[] = {
        "UPDATE mpi SET size_log2 = '[1,x]'",
        "UPDATE mpi SET latency_log2 = '7'",
        "UPDATE step SET mpi_incomplete = 'x'",
    };
    struct job_account *job = job_make(7, NOW), **found;
    struct step_account step;
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        step_make(&step, 0, NOW, 5);
        step_add_mpi(&step, 5);
        put_rows(job, &step, true);
        execute("INSERT INTO mpi SELECT step_id, 'teleport', 1, 1, 1, 1, 1, 1, '?', '?' FROM mpi "
                "LIMIT 1");
        assert_stored(step.mpi);
        execute(bad[i]);
        assert_int_equal(store_jobs(opened, "linux", 7, false, UINT32_MAX, &found, &error),
                         -EBADMSG);
        assert_non_null(strstr(error.text, "MPI-IO"));
        step_account_clear(&step);
    }
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_round_trip), STORE_TEST(test_no_calls),
        STORE_TEST(test_sums),       STORE_TEST(test_views),
        STORE_TEST(test_bytes),      STORE_TEST(test_outbox),
        STORE_TEST(test_odd_rows),   STORE_TEST(test_node_without_mpi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
