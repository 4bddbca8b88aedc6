/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that a structure owns (common/text.h). */
#include "tests/unit/test.h"

#include "common/cleanup.h"
#include "common/text.h"

static void test_format(void **state)
{
    _free_ char *empty = text_format("%s", "");
    _free_ char *text = text_format("%s/%d%%", "/run/jobio", 17);

    (void)state;
    assert_string_equal(empty, "");
    assert_string_equal(text, "/run/jobio/17%");
}

static void test_copy_and_replace(void **state)
{
    char *text;

    (void)state;
    assert_int_equal(text_copy(&text, NULL), 0);
    assert_null(text);
    assert_int_equal(text_replace(&text, "one"), 0);
    assert_string_equal(text, "one");
    assert_int_equal(text_replace(&text, text + 1), 0);
    assert_string_equal(text, "ne");
    assert_int_equal(text_replace(&text, NULL), 0);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_copy_and_replace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
