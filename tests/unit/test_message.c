/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/message.h"

/* A message on the heap of exactly its size, so that a sanitizer detects reads past its data. */
static struct message *raw(const char *data, size_t size)
{
    struct message *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    memcpy(m->data, data, size < MESSAGE_MAX ? size : MESSAGE_MAX);
    m->size = size;
    return m;
}

static int check(const char *data, size_t size)
{
    struct error e = {""};
    struct message *m = raw(data, size);
    int r = message_check(m, &e);

    free(m);
    assert_true(r == 0 || e.text[0] != '\0');
    return r;
}

static void test_what_was_put_is_read(void **state)
{
    struct message *m = raw("", 0);
    const char *f;
    uint64_t n = 0;

    (void)state;
    message_init(m, "tag");
    assert_int_equal(message_put(m, "NAME", "a=b\nc"), 0);
    assert_int_equal(message_put(m, "NONE", NULL), 0);
    assert_int_equal(message_put(m, "EMPTY", ""), 0);
    assert_int_equal(message_put_u64(m, "BIG", UINT64_MAX), 0);
    assert_int_equal(message_check(m, NULL), 0);
    assert_memory_equal(m->data, "VERSION=1\0TYPE=tag\0NAME=a=b\nc\0EMPTY=\0", 37);
    assert_string_equal(message_get(m, "NAME"), "a=b\nc");
    assert_string_equal(message_get(m, "EMPTY"), "");
    assert_null(message_get(m, "NONE"));
    assert_null(message_get(m, "NAM"));
    assert_int_equal(message_get_u64(m, "BIG", UINT64_MAX, 7, &n, NULL), 0);
    assert_true(n == UINT64_MAX);
    f = message_next(m, message_next(m, message_next(m, NULL)));
    assert_string_equal(f, "NAME=a=b\nc");
    assert_null(message_next(m, message_next(m, message_next(m, f))));
    free(m);
}

static void test_full_message_stays_as_it_was(void **state)
{
    struct message *m = raw("", 0);
    char *value = malloc(MESSAGE_MAX + 2);
    size_t size, room;

    (void)state;
    assert_non_null(value);
    message_init(m, "x");
    size = m->size;
    room = MESSAGE_MAX - size - strlen("K=") - 1;
    memset(value, 'v', MESSAGE_MAX + 1);
    value[MESSAGE_MAX + 1] = '\0';
    assert_int_equal(message_put(m, "K", value), -EMSGSIZE);
    value[room + 1] = '\0';
    assert_int_equal(message_put(m, "K", value), -EMSGSIZE);
    assert_int_equal(m->size, size);
    value[room] = '\0';
    assert_int_equal(message_put(m, "K", value), 0);
    assert_int_equal(m->size, MESSAGE_MAX);
    assert_int_equal(message_check(m, NULL), 0);
    assert_int_equal(strlen(message_get(m, "K")), room);
    assert_int_equal(message_put(m, "", ""), -EMSGSIZE);
    free(value);
    free(m);
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t max;
        int r;
        uint64_t value;
    } cases[] = {
        {"0", 9, 0, 0},
        {"007", 9, 0, 7},
        {"4294967295", UINT32_MAX, 0, UINT32_MAX},
        {"4294967296", UINT32_MAX, -EINVAL, 0},
        {"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, -EINVAL, 0},
        {"99999999999999999999", UINT64_MAX, -EINVAL, 0},
        {"", 9, -EINVAL, 0},
        {"-1", UINT64_MAX, -EINVAL, 0},
        {"+1", 9, -EINVAL, 0},
        {" 1", 9, -EINVAL, 0},
        {"1 ", 9, -EINVAL, 0},
        {"0x1", 9, -EINVAL, 0},
        {"1e3", 9, -EINVAL, 0},
    };
    struct message *m = raw("", 0);
    struct error e;
    uint64_t n;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        message_init(m, "x");
        message_put(m, "N", cases[i].text);
        n = 12345;
        assert_int_equal(message_get_u64(m, "N", cases[i].max, 1, &n, &e), cases[i].r);
        assert_true(n == (cases[i].r == 0 ? cases[i].value : 12345));
    }
    assert_non_null(strstr(e.text, "N \"1e3\""));
    assert_int_equal(message_get_u64(m, "MISSING", 9, 42, &n, &e), 0);
    assert_int_equal(n, 42);
    free(m);
}

#define CHECK(literal) check(literal, sizeof(literal) - 1)

static void test_check(void **state)
{
    char *big = malloc(MESSAGE_MAX);

    (void)state;
    assert_int_equal(CHECK("VERSION=1\0TYPE=tag\0"), 0);
    assert_int_equal(CHECK("VERSION=1\0"), 0);
    assert_int_equal(CHECK("VERSION=1\0UNKNOWN=x\0A=\0"), 0);
    assert_int_equal(CHECK(""), -EBADMSG);
    assert_int_equal(CHECK("V"), -EBADMSG);
    assert_int_equal(CHECK("\0"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=1"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=1\0TYPE=ta"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=1\0TYPE\0"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=1\0=tag\0"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=1\0\0"), -EBADMSG);
    assert_int_equal(CHECK("TYPE=tag\0VERSION=1\0"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=one\0"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=\0"), -EBADMSG);
    assert_int_equal(CHECK("VERSION=2\0TYPE=tag\0"), -EPROTONOSUPPORT);
    assert_int_equal(CHECK("VERSION=0\0TYPE=tag\0"), -EPROTONOSUPPORT);

    assert_non_null(big);
    memset(big, 'x', MESSAGE_MAX);
    memcpy(big, "VERSION=1\0K=", 12);
    assert_int_equal(check(big, MESSAGE_MAX), -EBADMSG);
    assert_int_equal(check(big, MESSAGE_MAX + 1), -EBADMSG);
    assert_int_equal(check(big, SIZE_MAX), -EBADMSG);
    big[MESSAGE_MAX - 1] = '\0';
    assert_int_equal(check(big, MESSAGE_MAX), 0);
    free(big);
}

/* Every byte string is either refused or can be walked to its end: no read outside (sanitizers),
 * no field that the walk does not find. */
static void test_garbage(void **state)
{
    static const char alphabet[] = "\0=VERSION1AB\0\n";
    struct message *m = raw("", 0);
    unsigned seed = 1, good = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t walked = 0, n = (size_t)rand_r(&seed) % 40;

        memcpy(m->data, "VERSION=1", 10);
        m->size = round % 2 ? 10 : 0;
        for (size_t i = 0; i < n; i++)
            m->data[m->size++] = alphabet[(size_t)rand_r(&seed) % (sizeof(alphabet) - 1)];
        if (message_check(m, NULL) < 0)
            continue;
        for (const char *f = message_next(m, NULL); f; f = message_next(m, f))
            walked += strlen(f) + 1;
        assert_int_equal(walked, m->size);
        good++;
    }
    assert_true(good > 0);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_put_is_read),
        cmocka_unit_test(test_full_message_stays_as_it_was),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_garbage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
