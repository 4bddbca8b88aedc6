/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>

#include "common/proc_stat.h"

static void test_fields(void **state)
{
    uint64_t value;
    const char *line = "17 (a) Z 9 (b) S 4 17 5\n";

    (void)state;
    assert_int_equal(*proc_stat_field(line, PROC_STAT_STATE), 'S');
    assert_int_equal(proc_stat_number(line, 4, &value), 0);
    assert_int_equal(value, 4);
    assert_int_equal(proc_stat_number(line, 6, &value), 0);
    assert_int_equal(value, 5);
    assert_int_equal(proc_stat_number(line, PROC_STAT_STATE, &value), -EINVAL);
    assert_int_equal(proc_stat_number(line, 7, &value), -EINVAL);
    assert_null(proc_stat_field(line, 7));
    assert_null(proc_stat_field("17 (a", PROC_STAT_STATE));
    assert_null(proc_stat_field("", PROC_STAT_STATE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
