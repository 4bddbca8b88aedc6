/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: the option tables accept their options, and refuse everything else with a reason. */
#include "tests/unit/test.h"

#include "cli/base/options.h"
#include "common/cleanup.h"

struct taken {
    bool json;
    const char *user, *stacks;
    uint32_t limit;
    uint64_t interval;
    struct cli cli;
    int first;
    struct error error;
};

static int parse(struct taken *t, unsigned flags, char *const *words)
{
    const struct option_spec specs[] = {
        {"json", 0, OPTION_FLAG, &t->json},       {"user", 'u', OPTION_TEXT, &t->user},
        {"limit", 'n', OPTION_U32, &t->limit},    {"interval", 0, OPTION_SPAN, &t->interval},
        {"stacks", 's', OPTION_FORM, &t->stacks},
    };
    static char *argv[16];
    int argc = 1;

    argv[0] = (char *)"sub";
    while ((argv[argc] = words[argc - 1]))
        argc++;
    *t = (struct taken){.first = 0};
    return options_parse(&t->cli, specs, ARRAY_SIZE(specs), flags, argc, argv, &t->error);
}

#define PARSE(t, flags, ...) parse(t, flags, (char *[]){__VA_ARGS__, NULL})

static void test_all_types(void **state)
{
    struct taken t;

    (void)state;
    assert_int_equal(PARSE(&t, 0, "--json", "-u", "alice", "--limit=7", "--interval", "500ms"), 7);
    assert_true(t.json);
    assert_string_equal(t.user, "alice");
    assert_int_equal(t.limit, 7);
    assert_int_equal(t.interval, 500000000);
    assert_int_equal(PARSE(&t, 0, "-n3", "-ubob"), 3);
    assert_int_equal(t.limit, 3);
    assert_string_equal(t.user, "bob");
    assert_null(t.stacks);
    assert_int_equal(PARSE(&t, 0, "--stacks=folded"), 2);
    assert_string_equal(t.stacks, "folded");
    assert_int_equal(PARSE(&t, 0, "--stacks", "folded"), 2); /* a word of its own */
    assert_string_equal(t.stacks, "");
    assert_int_equal(PARSE(&t, 0, "-sfolded"), 2);
    assert_string_equal(t.stacks, "folded");
}

static void test_common_options(void **state)
{
    struct taken t;

    (void)state;
    assert_int_equal(PARSE(&t, 0, "--socket", "/s", "--store=/d"), 4);
    assert_string_equal(t.cli.socket, "/s");
    assert_string_equal(t.cli.store, "/d");
    assert_int_equal(PARSE(&t, 0, "--help"), -ECANCELED);
    assert_int_equal(PARSE(&t, 0, "-h"), -ECANCELED);
}

static void test_words_anywhere_or_in_order(void **state)
{
    struct taken t;

    (void)state;
    assert_int_equal(PARSE(&t, 0, "123", "--json"), 2);
    assert_true(t.json);
    assert_int_equal(PARSE(&t, OPTIONS_IN_ORDER, "ls", "--json"), 1);
    assert_false(t.json);
    assert_int_equal(PARSE(&t, OPTIONS_IN_ORDER, "--json", "--", "ls", "-u"), 3);
    assert_true(t.json);
    assert_null(t.user);
}

static void refused(const char *reason, struct taken *t, int rc)
{
    assert_int_equal(rc, -EINVAL);
    if (!strstr(t->error.text, reason))
        fail_msg("\"%s\" does not say \"%s\"", t->error.text, reason);
}

static void test_refusals(void **state)
{
    struct taken t;

    (void)state;
    refused("unknown option \"--nope\"", &t, PARSE(&t, 0, "--nope"));
    refused("\"--sjon\"; did you mean \"--json\"?", &t, PARSE(&t, 0, "--sjon"));
    refused("\"--limt=3\"; did you mean \"--limit\"?", &t, PARSE(&t, 0, "--limt=3"));
    refused("unknown option \"-x\"", &t, PARSE(&t, 0, "-x"));
    refused("\"-u\" requires an argument", &t, PARSE(&t, 0, "-u"));
    refused("\"--user\" requires an argument", &t, PARSE(&t, 0, "--json", "--user"));
    refused("\"--json=1\" does not take an argument", &t, PARSE(&t, 0, "--json=1"));
    refused("--limit \"0\"", &t, PARSE(&t, 0, "-n", "0"));
    refused("--limit \"-1\"", &t, PARSE(&t, 0, "-n", "-1"));
    refused("--limit \"4294967296\"", &t, PARSE(&t, 0, "-n", "4294967296"));
    refused("--limit \"1x\"", &t, PARSE(&t, 0, "-n", "1x"));
    refused("--interval", &t, PARSE(&t, 0, "--interval", "soon"));
    refused("--interval \"0\"", &t, PARSE(&t, 0, "--interval", "0"));
}

static void test_numbers(void **state)
{
    static const char *const bad[] = {"",
                                      "0",
                                      "-3",
                                      "+3",
                                      " 3",
                                      "3 ",
                                      "123_4",
                                      "123.batch",
                                      "1e3",
                                      "4294967296",
                                      "99999999999999999999",
                                      "0x10"};
    unsigned value = 42;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(options_number(bad[i], &value), -EINVAL);
    assert_int_equal(value, 42);
    assert_int_equal(options_number("4294967295", &value), 0);
    assert_true(value == 4294967295u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_types),
        cmocka_unit_test(test_common_options),
        cmocka_unit_test(test_words_anywhere_or_in_order),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
