/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With real munged processes: two of them are two clusters. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/credential.h"
#include "tests/unit/munged.h"

static struct munged *ours, *theirs;

static int start(void **state)
{
    (void)state;
    if (!munged_is_there())
        return 0;
    ours = munged_start();
    theirs = munged_start();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    munged_stop(ours);
    munged_stop(theirs);
    return 0;
}

static char *make(const void *payload, size_t size)
{
    struct error error;
    char *text = NULL;

    assert_int_equal(credential_make(munged_socket(ours), geteuid(), payload, size, &text, &error),
                     0);
    return text;
}

static int open_text(const struct munged *where, const char *text, struct error *error)
{
    char *payload = NULL;
    size_t size;
    struct credential_maker maker;
    int r = credential_open(munged_socket(where), text, &payload, &size, &maker, error);

    free(payload);
    return r;
}

static void test_payload(void **state)
{
    static const char payload[] = "bytes\0 of any kind\xff";
    char *text = make(payload, sizeof(payload)), *found = NULL;
    struct error error;
    size_t size = 0;
    struct credential_maker maker = {.uid = 12345};

    (void)state;
    assert_int_equal(credential_open(munged_socket(ours), text, &found, &size, &maker, &error), 0);
    assert_int_equal(size, sizeof(payload));
    assert_memory_equal(found, payload, sizeof(payload));
    assert_int_equal(found[size], 0);
    assert_int_equal(maker.uid, geteuid());
    free(found);
    free(text);
}

/* Only the reader can open it, as whoever made it cannot. */
static void test_reader(void **state)
{
    struct error error;
    char *text = NULL;

    (void)state;
    assert_int_equal(
        credential_make(munged_socket(ours), geteuid() + 1, "secret", 6, &text, &error), 0);
    assert_int_equal(open_text(ours, text, &error), -EACCES);
    free(text);
}

static void test_replay(void **state)
{
    char *text = make("x", 1);
    struct error error;

    (void)state;
    assert_int_equal(open_text(ours, text, &error), 0);
    assert_int_equal(open_text(ours, text, &error), -EALREADY);
    assert_non_null(strstr(error.text, "eplay"));
    free(text);
}

static void test_other_cluster(void **state)
{
    char *text = make("x", 1);
    struct error error;

    (void)state;
    assert_int_equal(open_text(theirs, text, &error), -EKEYREJECTED);
    free(text);
}

static void test_damage(void **state)
{
    char *text = make("payload", 7);
    struct error error;

    (void)state;
    text[strlen(text) / 2] ^= 1;
    assert_true(open_text(ours, text, &error) < 0);
    assert_int_equal(open_text(ours, "", &error), -EKEYREJECTED);
    assert_int_equal(open_text(ours, "MUNGE:nonsense:", &error), -EKEYREJECTED);
    free(text);
}

static void test_sizes(void **state)
{
    char *large = calloc(1, CREDENTIAL_PAYLOAD_MAX + 1), *text = NULL;
    struct error error;

    (void)state;
    assert_non_null(large);
    assert_int_equal(
        credential_make(munged_socket(ours), 0, large, CREDENTIAL_PAYLOAD_MAX + 1, &text, &error),
        -EMSGSIZE);
    assert_null(text);
    text = make(large, CREDENTIAL_PAYLOAD_MAX);
    assert_true(strlen(text) <= CREDENTIAL_TEXT_MAX);
    assert_int_equal(open_text(ours, text, &error), 0);
    free(text);
    text = make("", 0);
    assert_int_equal(open_text(ours, text, &error), 0);
    free(text);
    free(large);
}

static void test_no_munged(void **state)
{
    struct error error;
    char *text = NULL;

    (void)state;
    assert_int_equal(credential_make("/nonexistent/socket", 0, "x", 1, &text, &error), -ENOTCONN);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_payload),   cmocka_unit_test(test_reader),
        cmocka_unit_test(test_replay),    cmocka_unit_test(test_other_cluster),
        cmocka_unit_test(test_damage),    cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_no_munged),
    };

    if (!munged_is_there())
        return 77;
    return cmocka_run_group_tests(tests, start, stop);
}
