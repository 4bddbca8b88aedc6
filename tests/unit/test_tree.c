/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A JSON document that grows: what it looks like, and that one part that is not to be had spoils
 * it. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/account_text.h"
#include "common/cleanup.h"
#include "common/job.h"
#include "common/tree.h"
#include "tests/unit/fault.h"

static void assert_text(struct json_object *document, const char *expected)
{
    char *text = tree_text(document);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void test_members(void **state)
{
    struct tree tree = {false};
    struct json_object *o = tree_object(&tree), *inner = tree_object(&tree);

    (void)state;
    tree_put_u64(&tree, o, "most", UINT64_MAX);
    tree_put_bool(&tree, o, "yes", true);
    tree_put_text(&tree, o, "path", "/a \"b\"\x1b\xff");
    tree_put_text(&tree, o, "absent", NULL);
    tree_put_seconds(&tree, o, "s", UINT64_C(1720000000123456789));
    tree_put(&tree, o, "inner", inner);
    assert_text(tree_end(&tree, o), "{\"most\":18446744073709551615,\"yes\":true,"
                                    "\"path\":\"/a \\\"b\\\"\\u001b?\",\"s\":1720000000.123456789,"
                                    "\"inner\":{}}");
}

static void test_numbers(void **state)
{
    struct tree tree = {false};
    struct json_object *o = tree_object(&tree);

    (void)state;
    tree_put_number(&tree, o, "three", 0.12345, 3);
    tree_put_number(&tree, o, "whole", 7, TREE_FEW);
    tree_put_number(&tree, o, "part", 7.25, TREE_FEW);
    tree_put_number(&tree, o, "large", 1e16, TREE_FEW);
    assert_text(tree_end(&tree, o),
                "{\"three\":0.123,\"whole\":7,\"part\":7.250000,\"large\":10000000000000000}");
}

static void test_items(void **state)
{
    struct tree tree = {false};
    struct json_object *array = tree_array(&tree);

    (void)state;
    tree_add_u64(&tree, array, 1);
    tree_add_text(&tree, array, "two");
    tree_add(&tree, array, tree_array(&tree));
    assert_text(tree_end(&tree, array), "[1,\"two\",[]]");
}

static void test_a_failure_spoils_all(void **state)
{
    struct tree put = {false}, add = {false}, to = {false}, text = {false};
    struct json_object *o = tree_object(&put), *array = tree_array(&add);

    (void)state;
    tree_put(&put, o, "missing", NULL);
    tree_put_u64(&put, o, "there", 1);
    assert_null(tree_end(&put, o));
    tree_add(&add, array, NULL);
    assert_null(tree_end(&add, array));
    tree_put_u64(&to, NULL, "nowhere", 1);
    assert_true(to.failed);
    array = tree_array(&text);
    tree_add_text(&text, array, NULL);
    assert_null(tree_end(&text, array));
    assert_null(tree_text(NULL));
}

/* --- without memory --------------------------------------------------------------------------- */

/* More than json-c's buffer has at first, in many small pieces and in a large one. */
#define LONG \
    "/a/long/path/of/more/than/a/hundred/bytes/which/json-c/copies/with/one/call/without/a/stop/"
static char *text;

static struct json_object *make_large(void)
{
    struct tree tree = {false};
    struct json_object *o = tree_object(&tree), *array = tree_array(&tree);

    for (unsigned i = 0; i < 50; i++)
        tree_add_u64(&tree, array, i);
    tree_put(&tree, o, "numbers", array);
    tree_put_text(&tree, o, "escapes", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n");
    tree_put_text(&tree, o, "path", LONG LONG LONG LONG LONG LONG);
    tree_put_seconds(&tree, o, "s", UINT64_C(1720000000123456789));
    return tree_end(&tree, o);
}

static void prepare(void)
{
    text = NULL;
}

static int run(struct error *error)
{
    text = tree_text(make_large());
    return text ? 0 : error_set(error, -ENOMEM, "no text");
}

static void check(int r, bool hit)
{
    char *exact = tree_text(make_large());

    (void)hit;
    assert_true((r == 0) == (text != NULL));
    if (text)
        assert_string_equal(text, exact);
    free(exact);
    free(text);
}

/* The text is exact, or there is none. */
static void test_memory(void **state)
{
    static const struct fault_scenario scenario = {"print a document", prepare, run, check};

    (void)state;
    fault_each(FAULT_MEMORY, &scenario, 1);
}

/* As a database of somebody else may hold them. */
static void test_texts_of_strangers(void **state)
{
    CLEANUP(completeness_clear) struct completeness c = {0};
    uint64_t ops = 0;

    (void)state;
    assert_int_equal(io_ops_parse("[null,\"read\",7,\"later\",{}]", &ops), 0);
    assert_int_equal(ops, 1u << IO_READ);
    assert_int_equal(
        completeness_parse("[{\"cause\":\"map-full\",\"count\":3,\"ops\":[null,\"read\"]}]", &c),
        0);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.items[0].ops, 1u << IO_READ);
    assert_int_equal(completeness_parse("[{\"cause\":null,\"count\":3}]", &c), -EBADMSG);
    assert_int_equal(completeness_parse("[null]", &c), -EBADMSG);
    assert_int_equal(completeness_parse("{", &c), -EBADMSG);
    assert_int_equal(c.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_items),   cmocka_unit_test(test_a_failure_spoils_all),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_texts_of_strangers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
