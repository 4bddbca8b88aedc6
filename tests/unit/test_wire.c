/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between nodes: which are accepted. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/peers/wire.h"

static const struct wire_head ours = {"c", "n2", "n1", "42"};

static bool no_random;

/* Instead of libc's. */
ssize_t getrandom(void *to, size_t size, unsigned flags)
{
    if (no_random) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_getrandom, to, size, flags);
}

/* The result of parsing this payload on node n1 of cluster c. */
static int parse(const char *text, const struct wire_head *wanted, struct error *error)
{
    struct json_object *document = NULL;
    int r = wire_parse(text, strlen(text), wanted, &document, error);

    assert_true((r == 0) == (document != NULL));
    json_object_put(document);
    return r;
}

static void test_there_and_back(void **state)
{
    struct json_object *document = wire_create(&ours);
    struct error error;
    unsigned long long number;
    size_t size = 0;
    char *text;

    (void)state;
    assert_non_null(document);
    json_object_object_add(document, "jobid", json_object_new_int64(4294967295));
    text = wire_text(document, &size);
    assert_non_null(text);
    assert_int_equal(size, strlen(text));
    document = NULL;
    assert_int_equal(wire_parse(text, size, &ours, &document, &error), 0);
    assert_string_equal(wire_string(document, "from"), "n2");
    assert_string_equal(wire_string(document, "absent"), "");
    assert_int_equal(wire_number(document, "jobid", 4294967295, &number, &error), 0);
    assert_int_equal(number, 4294967295);
    assert_int_equal(wire_number(document, "jobid", 4294967294, &number, &error), -EBADMSG);
    assert_int_equal(wire_number(document, "from", 10, &number, &error), -EBADMSG);
    assert_int_equal(wire_number(document, "absent", 10, &number, &error), -EBADMSG);
    json_object_put(document);
    free(text);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"{\"version\":1,\"cluster\":\"c\",\"from\":\"n2\",\"to\":\"n1\",\"id\":\"42\","
         "\"new\":[\"ü\"]}",
         0},
        {"{\"version\":1,\"cluster\":\"d\",\"from\":\"n2\",\"to\":\"n1\",\"id\":\"42\"}", -EXDEV},
        {"{\"version\":1,\"cluster\":\"c\",\"from\":\"n2\",\"to\":\"n3\",\"id\":\"42\"}",
         -EADDRNOTAVAIL},
        {"{\"version\":1,\"cluster\":\"c\",\"from\":\"n3\",\"to\":\"n1\",\"id\":\"42\"}",
         -EADDRNOTAVAIL},
        {"{\"version\":1,\"cluster\":\"c\",\"from\":\"n2\",\"to\":\"n1\",\"id\":\"43\"}",
         -EADDRNOTAVAIL},
        {"{\"version\":1,\"cluster\":\"c\",\"from\":\"n2\",\"to\":\"n1\"}", -EADDRNOTAVAIL},
        {"{\"version\":2,\"cluster\":\"c\",\"from\":\"n2\",\"to\":\"n1\",\"id\":\"42\"}",
         -EPROTONOSUPPORT},
        {"{\"version\":-1}", -EBADMSG},
        {"{\"version\":\"1\"}", -EBADMSG},
        {"{}", -EBADMSG},
        {"[]", -EBADMSG},
        {"", -EBADMSG},
        {"{\"version\":1", -EBADMSG},
        {"{\"version\":1}}", -EBADMSG},
        {"null", -EBADMSG},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error error = {""};
        int r = parse(cases[i].text, &ours, &error);

        if (r != cases[i].result)
            fail_msg("%s: %d, not %d (%s)", cases[i].text, r, cases[i].result, error.text);
    }
}

static void test_the_other_version_is_named(void **state)
{
    struct error error = {""};

    (void)state;
    assert_int_equal(parse("{\"version\":7,\"from\":\"n9\"}", &ours, &error), -EPROTONOSUPPORT);
    assert_non_null(strstr(error.text, "n9"));
    assert_non_null(strstr(error.text, "7"));
}

static void test_ids_differ(void **state)
{
    char a[WIRE_ID_SIZE], b[WIRE_ID_SIZE];

    (void)state;
    assert_int_equal(wire_new_id(a), 0);
    assert_int_equal(wire_new_id(b), 0);
    assert_int_equal(strlen(a), WIRE_ID_SIZE - 1);
    assert_string_not_equal(a, b);
}

/* An id that can be guessed would not protect a query. */
static void test_no_random_numbers(void **state)
{
    char id[WIRE_ID_SIZE] = "";

    (void)state;
    no_random = true;
    assert_int_equal(wire_new_id(id), -ENOSYS);
    no_random = false;
    assert_string_equal(id, "");
}

static int read_steps(const char *text, struct mpi_parts *ret)
{
    struct json_object *document = json_tokener_parse(text);
    int r = wire_read_mpi_parts(document, ret, NULL);

    json_object_put(document);
    return r;
}

static void test_mpi_steps(void **state)
{
    static const struct mpi_part sent[] = {{2, 0, 1, 0}, {UINT32_MAX, UINT32_MAX - 2, 0, 7}};
    struct json_object *document = json_object_new_object();
    struct mpi_parts to = {0}, from = {0};

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(mpi_parts_add(&from, &sent[i]), 0);
    assert_int_equal(wire_put_mpi_parts(document, &from), 0);
    assert_int_equal(wire_read_mpi_parts(document, &to, NULL), 0);
    json_object_put(document);
    assert_int_equal(to.n, 2);
    assert_memory_equal(to.items, sent, sizeof(sent));
    assert_int_equal(to.unknown, 0);
    mpi_parts_clear(&from);
    mpi_parts_clear(&to);
}

/* An older jobiod counts nothing: its node is missing from what others counted. */
static void test_mpi_steps_are_unknown(void **state)
{
    static const struct mpi_part counted = {0, 0, 1, 0};
    struct mpi_parts parts = {0};

    (void)state;
    assert_int_equal(read_steps("{}", &parts), 0);
    assert_int_equal(mpi_parts_missing(&parts), 0);
    assert_int_equal(mpi_parts_add(&parts, &counted), 0);
    assert_int_equal(mpi_parts_missing(&parts), 1);
    mpi_parts_clear(&parts);
}

static void test_bad_mpi_steps(void **state)
{
    static const char *const texts[] = {
        "1", "null", "[1]", "[0,0,1,-1]", "[0,0,4294967296,0]", "[0,\"0\",0,0]"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct mpi_parts parts = {0};
        char text[64];

        (void)snprintf(text, sizeof(text), "{\"mpi_steps\":%s}", texts[i]);
        assert_int_equal(read_steps(text, &parts), -EBADMSG);
        mpi_parts_clear(&parts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_the_other_version_is_named),
        cmocka_unit_test(test_ids_differ),
        cmocka_unit_test(test_no_random_numbers),
        cmocka_unit_test(test_mpi_steps),
        cmocka_unit_test(test_mpi_steps_are_unknown),
        cmocka_unit_test(test_bad_mpi_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
