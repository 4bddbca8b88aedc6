/* SPDX-License-Identifier: GPL-2.0 */
/* The programs of the fentry backend. The headers implement them. */
#include "bpf/jobio.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define HOOK_PROGRAMS(function, op, ...)             \
    SEC("fentry/" #function)                         \
    int enter_##function(void *ctx)                  \
    {                                                \
        return call_enter(ctx, HOOK_##function, op); \
    }                                                \
    SEC("fexit/" #function)                          \
    int leave_##function(void *ctx)                  \
    {                                                \
        return call_leave(ctx, HOOK_##function, op); \
    }

HOOKS(HOOK_PROGRAMS)
EXTRAS(HOOK_PROGRAMS)

/* In place of leave_do_filp_open, if the kernel has compare-and-swap. */
SEC("fexit/do_filp_open")
int leave_do_filp_open_swap(void *ctx)
{
    return call_leave_meta(ctx, HOOK_do_filp_open, IO_OPEN, true);
}

#define EVENT_PROGRAM(name, section, ...)           \
    SEC(section)                                    \
    int event_##name(void *ctx)                     \
    {                                               \
        return on_##name(ctx, &hooks[HOOK_##name]); \
    }

EVENTS(EVENT_PROGRAM)

#define TRANSFER_PROGRAMS(function, from, to, ...)             \
    SEC("fentry/" #function)                                   \
    int enter_##function(void *ctx)                            \
    {                                                          \
        return transfer_enter(ctx, HOOK_##function, to);       \
    }                                                          \
    SEC("fexit/" #function)                                    \
    int leave_##function(void *ctx)                            \
    {                                                          \
        return transfer_leave(ctx, HOOK_##function, from, to); \
    }

TRANSFERS(TRANSFER_PROGRAMS)

#define STAGE_PROGRAMS(function, ...)                          \
    SEC("fentry/" #function)                                   \
    int enter_##function(void *ctx)                            \
    {                                                          \
        return function##_enter(ctx, &hooks[HOOK_##function]); \
    }                                                          \
    SEC("fexit/" #function)                                    \
    int leave_##function(void *ctx)                            \
    {                                                          \
        return function##_leave(ctx, &hooks[HOOK_##function]); \
    }

STAGES(STAGE_PROGRAMS)
