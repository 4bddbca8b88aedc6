/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/nodes.h"
#include "tests/unit/sample.h"

static void add(struct job_account *job, const char *node, uint32_t id, uint64_t bytes,
                uint64_t wait_ns)
{
    struct step_account *step;
    struct io_mount *m;

    job->steps = realloc(job->steps, (job->n_steps + 1) * sizeof(*job->steps));
    assert_non_null(job->steps);
    step = &job->steps[job->n_steps++];
    memset(step, 0, sizeof(*step));
    step->node = strdup(node);
    step->step = id;
    step->longest_wait_ns = wait_ns;
    m = sample_mount(&step->mounts, "/scratch", "ext4", "/dev/sdb");
    if (bytes)
        sample_calls(m, IO_WRITE, 1, bytes, wait_ns);
}

/* Steps are sorted by number, not by node. */
static void test_sums(void **state)
{
    struct job_account *job = job_account_create();
    struct node_sum *nodes = NULL;
    size_t n = 0;

    (void)state;
    add(job, "n2", 0, 100, 10);
    add(job, "n10", 0, 300, 30);
    add(job, "n2", 1, 200, 40);
    add(job, "n3", 1, 0, 0);
    assert_int_equal(nodes_sum(job, &nodes, &n), 0);
    assert_int_equal(n, 3);
    assert_string_equal(nodes[0].node, "n10");
    assert_string_equal(nodes[1].node, "n2");
    assert_string_equal(nodes[2].node, "n3");
    assert_int_equal(nodes[1].sums.writes.bytes, 300);
    assert_int_equal(nodes[1].sums.writes.requests, 2);
    assert_int_equal(nodes[1].longest_wait_ns, 40);
    assert_int_equal(nodes[2].sums.writes.bytes, 0);
    /* 300 of a mean of 200 */
    assert_true(fabs(nodes_imbalance(nodes, n, n, NODE_WRITE_BYTES) - 1.5) < 1e-9);
    assert_true(nodes_imbalance(nodes, n, n, NODE_READ_BYTES) == 0);
    assert_true(nodes_imbalance(nodes, 1, 1, NODE_WRITE_BYTES) == 0);
    free(nodes);
    job_account_destroy(job);
}

static void test_one_did_all(void **state)
{
    struct job_account *job = job_account_create();
    struct node_sum *nodes = NULL;
    size_t n = 0;

    (void)state;
    add(job, "a", 0, 7, 1);
    add(job, "b", 0, 0, 0);
    add(job, "c", 0, 0, 0);
    add(job, "d", 0, 0, 0);
    assert_int_equal(nodes_sum(job, &nodes, &n), 0);
    assert_true(nodes_imbalance(nodes, n, n, NODE_WRITE_BYTES) == 4);
    assert_true(nodes_imbalance(nodes, n, 8, NODE_WRITE_BYTES) == 8);
    free(nodes);
    job_account_destroy(job);
}

static void test_no_steps(void **state)
{
    struct job_account *job = job_account_create();
    struct node_sum *nodes = NULL;
    size_t n = 7;

    (void)state;
    assert_int_equal(nodes_sum(job, &nodes, &n), 0);
    assert_int_equal(n, 0);
    free(nodes);
    job_account_destroy(job);
}

/* If nodes have reported sums, steps are not used: only those of this node are available. */
static void test_nodes_that_have_reported(void **state)
{
    struct job_account *job = job_account_create();
    const struct io_mounts none = {0};
    struct node_sum *nodes = NULL;
    struct io_mount *m;
    size_t n = 0;

    (void)state;
    add(job, "n2", 0, 100, 10);
    m = sample_mount(&job->mounts, "/scratch", "ext4", "/dev/sdb");
    sample_calls(m, IO_WRITE, 1, 100, 10);
    sample_calls(m, IO_OPEN, 7, 0, 70);
    sample_calls(m, IO_STAT, 2, 0, 30);
    assert_int_equal(nodes_add(job, "n2", &job->mounts, 10), 0);
    assert_int_equal(nodes_add(job, "n1", &none, 0), 0);
    assert_int_equal(nodes_sum(job, &nodes, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(nodes[0].node, "n1");
    assert_int_equal(nodes[0].sums.all.requests, 0);
    assert_int_equal(nodes[1].sums.writes.bytes, 100);
    assert_int_equal(nodes[1].sums.meta.requests, 9);
    assert_int_equal(nodes[1].sums.all.time_ns, 110);
    assert_int_equal(nodes[1].longest_wait_ns, 10);
    assert_int_equal(job->nodes[0].n_mounts, 1);
    assert_int_equal(job->nodes[0].look_ups[0].requests, 9);
    assert_int_equal(job->nodes[0].look_ups[0].time_ns, 100);
    free(nodes);
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_one_did_all),
        cmocka_unit_test(test_no_steps),
        cmocka_unit_test(test_nodes_that_have_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
