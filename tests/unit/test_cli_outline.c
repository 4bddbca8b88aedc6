/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: documents become an outline in units, and JSON is safe on a terminal. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/base/outline.h"
#include "cli/base/output.h"
#include "common/cleanup.h"

static void expect_in(unsigned columns, const char *json, const char *want)
{
    struct json_object *document = json_tokener_parse(json);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(document);
    outline_print(document, columns, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
    free(text);
    json_object_put(document);
}

static void expect(const char *json, const char *want)
{
    expect_in(100, json, want);
}

static void test_nesting(void **state)
{
    (void)state;
    expect("{\"version\":\"1\",\"store\":{\"jobs\":7,\"ok\":true,\"old\":null},"
           "\"ops\":[\"read\",\"write\"],\"none\":[],"
           "\"hooks\":[{\"function\":\"vfs_read\",\"missed\":0},{\"function\":\"vfs_write\","
           "\"deep\":{\"a\":1}}]}",
           "version: 1\n"
           "store:\n"
           "  jobs: 7\n"
           "  ok: yes\n"
           "  old: -\n"
           "ops: read, write\n"
           "none: none\n"
           "hooks:\n"
           "  - function: vfs_read\n"
           "    missed: 0\n"
           "  - function: vfs_write\n"
           "    deep:\n"
           "      a: 1\n");
}

static void test_tables(void **state)
{
    (void)state;
    expect("{\"hooks\":[{\"function\":\"vfs_read\",\"ops\":[\"read\"],\"run_time_ns\":1500},"
           "{\"function\":\"do_filp_open\",\"ops\":[\"open\",\"create\"],\"run_time_ns\":0,"
           "\"why\":\"\\u001bnone\"}],\"after\":1}",
           "hooks:\n"
           "  function      ops           run time  why\n"
           "  vfs_read      read          1.5 us\n"
           "  do_filp_open  open, create  0 ns      ?none\n"
           "after: 1\n");
    /* as wide as that, and not */
    for (unsigned columns = 22; columns >= 21; columns--)
        expect_in(columns, "{\"hooks\":[{\"function\":\"do_filp_open\",\"missed\":0}]}",
                  columns == 22 ? "hooks:\n"
                                  "  function      missed\n"
                                  "  do_filp_open  0\n"
                                : "hooks:\n"
                                  "  - function: do_filp_open\n"
                                  "    missed: 0\n");
    /* too wide: a list */
    expect("{\"a\":[{\"x\":\"0123456789012345678901234567890123456789012345678901234567890123456789"
           "01234567890123456789012345678901234567890123456789\",\"y\":1}]}",
           "a:\n"
           "  - x: 0123456789012345678901234567890123456789012345678901234567890123456789"
           "01234567890123456789012345678901234567890123456789\n"
           "    y: 1\n");
}

static void test_units(void **state)
{
    (void)state;
    expect("{\"bytes\":4096,\"keep_bytes\":1048576,\"wait_ns\":1500000,\"up_ns\":7000000000,"
           "\"interval_s\":10,\"next_at\":0,\"negative_s\":-1}",
           "bytes: 4.0 KiB\n"
           "keep: 1.0 MiB\n"
           "wait: 1.5 ms\n"
           "up: 00:00:07\n"
           "interval: 00:00:10\n"
           "next: never\n"
           "negative: -1\n");
}

static void test_untrusted_text(void **state)
{
    (void)state;
    expect("{\"a\\u001b[2J\":\"x\\u001b]0;evil\\u0007\\ny\"}", "a?[2J: x?]0;evil??y\n");
}

static void json_becomes(const char *value, const char *want)
{
    struct json_object *s = json_object_new_string(value);
    _free_ char *text = output_json_text(s);
    struct json_object *again = json_tokener_parse(text);

    assert_string_equal(text, want);
    assert_non_null(again);
    json_object_put(again);
    json_object_put(s);
}

static void test_json_is_safe(void **state)
{
    (void)state;
    json_becomes("/scratch/\xc3\xa4", "\"/scratch/\xc3\xa4\"\n");
    json_becomes("\033[31m", "\"\\u001b[31m\"\n");
    json_becomes("a\177b", "\"a\\u007fb\"\n");
    json_becomes("\xc2\x9b"
                 "31m",
                 "\"\\u009b31m\"\n");
    json_becomes("\x9b"
                 "31m",
                 "\"\\ufffd31m\"\n");
    json_becomes("\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"\n");
    json_becomes("\xf0\x9f\x98\x80\xed\xa0\x80", "\"\xf0\x9f\x98\x80\\ufffd\\ufffd\\ufffd\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),      cmocka_unit_test(test_tables),
        cmocka_unit_test(test_units),        cmocka_unit_test(test_untrusted_text),
        cmocka_unit_test(test_json_is_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
