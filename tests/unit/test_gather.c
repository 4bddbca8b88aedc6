/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one node asks and sends, and what another makes of it (gather_side.h). */
#include "tests/unit/gather_side.h"

/* A node that Slurm runs the step on is to wait for it, though it has not begun there. */
static void test_expected(void **state)
{
    const struct gather_step here = {.het = 1, .step = 2, .nodes = "127.0.0.11," OTHER};
    const struct gather_step elsewhere = {.step = 2, .nodes = FIRST ",127.0.0.21,127.0.0.22"};
    const struct gather_step unknown = {.step = 2};

    (void)state;
    gather_side_skip();
    other.busy = true;
    assert_int_equal(gather_side_ask(&here), 0);
    assert_int_equal(other.asked, 1);
    assert_int_equal(other.step.het, 1);
    assert_int_equal(other.step.step, 2);
    assert_true(other.step.expected);
    other.busy = false;
    assert_int_equal(gather_side_ask(&here), 1);
    assert_int_equal(gather_side_ask(&elsewhere), 1);
    assert_false(other.step.expected);
    assert_int_equal(gather_side_ask(&unknown), 1);
    assert_false(other.step.expected);
    assert_int_equal(gather_side_ask(NULL), 1);
    assert_int_equal(gather_side_count(&first, "answered"), 5);
}

/* What OTHER has goes to FIRST. */
static void send(struct job_account *job)
{
    gather_side_stop(&other);
    gather_side_put(&other, job);
    gather_side_start(&other);
    gather_side_send();
    job_account_destroy(job);
}

static void test_unsupported(void **state)
{
    struct job_account *job;

    (void)state;
    gather_side_skip();
    job = gather_side_job(&first, NULL, 0, 100);
    job->unsupported = 1ull << IO_FSYNC;
    gather_side_stop(&first);
    gather_side_put(&first, job);
    gather_side_start(&first);
    job_account_destroy(job);
    job = gather_side_job(&other, FIRST, 0, 20);
    job->unsupported = 1ull << IO_CLONE | 1ull << IO_FSYNC;
    send(job);
    job = gather_side_job(&other, FIRST, 1, 3);
    job->unsupported = 1ull << IO_MMAP_READ;
    send(job);
    job = gather_side_stored(&first);
    assert_int_equal(job->unsupported,
                     1ull << IO_FSYNC | 1ull << IO_CLONE | 1ull << IO_MMAP_READ);
    assert_int_equal(job->n_steps, 3);
    job_account_destroy(job);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, gather_side_setup, gather_side_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_expected),
        TEST(test_unsupported),
    };

    return cmocka_run_group_tests(tests, gather_side_begin, gather_side_end);
}
