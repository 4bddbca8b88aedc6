/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "common/error.h"

static void test_set_returns_code(void **state)
{
    struct error e;

    (void)state;
    assert_int_equal(error_set(&e, -EINVAL, "bad %s", "word"), -EINVAL);
    assert_string_equal(e.text, "bad word");
    assert_int_equal(error_set(NULL, -EIO, "ignored"), -EIO);
}

static void test_errno_appends_reason(void **state)
{
    struct error e;

    (void)state;
    errno = EAGAIN;
    assert_int_equal(error_errno(&e, -ENOENT, "open \"%s\"", "/x"), -ENOENT);
    assert_string_equal(e.text, "open \"/x\": No such file or directory");
    assert_int_equal(errno, EAGAIN);
}

static void test_prefix_and_truncation(void **state)
{
    struct error e;
    char longtext[600];

    (void)state;
    error_set(&e, -EIO, "inner");
    assert_int_equal(error_prefix(&e, -EIO, "outer %d", 1), -EIO);
    assert_string_equal(e.text, "outer 1: inner");
    memset(longtext, 'x', sizeof(longtext) - 1);
    longtext[sizeof(longtext) - 1] = '\0';
    error_prefix(&e, -EIO, "%s", longtext);
    assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_returns_code),
        cmocka_unit_test(test_errno_appends_reason),
        cmocka_unit_test(test_prefix_and_truncation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
