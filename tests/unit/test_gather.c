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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_expected, gather_side_setup, gather_side_teardown),
    };

    return cmocka_run_group_tests(tests, gather_side_begin, gather_side_end);
}
