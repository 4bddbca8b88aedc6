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

static void assert_url(const char *pattern, const char *path, const char *url)
{
    _free_ char *made = text_node_url(pattern, "n1", path);

    assert_string_equal(made, url);
}

static void test_node_url(void **state)
{
    (void)state;
    assert_url("http://%n:9418", "/v1/query", "http://n1:9418/v1/query");
    assert_url("http://%n:9418//", "/v1/query", "http://n1:9418/v1/query");
    assert_url("http://proxy/%n/", "/v1/query", "http://proxy/n1/v1/query");
    assert_url("http://head:9418/", "/v1/query", "http://head:9418/v1/query");
    assert_url("http://%n:9418/", "", "http://n1:9418/");
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

/* The hint for a word among a few names. */
static void assert_hint(const char *word, const char *hint)
{
    static const char *const names[] = {"job", "history", "top", "array", "compare", "run"};
    struct text_nearest nearest = {.word = word, .n = strlen(word)};
    char buf[TEXT_HINT_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        text_nearest_try(&nearest, names[i]);
    assert_string_equal(text_nearest_hint(&nearest, buf), hint);
}

static void test_nearest(void **state)
{
    (void)state;
    assert_hint("histroy", "; did you mean \"history\"?"); /* two letters swapped */
    assert_hint("histor", "; did you mean \"history\"?");
    assert_hint("hisstory", "; did you mean \"history\"?");
    assert_hint("HISTORY", "; did you mean \"history\"?");
    assert_hint("jobs", "; did you mean \"job\"?");
    assert_hint("rum", "; did you mean \"run\"?");
    assert_hint("jxx", "");
    assert_hint("", "");
    assert_hint("xyzzy", "");
    assert_hint("a-word-that-is-longer-than-all-names", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_node_url),
        cmocka_unit_test(test_copy_and_replace),
        cmocka_unit_test(test_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
