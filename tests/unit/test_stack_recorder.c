/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A burst of stacks is read in parts, so that the caller can do its other work, and all of it
 * counts in the end. The probe is this test's. */
#include "config.h"

#include "tests/unit/test.h"

#include "bpf/stack_records.h"
#include "collector/probe/stacks.h"
#include "collector/stacks/recorder.h"
#include "common/cleanup.h"

#define STEP 5
#define NO_PROCESS 0x7fffffff /* no process has this number */
#define READ_MAX 32           /* recorder.c: stacks of one reading */

static uint32_t reported; /* stacks that have not been read */

int probe_stacks_start(struct probe *probe, uint32_t step, struct stack_limits *limits,
                       struct error *error)
{
    (void)probe;
    (void)error;
    assert_int_equal(step, STEP);
    assert_int_equal(limits->per_second, 100);
    return 0;
}

int probe_stacks_counts(const struct probe *probe, uint32_t step, struct stack_counts *ret,
                        struct error *error)
{
    (void)probe;
    (void)step;
    (void)error;
    *ret = (struct stack_counts){0};
    return 0;
}

int probe_stacks_fd(const struct probe *probe)
{
    (void)probe;
    return -1;
}

int probe_stacks(struct probe *probe, uint32_t max, probe_stack_f each, void *arg,
                 struct error *error)
{
    static const uint64_t registers[STACK_REGISTERS];
    const struct probe_stack stack = {.step = STEP,
                                      .pid = NO_PROCESS,
                                      .time_ns = 1000,
                                      .comm = "comm\0\0\0\0\0\0\0\0\0\0\0",
                                      .registers = registers};

    (void)probe;
    (void)error;
    for (; reported && max; reported--, max--)
        each(&stack, arg);
    return max ? 0 : 1;
}

static struct stack_recorder *start(void)
{
    const struct stack_limits limits = {.least_ns = 1000, .per_second = 100};
    struct stack_recorder *ret = NULL;
    struct error error;

    if (stack_recorder_create(&ret, NULL, &limits, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(stack_recorder_start(ret, STEP, &error), 0);
    return ret;
}

static void test_burst(void **state)
{
    struct stack_recorder *recorder = start();
    struct stack_profile profile = {0};
    struct error error;

    (void)state;
    reported = 100;
    assert_int_equal(stack_recorder_read(recorder, &error), 1);
    assert_int_equal(reported, 100 - READ_MAX);
    assert_int_equal(stack_recorder_finish(recorder, &profile, &error), 0);
    assert_int_equal(reported, 0);
    assert_int_equal(profile.unread.calls, 100);
    assert_int_equal(profile.unread.time_ns, 100 * 1000);
    stack_profile_clear(&profile);
    stack_recorder_destroy(recorder);
}

static void test_few(void **state)
{
    struct stack_recorder *recorder = start();
    struct error error;

    (void)state;
    reported = READ_MAX - 1;
    assert_int_equal(stack_recorder_read(recorder, &error), 0);
    assert_int_equal(reported, 0);
    stack_recorder_destroy(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
