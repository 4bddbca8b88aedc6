/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which hooks on io_uring are needed on this kernel, and whom a missing one affects. */
#include "collector/probe/probe_impl.h"

#include <string.h>

#include "common/cleanup.h"

/* The hooks that see completions where the tracepoint does not carry the request. */
static const enum hook_number replaced[] = {HOOK_io_uring_post, HOOK_io_uring_flush};

void io_uring_choose(struct probe *probe)
{
    for (size_t i = 0; i < ARRAY_SIZE(replaced) && probe->resolved[HOOK_io_uring]; i++) {
        struct probe_hook *hook = &probe->hooks[replaced[i]];

        probe->resolved[replaced[i]] = false;
        hook->absent = true;
        (void)snprintf(hook->why, sizeof(hook->why),
                       "not needed: the tracepoint io_uring_complete has the request");
    }
}

static bool is_missing(const struct probe_hook *hook)
{
    return hook->backend == PROBE_NONE && !hook->absent && io_uring_is_feature(hook->feature);
}

bool io_uring_is_feature(const char *feature)
{
    return !strncmp(feature, PROBE_IO_URING, strlen(PROBE_IO_URING));
}

bool io_uring_lacks_hooks(const struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (is_missing(&probe->hooks[i]))
            return true;
    for (size_t i = 0; i < SYSCALL_HOOKS && probe->by_syscalls; i++)
        if (is_missing(&probe->syscall_hooks[i]))
            return true;
    return false;
}

bool io_uring_sees_submissions(const struct probe *probe)
{
    return probe->hooks[HOOK_io_uring_submit].backend != PROBE_NONE;
}
