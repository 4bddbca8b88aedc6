/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of users, safe on a terminal and in a file. */
#include "tests/unit/test.h"

#include "common/cleanup.h"
#include "common/utf8.h"

static void test_sanitize(void **state)
{
    static const struct {
        const char *dirty, *clean;
    } cases[] = {
        {"", ""},
        {"plain text", "plain text"},
        {"\033[31mred\033[0m", "?[31mred?[0m"},
        {"a\nb\tc\r", "a?b?c?"},
        {"\x7f", "?"},
        {"\xc2\x9b"
         "31m",
         "?31m"}, /* C1 CSI */
        {"\x9b"
         "31m",
         "?31m"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc0\xaf", "??"},           /* overlong '/' */
        {"\xe0\x80\xaf", "???"},      /* overlong */
        {"\xed\xa0\x80", "???"},      /* surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
        {"\xff\xfe", "??"},
        {"cut \xe2\x82", "cut ??"},
        {"\xe2\x80\xae"
         "evil",
         "?evil"}, /* right-to-left override */
        {"\xd8\x9c"
         "evil",
         "?evil"}, /* Arabic letter mark */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _free_ char *s = utf8_sanitize(cases[i].dirty);

        assert_string_equal(s, cases[i].clean);
    }
    _free_ char *kept = utf8_clean("a\nb\x1b\xff\x7f");

    assert_string_equal(kept, "a\nb\x1b??");
}

static void test_fit(void **state)
{
    static const struct {
        const char *text;
        size_t max;
        int fits;
    } cases[] = {
        {"", 0, 0},
        {"", 5, 0},
        {"abc", 0, 0},
        {"abc", 2, 2},
        {"abc", 3, 3},
        {"abc", 9, 3},
        {"a\xc3\xa9", 2, 1},
        {"a\xc3\xa9", 3, 3},
        {"a\xc3\xa9x", 3, 3},
        {"\xe2\x82\xac", 1, 0},
        {"\xe2\x82\xac", 2, 0},
        {"\xe2\x82\xac", 3, 3},
        {"\xf0\x9f\x98\x80", 3, 0},
        {"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 7, 4},
        {"\x80\x80\x80\x80\x80\x80", 5, 2}, /* not UTF-8 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(utf8_fit(cases[i].text, cases[i].max), cases[i].fits);
}

/* Different texts stay different, and all come back. */
static void test_escape(void **state)
{
    static const struct {
        const char *text, *escaped;
    } cases[] = {
        {"", ""},
        {"/scratch", "/scratch"},
        {"caf\xc3\xa9 \n\x1b", "caf\xc3\xa9 \n\x1b"},
        {"a\xff", "a\\xff"},
        {"a\xfe", "a\\xfe"},
        {"a\\xff", "a\\x5cxff"},
        {"a\\x5cxff", "a\\x5cx5cxff"},
        {"\\\xff", "\\\\xff"},
        {"\\x\xff", "\\x\\xff"},
        {"\\xf", "\\xf"},
        {"\\xFF", "\\xFF"},
        {"\\x00", "\\x5cx00"},
        {"\x7f\xe2\x80\xae", "\\x7f\\xe2\\x80\\xae"},
        {"\xe2\x80", "\\xe2\\x80"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _free_ char *s = utf8_escape(cases[i].text);

        assert_string_equal(s, cases[i].escaped);
        utf8_unescape(s);
        assert_string_equal(s, cases[i].text);
    }
}

static void test_ascii(void **state)
{
    _free_ char *clean = NULL, *kept = NULL, *again = NULL;

    (void)state;
    utf8_sanitize_to_ascii(true);
    clean = utf8_sanitize("\xc3\x9b"
                          "31m \xe2\x82\xac\xf0\x9f\x98\x80 a\x1b");
    assert_string_equal(clean, "?31m ?? a?");
    kept = utf8_clean("\xe2\x82\xac");
    assert_string_equal(kept, "\xe2\x82\xac");
    utf8_sanitize_to_ascii(false);
    again = utf8_sanitize("\xe2\x82\xac");
    assert_string_equal(again, "\xe2\x82\xac");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sanitize),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
