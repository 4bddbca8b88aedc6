/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Origins of credentials. Addresses as names, so that they need no name service. */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "collector/peers/origins.h"

#define NODE "192.0.2.1"
#define ELSEWHERE "192.0.2.2"

static sd_event *loop;
static struct origins *origins;
static int result, n_done;
static char why[256];

static void start(enum origins_mode mode)
{
    struct error error;

    assert_true(sd_event_new(&loop) >= 0);
    assert_int_equal(origins_create(&origins, loop, mode, &error), 0);
}

static void stop(void)
{
    origins_destroy(origins);
    loop = sd_event_unref(loop);
}

static void on_done(int r, const struct error *error, void *arg)
{
    (void)arg;
    result = r;
    (void)snprintf(why, sizeof(why), "%s", r < 0 ? error->text : "");
    n_done++;
}

static void submit(const char *node, const char *origin)
{
    struct in_addr address;

    assert_int_equal(inet_pton(AF_INET, origin, &address), 1);
    origins_check(origins, node, address, on_done, NULL);
}

static int check(const char *node, const char *origin)
{
    int before = n_done;

    submit(node, origin);
    while (n_done == before)
        assert_true(sd_event_run(loop, UINT64_MAX) >= 0);
    return result;
}

static void test_yes(void **state)
{
    (void)state;
    start(ORIGINS_YES);
    assert_int_equal(check(NODE, NODE), 0);
    assert_int_equal(check(NODE, ELSEWHERE), -EREMOTE);
    assert_non_null(strstr(why, "192.0.2.2, is not an address of 192.0.2.1"));
    assert_int_equal(check(NODE, "127.0.0.1"), -EREMOTE);
    assert_int_equal(check(NODE, "0.0.0.0"), -EREMOTE);
    assert_int_equal(check("127.0.0.2", "127.0.0.1"), 0);
    assert_int_equal(check("127.0.0.2", NODE), -EREMOTE);
    assert_int_equal(check("no name of a host", NODE), -EAGAIN);
    assert_int_equal(origins_unconfirmed(origins), 0);
    stop();
}

static void test_no(void **state)
{
    (void)state;
    start(ORIGINS_NO);
    for (int i = 0; i < 3; i++)
        assert_int_equal(check(NODE, ELSEWHERE), 0);
    assert_int_equal(origins_unconfirmed(origins), 0);
    stop();
}

/* Nothing waits for a name, and a site whose addresses differ loses nothing. */
static void test_auto(void **state)
{
    (void)state;
    start(ORIGINS_AUTO);
    submit(NODE, ELSEWHERE);
    assert_int_equal(n_done, 1);
    while (!origins_unconfirmed(origins)) {
        assert_true(sd_event_run(loop, 20000) >= 0);
        assert_int_equal(check(NODE, ELSEWHERE), 0);
    }
    assert_int_equal(check(NODE, NODE), 0);
    assert_int_equal(check(NODE, ELSEWHERE), -EREMOTE);
    assert_int_equal(check("198.51.100.1", ELSEWHERE), 0);
    stop();
}

/* More names than threads, and one end for those that wait. */
static void test_end(void **state)
{
    char name[32];

    (void)state;
    start(ORIGINS_YES);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "198.51.100.%d", i);
        submit(name, name);
    }
    assert_int_equal(n_done, 0);
    while (n_done < 50)
        assert_true(sd_event_run(loop, UINT64_MAX) >= 0);
    assert_int_equal(result, 0);
    stop();
    assert_int_equal(n_done, 100);
}

static int reset(void **state)
{
    (void)state;
    n_done = 0;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_yes, reset),
        cmocka_unit_test_setup(test_no, reset),
        cmocka_unit_test_setup(test_auto, reset),
        cmocka_unit_test_setup(test_end, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
