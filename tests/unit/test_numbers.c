/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and maxima of counters, and decimal numbers in texts. */
#include "tests/unit/test.h"

#include <errno.h>

#include "common/cleanup.h"
#include "common/numbers.h"

#define UNTOUCHED 4711

static void test_sum_saturates(void **state)
{
    uint64_t sum = UINT64_MAX - 2;

    (void)state;
    add_saturating(&sum, 2);
    assert_int_equal(sum, UINT64_MAX);
    add_saturating(&sum, 1);
    assert_int_equal(sum, UINT64_MAX);
}

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        uint64_t min, max;
        int r;
        uint64_t value;
    } cases[] = {
        {"0", 0, 0, 0, 0},
        {"7", 1, 60, 0, 7},
        {"007", 1, 60, 0, 7},
        {"60", 1, 60, 0, 60},
        {"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
        {"0000000000000000000000000000001", 0, UINT64_MAX, 0, 1},
        {"0", 1, 60, -ERANGE, 0},
        {"61", 1, 60, -ERANGE, 0},
        {"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
        {"99999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
        {"", 0, UINT64_MAX, -EINVAL, 0},
        {"-1", 0, UINT64_MAX, -EINVAL, 0},
        {"+1", 0, UINT64_MAX, -EINVAL, 0},
        {" 1", 0, UINT64_MAX, -EINVAL, 0},
        {"\t1", 0, UINT64_MAX, -EINVAL, 0},
        {"1 ", 0, UINT64_MAX, -EINVAL, 0},
        {"1\n", 0, UINT64_MAX, -EINVAL, 0},
        {"0x10", 0, UINT64_MAX, -EINVAL, 0},
        {"1.0", 0, UINT64_MAX, -EINVAL, 0},
        {"1e3", 0, UINT64_MAX, -EINVAL, 0},
        {"1K", 0, UINT64_MAX, -EINVAL, 0},
        {"99999999999999999999K", 0, UINT64_MAX, -EINVAL, 0},
        {"\xd9\xa1", 0, UINT64_MAX, -EINVAL, 0}, /* an Arabic digit */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t value = UNTOUCHED;
        int r = number_parse(cases[i].text, cases[i].min, cases[i].max, &value);

        if (r != cases[i].r || value != (r ? UNTOUCHED : cases[i].value))
            fail_msg("\"%s\": %d, %llu", cases[i].text, r, (unsigned long long)value);
    }
}

static void test_parse_prefix(void **state)
{
    static const struct {
        const char *text, *rest;
        int r;
        uint64_t value;
    } cases[] = {
        {"12", "", 0, 12},
        {"12_3", "_3", 0, 12},
        {"0,1]", ",1]", 0, 0},
        {"18446744073709551615]", "]", 0, UINT64_MAX},
        {"", "", -EINVAL, 0},
        {"_3", "_3", -EINVAL, 0},
        {"-1", "-1", -EINVAL, 0},
        {" 1", " 1", -EINVAL, 0},
        {"18446744073709551616]", "18446744073709551616]", -ERANGE, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *rest = cases[i].text;
        uint64_t value = UNTOUCHED;
        int r = number_parse_prefix(&rest, &value);

        if (r != cases[i].r || strcmp(rest, cases[i].rest) != 0 ||
            value != (r ? UNTOUCHED : cases[i].value))
            fail_msg("\"%s\": %d, %llu, \"%s\"", cases[i].text, r, (unsigned long long)value, rest);
    }
}

static void test_format(void **state)
{
    static const struct {
        uint64_t number;
        const char *text;
    } cases[] = {
        {0, "0"},
        {9, "9"},
        {10, "10"},
        {4294967296, "4294967296"},
        {UINT64_MAX, "18446744073709551615"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[] = "????????????????????";
        char *end = number_format(text, cases[i].number);

        assert_string_equal(text, cases[i].text);
        assert_ptr_equal(end, text + strlen(cases[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_saturates),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_prefix),
        cmocka_unit_test(test_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
