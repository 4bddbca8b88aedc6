/* SPDX-License-Identifier: GPL-2.0 */
/* Empty programs on all functions that jobio hooks: the minimum cost of any tracer. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#include "bpf/hooks.h"

char LICENSE[] SEC("license") = "GPL";

#define EMPTY_PAIR(function, ...)   \
    SEC("fentry/" #function)        \
    int enter_##function(void *ctx) \
    {                               \
        return 0;                   \
    }                               \
    SEC("fexit/" #function)         \
    int leave_##function(void *ctx) \
    {                               \
        return 0;                   \
    }

HOOKS(EMPTY_PAIR)
EXTRAS(EMPTY_PAIR)
TRANSFERS(EMPTY_PAIR)
STAGES(EMPTY_PAIR)

#define EMPTY_EVENT(name, section, ...) \
    SEC(section)                        \
    int event_##name(void *ctx)         \
    {                                   \
        return 0;                       \
    }

EVENTS(EMPTY_EVENT)
