/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/job.h"
#include "common/own_cost.h"

DEFINE_CLEANUP(struct job_account, job_account_destroy)

static void test_step_names_round_trip(void **state)
{
    static const struct {
        uint32_t step;
        const char *text;
    } cases[] = {
        {0, "0"},
        {17, "17"},
        {4294967280u, "4294967280"},
        {STEP_BATCH, "batch"},
        {STEP_EXTERN, "extern"},
        {STEP_INTERACTIVE, "interactive"},
        {STEP_FOLDED, "folded"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char buf[16];
        uint32_t step = 1234;

        assert_string_equal(step_format(cases[i].step, buf), cases[i].text);
        assert_int_equal(step_parse(cases[i].text, &step), 0);
        assert_int_equal(step, cases[i].step);
    }
}

static void test_step_parse_refuses(void **state)
{
    static const char *const bad[] = {"",   " 1",    "-1",         "+1",
                                      "1x", "Batch", "4294967296", "99999999999999999999999"};
    uint32_t step = 1234;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(step_parse(bad[i], &step), -EINVAL);
    assert_int_equal(step, 1234);
}

static void test_state_names(void **state)
{
    (void)state;
    for (int s = STEP_RUNNING; s <= STEP_VANISHED; s++)
        assert_int_equal(step_state_parse(step_state_name(s)), s);
    assert_string_equal(step_state_name(STEP_VANISHED), "vanished");
    assert_int_equal(step_state_parse("gone"), -EINVAL);
}

static void test_completeness_unites_causes(void **state)
{
    CLEANUP(completeness_clear) struct completeness a = {.lost = 1}, b = {.lost = UINT64_MAX};

    (void)state;
    completeness_add(&a, "map-full", 2, 1 << IO_READ);
    completeness_add(&a, "map-full", 3, 1 << IO_WRITE);
    completeness_add(&b, "began-untracked", 1, 0);
    completeness_add(&b, "map-full", 1, 0);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.items[0].count, 5);
    assert_int_equal(a.items[0].ops, 1 << IO_READ | 1 << IO_WRITE);
    assert_int_equal(completeness_merge(&a, &b), 0);
    assert_int_equal(a.lost, UINT64_MAX);
    assert_int_equal(a.n, 2);
    assert_int_equal(a.items[0].count, 6);
    assert_int_equal(a.items[0].ops, 0); /* all of them */
    assert_string_equal(a.items[1].cause, "began-untracked");
    completeness_add(&a, "map-full", 1, 1 << IO_READ);
    assert_int_equal(a.items[0].ops, 0);
}

static void test_complete_needs_everything(void **state)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();

    (void)state;
    assert_false(job_is_complete(job)); /* the number of nodes is unknown */
    job->nodes_expected = 2;
    job->nodes_reported = 1;
    assert_false(job_is_complete(job));
    job->nodes_reported = 2;
    assert_true(job_is_complete(job));
    job->completeness.lost = 1;
    assert_false(job_is_complete(job));
    job->completeness.lost = 0;
    completeness_add(&job->completeness, "map-full", 0, 0);
    assert_false(job_is_complete(job));
}

static void test_add_step(void **state)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();
    CLEANUP(step_account_clear) struct step_account s = {.longest_wait_ns = 7};

    (void)state;
    s.node = strdup("n1");
    s.completeness.lost = 3;
    completeness_add(&s.completeness, "map-full", 3, 0);
    io_account_op(&io_mounts_get(&s.mounts, "/a", "ext4", "/dev/a", false)->io, IO_READ)->bytes = 5;
    assert_int_equal(job_account_add_step(job, &s), 0);
    s.longest_wait_ns = 6;
    assert_int_equal(job_account_add_step(job, &s), 0);
    assert_int_equal(job->mounts.n, 1);
    assert_int_equal(job->mounts.items[0].io.ops[IO_READ]->bytes, 10);
    assert_int_equal(job->longest_wait_ns, 7);
    assert_int_equal(job->completeness.lost, 6);
    assert_int_equal(job->completeness.items[0].count, 6);
    assert_int_equal(job->n_steps, 0);
}

/* Every member of a class, and what is missing; a step without MPI changes nothing. */
static void test_add_mpi(void **state)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();
    CLEANUP(step_account_clear) struct step_account s = {0};
    struct mpi_counter *c;

    (void)state;
    assert_int_equal(job_account_add_step(job, &s), 0);
    assert_null(job->mpi);
    s.mpi = calloc(1, sizeof(*s.mpi));
    assert_non_null(s.mpi);
    c = &s.mpi->classes[MPI_WRITE_ALL];
    *c = (struct mpi_counter){3, 1, 500, 4096, 10, UINT64_MAX, .size_log2[12] = 1};
    c->latency_log2[31] = 2;
    completeness_add(&s.mpi->completeness, MPI_CAUSE_LATE, 2, 0);
    assert_int_equal(job_account_add_step(job, &s), 0);
    assert_int_equal(job_account_add_step(job, &s), 0);
    assert_ptr_not_equal(job->mpi, s.mpi);
    c = &job->mpi->classes[MPI_WRITE_ALL];
    assert_int_equal(c->calls, 6);
    assert_int_equal(c->errors, 2);
    assert_int_equal(c->time_ns, 1000);
    assert_int_equal(c->bytes, 8192);
    assert_int_equal(c->requested_bytes, 20);
    assert_int_equal(c->unknown_calls, UINT64_MAX);
    assert_int_equal(c->size_log2[12], 2);
    assert_int_equal(c->latency_log2[31], 4);
    assert_int_equal(job->mpi->completeness.items[0].count, 4);
    assert_int_equal(job->completeness.n, 0);
}

static void test_destroy_takes_half_built(void **state)
{
    struct job_account *job = job_account_create();

    (void)state;
    job_account_destroy(NULL);
    job->command = calloc(3, sizeof(char *));
    job->command[0] = strdup("true");
    job->steps = calloc(1, sizeof(*job->steps));
    job->n_steps = 1;
    job_account_destroy(job);
    step_account_clear(NULL);
    completeness_clear(NULL);
}

/* Its own completeness, and that of the job. */
static void test_mpi_is_complete(void **state)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();

    (void)state;
    job->nodes_expected = job->nodes_reported = 2;
    assert_false(job_mpi_is_complete(job)); /* not counted */
    assert_false(job_has_mpi(job));
    job->mpi = calloc(1, sizeof(*job->mpi));
    assert_non_null(job->mpi);
    assert_true(job_mpi_is_complete(job));
    assert_false(job_has_mpi(job));
    job->nodes_reported = 1;
    assert_false(job_mpi_is_complete(job));
    job->nodes_reported = 2;
    completeness_add(&job->mpi->completeness, MPI_CAUSE_LATE, 1, 0);
    assert_false(job_mpi_is_complete(job));
    assert_true(job_is_complete(job));
    assert_true(job_has_mpi(job));
    completeness_clear(&job->mpi->completeness);
    job->mpi->classes[MPI_OPEN].calls = 1;
    assert_true(job_has_mpi(job));
}

/* 5 % of ten minutes are 30 s: of all processes if a thread waited as long for I/O, otherwise of
 * each of at most as many processes as opens. */
static void test_lost_mpi_time(void **state)
{
    static const struct {
        uint64_t wait_s, mpi_s, opens;
        bool lost;
    } cases[] = {
        {30, 29, 1, false},   {30, 30, 0, true},     {29, 30, 0, false}, {29, 30, 1, true},
        {0, 59, 2, false},    {0, 60, 2, true},      {30, 0, 5, false},  {0, 0, 0, false},
        {0, 3000, 100, true}, {0, 2999, 100, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();

        job->elapsed_ns = 10 * NS_PER_MINUTE;
        job->longest_wait_ns = cases[i].wait_s * NS_PER_S;
        assert_false(job_lost_mpi_time(job));
        job->mpi = calloc(1, sizeof(*job->mpi));
        job->mpi->classes[MPI_OPEN].calls = cases[i].opens;
        job->mpi->classes[MPI_READ].time_ns = cases[i].mpi_s * NS_PER_S;
        if (job_lost_mpi_time(job) != cases[i].lost)
            fail_msg("case %zu", i);
    }
}

/* Step 0 was counted on one of three nodes, step 1 on both, step 2 on none. */
static void test_nodes_without_mpi(void **state)
{
    static const struct {
        uint32_t het, step;
        bool counted;
    } parts[] = {{1, 0, false},        {HET_NONE, 1, true}, {HET_NONE, 0, false},
                 {HET_NONE, 2, false}, {HET_NONE, 0, true}, {HET_NONE, 2, false},
                 {HET_NONE, 1, true},  {HET_NONE, 0, false}};
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();

    (void)state;
    job->steps = calloc(ARRAY_SIZE(parts), sizeof(*job->steps));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        struct step_account *step = &job->steps[job->n_steps++];

        step->het = parts[i].het;
        step->step = parts[i].step;
        if (parts[i].counted)
            step->mpi = calloc(1, sizeof(*step->mpi));
        if (i == 0) /* not counted at all */
            assert_int_equal(job_account_check_mpi(job), 0);
        assert_int_equal(job_account_add_step(job, step), 0);
    }
    assert_int_equal(job->mpi->completeness.n, 0);
    assert_int_equal(job_account_check_mpi(job), 0);
    assert_int_equal(job->mpi->completeness.n, 1);
    assert_string_equal(job->mpi->completeness.items[0].cause, MPI_CAUSE_NODE);
    assert_int_equal(job->mpi->completeness.items[0].count, 2);
}

static void test_class_names(void **state)
{
    (void)state;
    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        assert_int_equal(mpi_class_parse(mpi_class_name(i)), i);
    assert_int_equal(mpi_class_parse("teleport"), -EINVAL);
    assert_int_equal(mpi_class_parse(""), -EINVAL);
}

/* A read in the page cache is the unit; other calls, errors and pages cost more or less. */
static void test_own_cost(void **state)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();
    struct io_mount *mount = io_mounts_get(&job->mounts, "/scratch", "ext4", "/dev/sda", false);
    struct io_counter *read = io_account_op(&mount->io, IO_READ);
    uint64_t before;

    (void)state;
    read->requests = 1000;
    assert_int_equal(own_cost_of(job).high_ns, 0);
    job->ns_per_event = 500;
    assert_int_equal(own_cost_of(job).low_ns, 500000 / 100 * 80);
    assert_int_equal(own_cost_of(job).high_ns, 500000 / 100 * 162 / 100 * 120);
    mount->cache.fill_bytes[IO_FILL_WRITE] = 4096 * 100;
    assert_in_range(own_cost_of(job).low_ns, 400000 + 100 * 500 / 10, 400000 + 100 * 500);
    before = own_cost_of(job).low_ns;
    io_account_op(&mount->io, IO_OPEN)->requests = 10;
    assert_in_range(own_cost_of(job).low_ns, before + 10 * 500, before + 10 * 3 * 500);
    before = own_cost_of(job).low_ns;
    io_account_op(&mount->io, IO_OPEN)->errors = 10;
    assert_in_range(own_cost_of(job).low_ns, before + 1, before + 10 * 500);
    for (int op = 0; op < IO_OP_COUNT; op++) {
        before = own_cost_of(job).low_ns;
        io_account_op(&mount->io, op)->requests++;
        assert_true(own_cost_of(job).low_ns > before);
    }
    read->requests = UINT64_MAX;
    assert_true(own_cost_of(job).high_ns == UINT64_MAX);
}

/* The backend is recognized by what it does not count. Where pages are not counted, written bytes
 * may be new pages. */
static void test_own_cost_by_backend(void **state)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();
    struct io_mount *mount = io_mounts_get(&job->mounts, "/scratch", "ext4", "/dev/sda", false);
    uint64_t by_functions, by_kprobes, high;

    (void)state;
    job->ns_per_event = 500;
    io_account_op(&mount->io, IO_STAT)->requests = 1000;
    by_functions = own_cost_of(job).low_ns;
    job->unsupported = IO_CACHE;
    by_kprobes = own_cost_of(job).low_ns;
    assert_true(by_kprobes < by_functions);
    high = own_cost_of(job).high_ns;
    io_account_op(&mount->io, IO_WRITE)->bytes = 4096 * 1000;
    assert_true(own_cost_of(job).high_ns > high);
    assert_int_equal(own_cost_of(job).low_ns, by_kprobes);
    job->unsupported |= 1ull << IO_MKDIR | 1ull << IO_UNLINK | 1ull << IO_RENAME;
    assert_true(own_cost_of(job).low_ns < by_kprobes);
    io_account_op(&mount->io, IO_WRITE)->bytes = 0;
    /* There may be as many calls that are not counted. */
    assert_in_range(own_cost_of(job).high_ns, own_cost_of(job).low_ns * 2,
                    own_cost_of(job).low_ns * 3);
}

/* What is counted or recorded on request is in a range of its own. */
static void test_own_cost_of_extras(void **state)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();
    struct io_mount *mount = io_mounts_get(&job->mounts, "/nfs", "nfs4", "server:/x", false);
    struct own_cost before = {0}, now;
    struct block_device *disk;

    (void)state;
    job->ns_per_event = 500;
    job->mpi = calloc(1, sizeof(*job->mpi));
    job->block = calloc(1, sizeof(*job->block));
    mount->rpc = calloc(1, sizeof(*mount->rpc));
    assert_true(job->mpi && job->block && mount->rpc);
    assert_int_equal(own_cost_of(job).high_ns, 0);
    disk = block_account_get(job->block, "sda");
    disk->shared[BLOCK_WRITE].requests = 1000;
    now = own_cost_of(job);
    assert_int_equal(now.low_ns, 0); /* it may be that of other jobs */
    assert_true(now.high_ns > 0);
    mount->rpc->shared[RPC_WRITE].calls = 1000;
    assert_int_equal(own_cost_of(job).low_ns, 0);
    assert_true(own_cost_of(job).high_ns > now.high_ns);
    for (unsigned i = 0; i < 5; i++) {
        uint64_t *const counts[] = {&disk->own[BLOCK_READ].requests,
                                    &job->mpi->classes[MPI_WRITE_ALL].calls, &job->spans_taken,
                                    &job->stacks_taken, &mount->rpc->own[RPC_GETATTR].calls};

        before = own_cost_of(job);
        *counts[i] = 1000;
        now = own_cost_of(job);
        assert_in_range(now.low_ns - before.low_ns, 1000 * 400, 1000 * 500 * 10);
        assert_true(now.high_ns - before.high_ns > now.low_ns - before.low_ns);
    }
    /* In the unit of a backend whose counted read costs more. */
    job->unsupported = IO_CACHE;
    assert_in_range(own_cost_of(job).low_ns, now.low_ns / 4, now.low_ns / 3);
    job->spans_taken = UINT64_MAX;
    assert_true(own_cost_of(job).high_ns == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_names_round_trip),
        cmocka_unit_test(test_step_parse_refuses),
        cmocka_unit_test(test_state_names),
        cmocka_unit_test(test_completeness_unites_causes),
        cmocka_unit_test(test_complete_needs_everything),
        cmocka_unit_test(test_add_step),
        cmocka_unit_test(test_add_mpi),
        cmocka_unit_test(test_mpi_is_complete),
        cmocka_unit_test(test_lost_mpi_time),
        cmocka_unit_test(test_nodes_without_mpi),
        cmocka_unit_test(test_class_names),
        cmocka_unit_test(test_own_cost),
        cmocka_unit_test(test_own_cost_by_backend),
        cmocka_unit_test(test_own_cost_of_extras),
        cmocka_unit_test(test_destroy_takes_half_built),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
