/* SPDX-License-Identifier: GPL-2.0 */
/* The programs. What they do stands in the headers, in this order: who, account, call. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/hooks.h"
#include "bpf/pseudo.h"
#include "bpf/who.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/call.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define HOOK_PROGRAMS(function, op, ...)                                                           \
    SEC("fentry/" #function)                                                                       \
    int enter_##function(void *ctx)                                                                \
    {                                                                                              \
        return call_enter(ctx, HOOK_##function, op);                                               \
    }                                                                                              \
    SEC("fexit/" #function)                                                                        \
    int leave_##function(void *ctx)                                                                \
    {                                                                                              \
        return call_leave(ctx, HOOK_##function, op);                                               \
    }

HOOKS(HOOK_PROGRAMS)
