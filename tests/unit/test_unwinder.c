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

#include "bpf/stack_records.h"
#include "collector/stacks/unwinder.h"
#include "common/cleanup.h"
#include "common/proc_stat.h"

#define FUNCTION __attribute__((noinline, noclone))
#define OTHER_ID 65534

/* The process whose stacks are unwound: a copy of this one without privileges, because the unwinder
 * has none. */
static pid_t target;
static uid_t target_uid;

/* --- a stack of this program ------------------------------------------------------------------ */

struct taken {
    struct probe_stack stack;
    uint64_t registers[STACK_REGISTERS];
    uint8_t bytes[STACK_CHUNK * STACK_CHUNKS];
};

static void fill(struct taken *taken, const ucontext_t *context)
{
    static const struct {
        enum stack_register to;
        int from;
    } pairs[] = {
        {STACK_RBX, REG_RBX}, {STACK_RBP, REG_RBP}, {STACK_R12, REG_R12}, {STACK_R13, REG_R13},
        {STACK_R14, REG_R14}, {STACK_R15, REG_R15}, {STACK_RIP, REG_RIP}, {STACK_RSP, REG_RSP},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        taken->registers[pairs[i].to] = (uint64_t)context->uc_mcontext.gregs[pairs[i].from];
    taken->registers[STACK_CS] = 0x33;
    taken->stack.registers = taken->registers;
    taken->stack.from = taken->registers[STACK_RSP] & -(uint64_t)STACK_CHUNK;
    taken->stack.bytes = taken->bytes;
    taken->stack.size = taken->stack.stack_start - taken->stack.from;
    if (taken->stack.size > sizeof(taken->bytes))
        taken->stack.size = sizeof(taken->bytes);
    memcpy(taken->bytes, (const void *)taken->stack.from, taken->stack.size);
}

FUNCTION static int inner(struct taken *taken)
{
    ucontext_t context;

    assert_int_equal(getcontext(&context), 0);
    fill(taken, &context);
    return 1;
}

FUNCTION static int outer(struct taken *taken)
{
    return inner(taken) + 1;
}

static uint64_t stack_start(void)
{
    _fclose_ FILE *in = fopen("/proc/self/stat", "re");
    char line[1024];
    uint64_t ret;

    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    assert_int_equal(proc_stat_number(line, PROC_STAT_STACK, &ret), 0);
    return ret;
}

static struct taken *take(int (*function)(struct taken *))
{
    struct taken *taken = calloc(1, sizeof(*taken));

    assert_non_null(taken);
    taken->stack.pid = (uint32_t)target;
    taken->stack.stack_start = stack_start();
    taken->stack.comm = "comm\0\0\0\0\0\0\0\0\0\0\0";
    assert_true(function(taken) > 0);
    return taken;
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
    _free_ struct taken *taken = take(outer);
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
    _free_ struct taken *taken = take(outer);
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
    _free_ struct taken *taken = take(outer);
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
    taken = take(outer);
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
        cmocka_unit_test(test_answer),      cmocka_unit_test(test_no_stacks),
        cmocka_unit_test(test_death),       cmocka_unit_test(test_stop),
        cmocka_unit_test(test_other_users), cmocka_unit_test(test_privileges),
    };

    if (argc > 1 && !strcmp(argv[1], UNWINDER_ARGUMENT))
        return unwinder_main(argc, argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
