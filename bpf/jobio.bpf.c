/* SPDX-License-Identifier: GPL-2.0 */
/* The programs of the fentry backend. The headers implement them; read them in this order: current,
 * who, span, memory, chain, generation, order, bucket, users, new_mount, span_request, stack,
 * account, task, fill, lookup, call, walk; transfer, async, cache, throttle, close, release, exit.
 */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/hooks.h"
#include "bpf/pseudo.h"
#include "bpf/features.h"
#include "bpf/span_records.h"
#include "bpf/stack_records.h"
#include "bpf/current.bpf.h"
#include "bpf/who.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/memory.bpf.h"
#include "bpf/chain.bpf.h"
#include "bpf/generation.bpf.h"
#include "bpf/order.bpf.h"
#include "bpf/share.bpf.h"
#include "bpf/bucket.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/users.bpf.h"
#include "bpf/new_mount.bpf.h"
#include "bpf/span_request.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/task.bpf.h"
#include "bpf/fill.bpf.h"
#include "bpf/lookup.bpf.h"
#include "bpf/call.bpf.h"
#include "bpf/walk.bpf.h"
#include "bpf/transfer.bpf.h"
#include "bpf/async.bpf.h"
#include "bpf/cache.bpf.h"
#include "bpf/throttle.bpf.h"
#include "bpf/throttle_stage.bpf.h"
#include "bpf/close.bpf.h"
#include "bpf/release.bpf.h"
#include "bpf/saved_map.bpf.h"
#include "bpf/exit.bpf.h"

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
    return call_leave_any(ctx, HOOK_do_filp_open, IO_OPEN, true);
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
