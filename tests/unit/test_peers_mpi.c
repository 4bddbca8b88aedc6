/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI-IO in the answers and accounts of another node (node_pair.h). */
#include "tests/unit/node_pair.h"
#include "common/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* `calls` collective writes of 1 MiB, some of which were not seen to return. */
static struct mpi_account *mpi_of(uint64_t calls, uint64_t missed)
{
    struct mpi_account *mpi = calloc(1, sizeof(*mpi));

    assert_non_null(mpi);
    mpi->classes[MPI_WRITE_ALL].calls = calls;
    mpi->classes[MPI_WRITE_ALL].bytes = calls << 20;
    mpi->classes[MPI_WRITE_ALL].size_log2[20] = calls;
    if (missed)
        assert_int_equal(completeness_add(&mpi->completeness, MPI_CAUSE_ENDS, missed, 0), 0);
    return mpi;
}

static void assert_mpi(const struct mpi_account *mpi, uint64_t calls, uint64_t missed)
{
    const struct mpi_counter *c;

    assert_non_null(mpi);
    c = &mpi->classes[MPI_WRITE_ALL];
    assert_int_equal(c->calls, calls);
    assert_int_equal(c->bytes, calls << 20);
    assert_int_equal(c->size_log2[20], calls);
    assert_int_equal(mpi->completeness.n, 1);
    assert_string_equal(mpi->completeness.items[0].cause, MPI_CAUSE_ENDS);
    assert_int_equal(mpi->completeness.items[0].count, missed);
}

static struct job_account *job_of(struct mpi_account *mpi)
{
    struct job_account *job = job_account_create();

    assert_non_null(job);
    job->key = (struct job_key){strdup("c"), JOB, 0};
    job->nodes_reported = 1;
    job->mpi = mpi;
    return job;
}

/* The answer to a query has the sums, also if only the other node has any. */
static void test_query(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    other.account = job_of(mpi_of(7, 2));
    job = node_pair_query(job_of(mpi_of(8, 3)), NULL);
    assert_mpi(job->mpi, 15, 5);
    job_account_destroy(job);
    job = node_pair_query(job_of(NULL), NULL);
    assert_mpi(job->mpi, 7, 2);
    job_account_destroy(job);
    job_account_destroy(other.account);
    other.account = NULL;
}

/* Nodes that did not count a step which another node counted are reported, as in the store. */
static void test_parts(void **state)
{
    static const struct mpi_part counted[] = {{HET_NONE, 0, 1, 0}, {1, 0, 0, 1}, {1, 3, 1, 0}},
                                 uncounted[] = {
                                     {HET_NONE, 0, 0, 1}, {1, 0, 0, 1}, {1, 2, 1, 0}, {1, 3, 0, 1}};
    struct job_account *job = job_of(mpi_of(8, 3));

    (void)state;
    node_pair_skip();
    other.account = job_of(NULL);
    for (size_t i = 0; i < ARRAY_SIZE(uncounted); i++)
        assert_int_equal(mpi_parts_add(&other.account->mpi_parts, &uncounted[i]), 0);
    for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
        assert_int_equal(mpi_parts_add(&job->mpi_parts, &counted[i]), 0);
    job = node_pair_query(job, NULL);
    assert_int_equal(job->mpi->completeness.n, 2);
    assert_string_equal(job->mpi->completeness.items[1].cause, MPI_CAUSE_NODE);
    assert_int_equal(job->mpi->completeness.items[1].count, 2);
    job_account_destroy(job);
    job_account_destroy(other.account);
    other.account = NULL;
}

/* A step arrives at the first node with its MPI-IO. */
static void test_step(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    job = node_pair_job(&other, FIRST, 0, 20);
    job->steps[0].mpi = mpi_of(9, 4);
    node_pair_stop(&other);
    node_pair_put(&other, job);
    node_pair_start(&other);
    node_pair_send();
    job_account_destroy(job);
    job = node_pair_stored(&first);
    assert_mpi(job->steps[0].mpi, 9, 4);
    assert_mpi(job->mpi, 9, 4);
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_query, node_pair_setup, node_pair_teardown),
        cmocka_unit_test_setup_teardown(test_parts, node_pair_setup, node_pair_teardown),
        cmocka_unit_test_setup_teardown(test_step, node_pair_setup, node_pair_teardown),
    };

    return cmocka_run_group_tests(tests, node_pair_begin, node_pair_end);
}
