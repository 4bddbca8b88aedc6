/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/stacks/recorder.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "collector/probe/stacks.h"
#include "collector/stacks/libdw.h"
#include "collector/stacks/profiler.h"
#include "common/cleanup.h"

/* Stacks of one reading: to unwind one can take milliseconds, in which the caller does nothing
 * else. */
#define READ_MAX 32

struct stack_recorder {
    struct probe *probe;
    struct stack_limits limits;
    uint32_t step;
    struct profiler *profiler;
};

DEFINE_CLEANUP(struct stack_recorder, stack_recorder_destroy)

const char *stack_recorder_built(void)
{
    return BUILT_LIBDW;
}

const char *stack_recorder_running(void)
{
    struct error error;

    return libdw_load(&error) < 0 ? "cannot be loaded" : libdw.dwfl_version(NULL);
}

int stack_recorder_create(struct stack_recorder **ret, struct probe *probe,
                          const struct stack_limits *limits, struct error *error)
{
    CLEANUP(stack_recorder_destroyp) struct stack_recorder *recorder = calloc(1, sizeof(*recorder));
    int r;

    if (!recorder)
        return error_errno(error, -ENOMEM, "cannot record stacks");
    r = profiler_create(&recorder->profiler, error);
    if (r < 0)
        return r;
    recorder->probe = probe;
    recorder->limits = *limits;
    *ret = TAKE_PTR(recorder);
    return 0;
}

void stack_recorder_destroy(struct stack_recorder *recorder)
{
    if (recorder)
        profiler_destroy(recorder->profiler);
    free(recorder);
}

int stack_recorder_start(struct stack_recorder *recorder, uint32_t step, struct error *error)
{
    struct rlimit limit;

    recorder->step = step;
    /* Files with code stay open, and libdw opens files with debugging information. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return probe_stacks_start(recorder->probe, step, &recorder->limits, error);
}

static void on_stack(const struct probe_stack *stack, void *arg)
{
    struct stack_recorder *recorder = arg;

    if (stack->step == recorder->step)
        profiler_add(recorder->profiler, stack);
}

int stack_recorder_fd(const struct stack_recorder *recorder)
{
    return recorder ? probe_stacks_fd(recorder->probe) : -1;
}

int stack_recorder_read(struct stack_recorder *recorder, struct error *error)
{
    return recorder ? probe_stacks(recorder->probe, READ_MAX, on_stack, recorder, error) : 0;
}

int stack_recorder_finish(struct stack_recorder *recorder, struct stack_profile *ret,
                          struct error *error)
{
    int r = probe_stacks(recorder->probe, PROBE_STACKS_ALL, on_stack, recorder, error);

    if (r >= 0)
        r = probe_stacks_counts(recorder->probe, recorder->step, &ret->counts, error);
    if (r < 0)
        return r;
    ret->least_ns = recorder->limits.least_ns;
    profiler_fill(recorder->profiler, ret);
    return 0;
}
