/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who asked, with real processes. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/cgroup/peer.h"

static struct error error;
static pid_t child;

static int setup(void **state)
{
    (void)state;
    child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    return child < 0;
}

static void end_child(void)
{
    if (child <= 0)
        return;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    child = 0;
}

static int teardown(void **state)
{
    (void)state;
    end_child();
    return 0;
}

static void test_its_own(void **state)
{
    int fd = peer_open(child, getuid(), &error);
    struct pollfd watched = {.fd = fd, .events = POLLIN};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(peer_check(fd, &error), 0);
    end_child();
    assert_int_equal(poll(&watched, 1, 5000), 1);
    assert_int_equal(peer_check(fd, &error), -ESRCH);
    assert_string_equal(error.text, "the process that asked has ended");
    close(fd);
}

/* The number that the socket told is another user's by now. */
static void test_the_process_of_another(void **state)
{
    (void)state;
    assert_int_equal(peer_open(child, getuid() + 1, &error), -EPERM);
    assert_non_null(strstr(error.text, "is not one of uid"));
}

static void test_a_process_that_has_gone(void **state)
{
    pid_t gone = child;

    (void)state;
    end_child();
    assert_int_equal(peer_open(gone, getuid(), &error), -ESRCH);
}

/* Ended, but its number is still taken. */
static void test_a_zombie(void **state)
{
    siginfo_t info;

    (void)state;
    (void)kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(peer_open(child, getuid(), &error), -ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_process_of_another, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_process_that_has_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_zombie, setup, teardown),
    };

    return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}
