/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks are unwound in a process of the user's, whose failure is noticed and does not block. This
 * program is that process, too. */
#define _GNU_SOURCE
#include "config.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "collector/stacks/unwinder.h"
#include "common/cleanup.h"
#include "tests/unit/taken_stack.h"

#define FUNCTION __attribute__((noinline, noclone))
#define OTHER_ID 65534

/* The process whose stacks are unwound: a copy of this one without privileges, because the unwinder
 * has none. */
static pid_t target;
static uid_t target_uid;

/* --- a stack of this program ------------------------------------------------------------------ */

FUNCTION static int inner(struct taken *taken)
{
    ucontext_t context;

    assert_int_equal(getcontext(&context), 0);
    taken_fill(taken, &context);
    return 1;
}

FUNCTION static int outer(struct taken *taken)
{
    return inner(taken) + 1;
}

/* --- the process ------------------------------------------------------------------------------ */

static pid_t start_user(void)
{
    pid_t pid;
    char byte;
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) == 0 && setgid(OTHER_ID) == 0 && setuid(OTHER_ID) == 0 &&
            prctl(PR_SET_DUMPABLE, 1) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
            write(ready[1], "", 1) == 1)
            (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static int set_up(void **state)
{
    (void)state;
    target = getuid() == 0 ? start_user() : getpid();
    target_uid = getuid() == 0 ? OTHER_ID : getuid();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return target != getpid() && (kill(target, SIGKILL) < 0 || waitpid(target, NULL, 0) != target);
}

static struct unwinder *start(void)
{
    struct unwinder *unwinder = NULL;
    struct error error;

    if (unwinder_start(&unwinder, (uint32_t)target, target_uid, &error) < 0)
        fail_msg("%s", error.text);
    return unwinder;
}

/* The process that unwinds. */
static pid_t find_unwinder(void)
{
    _fclose_ FILE *in = NULL;
    char path[64];
    int pid = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", getpid(), getpid());
    in = fopen(path, "re");
    assert_non_null(in);
    while (fscanf(in, "%d", &pid) == 1)
        if (pid != target)
            return pid;
    fail_msg("there is no unwinder");
    return -1;
}

static int answer_of(struct unwinder *unwinder, struct stack_profile *ret, struct error *error)
{
    struct pollfd fds[2] = {{.events = POLLOUT}, {.events = POLLIN}};
    int r;

    unwinder_finish(unwinder);
    while ((r = unwinder_take(unwinder, ret, error)) == -EAGAIN) {
        fds[0].fd = unwinder_input(unwinder);
        fds[1].fd = unwinder_output(unwinder);
        assert_true(poll(fds, 2, 60000) > 0);
        if (fds[0].fd >= 0 && fds[0].revents)
            (void)unwinder_flush(unwinder);
    }
    return r;
}

static void end(struct unwinder *unwinder)
{
    while (!unwinder_destroy(unwinder))
        (void)usleep(1000);
}

static void test_answer(void **state)
{
    _free_ struct taken *taken = taken_create(target, outer);
    struct unwinder *unwinder = start();
    struct stack_profile profile = {0};
    struct error error;

    (void)state;
    taken->stack.time_ns = 7;
    for (int i = 0; i < 300; i++)
        assert_true(unwinder_send(unwinder, &taken->stack));
    if (answer_of(unwinder, &profile, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(profile.n, 1);
    assert_non_null(strstr(profile.stacks[0].text, ";outer\ttest_unwinder;inner\ttest_unwinder"));
    assert_int_equal(profile.stacks[0].weight.calls, 300);
    assert_int_equal(profile.stacks[0].weight.time_ns, 2100);
    assert_int_equal(profile.other.calls, 0);
    stack_profile_clear(&profile);
    end(unwinder);
}

static void test_no_stacks(void **state)
{
    struct unwinder *unwinder = start();
    struct stack_profile profile = {0};
    struct error error;

    (void)state;
    assert_int_equal(answer_of(unwinder, &profile, &error), 0);
    assert_int_equal(stack_profile_sum(&profile).calls, 0);
    stack_profile_clear(&profile);
    end(unwinder);
}

static void test_death(void **state)
{
    _free_ struct taken *taken = taken_create(target, outer);
    struct unwinder *unwinder = start();
    struct stack_profile profile = {0};
    struct error error;

    (void)state;
    assert_true(unwinder_send(unwinder, &taken->stack));
    assert_int_equal(kill(find_unwinder(), SIGKILL), 0);
    assert_int_equal(answer_of(unwinder, &profile, &error), -EIO);
    assert_string_equal(error.text, "the process that unwinds stacks was killed");
    assert_int_equal(profile.n, 0);
    (void)unwinder_send(unwinder, &taken->stack);
    end(unwinder);
}

/* A stopped process reads nothing: what waits for it is bounded. */
static void test_stop(void **state)
{
    _free_ struct taken *taken = taken_create(target, outer);
    struct unwinder *unwinder = start();
    unsigned sent = 0;

    (void)state;
    assert_int_equal(kill(find_unwinder(), SIGSTOP), 0);
    taken->stack.size = sizeof(taken->bytes);
    while (sent < 10000 && unwinder_send(unwinder, &taken->stack))
        sent++;
    assert_true(sent >= 200 && sent < 1000);
    end(unwinder);
}

static void test_cpu_time(void **state)
{
    (void)state;
    assert_true(unwinder_may_go_on(UNWINDER_FREE_NS - 1, 0));
    assert_false(unwinder_may_go_on(UNWINDER_FREE_NS, 0));
    assert_true(unwinder_may_go_on(UNWINDER_FREE_NS + 2 * NS_PER_S - 1, 100 * NS_PER_S)); /* 2 % */
    assert_false(unwinder_may_go_on(UNWINDER_FREE_NS + 2 * NS_PER_S, 100 * NS_PER_S));
}

/* --- the user --------------------------------------------------------------------------------- */

static void test_other_users(void **state)
{
    struct unwinder *unwinder = NULL;
    pid_t ended = fork();
    struct error error;

    (void)state;
    if (ended == 0)
        _exit(0);
    assert_int_equal(unwinder_start(&unwinder, (uint32_t)target, target_uid + 1, &error), -EPERM);
    assert_int_equal(waitpid(ended, NULL, 0), ended);
    assert_int_equal(unwinder_start(&unwinder, (uint32_t)ended, target_uid, &error), -ESRCH);
}

static void assert_status(pid_t pid, const char *line)
{
    _fclose_ FILE *in = NULL;
    char path[32], text[4096];
    size_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    in = fopen(path, "re");
    assert_non_null(in);
    n = fread(text, 1, sizeof(text) - 1, in);
    text[n] = '\0';
    if (!strstr(text, line))
        fail_msg("no \"%s\" in %s", line, text);
}

static void test_privileges(void **state)
{
    struct unwinder *unwinder;
    struct stack_profile profile = {0};
    struct taken *taken;
    struct error error;
    pid_t pid;

    (void)state;
    if (getuid() != 0)
        skip();
    taken = taken_create(target, outer);
    unwinder = start();
    pid = find_unwinder();
    /* It has read them all when there is room for so many more than the socket has. */
    for (int i = 0; i < 300; i++)
        assert_true(unwinder_send(unwinder, &taken->stack));
    while (unwinder_flush(unwinder))
        assert_true(poll(&(struct pollfd){unwinder_input(unwinder), POLLOUT, 0}, 1, 60000) > 0);
    assert_status(pid, "Uid:\t65534\t65534\t65534\t65534\n");
    assert_status(pid, "Gid:\t65534\t65534\t65534\t65534\n");
    assert_status(pid, "Groups:\t \n");
    assert_status(pid, "CapPrm:\t0000000000000000\n");
    assert_status(pid, "CapEff:\t0000000000000000\n");
    assert_status(pid, "NoNewPrivs:\t1\n");
    assert_int_equal(answer_of(unwinder, &profile, &error), 0);
    assert_int_equal(stack_profile_sum(&profile).calls, 300);
    stack_profile_clear(&profile);
    end(unwinder);
    free(taken);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),     cmocka_unit_test(test_no_stacks),
        cmocka_unit_test(test_death),      cmocka_unit_test(test_stop),
        cmocka_unit_test(test_cpu_time),   cmocka_unit_test(test_other_users),
        cmocka_unit_test(test_privileges),
    };

    if (argc > 1 && !strcmp(argv[1], UNWINDER_ARGUMENT))
        return unwinder_main(argc, argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
