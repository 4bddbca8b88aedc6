/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User space reads and changes the maps through the program in this file. While bpf(2) works on a
 * map, it prevents all kprobe programs from running on its CPU (the guard bpf_prog_active). If the
 * kernel preempts its own system calls, that can take long.
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
#include "bpf/share.bpf.h"
#include "bpf/bucket.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/users.bpf.h"
#include "bpf/new_mount.bpf.h"
#include "bpf/span_request.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/hint.bpf.h"
#include "bpf/counters.bpf.h"
#include "bpf/errno.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/maps.h"

char LICENSE[] SEC("license") = "GPL";

#define ENOENT 2
#define EINVAL 22
#define ENOSPC 28

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* set by the loader */
    __type(key, __u32);
    __type(value, struct maps_page);
} rows SEC(".maps");

struct maps_call call SEC(".data.call") = {};

struct bpf_map; /* a kernel type */

/* Append a row to the map `rows`. Returns false if there is no room. */
static __always_inline bool put_row(const void *key, __u32 key_size, const void *value,
                                    __u32 value_size)
{
    __u32 row = key_size + value_size, n = call.n, at_page = n / (MAPS_PAGE / row);
    struct maps_page *page = bpf_map_lookup_elem(&rows, &at_page);
    __u64 at = n % (MAPS_PAGE / row) * row;

    /* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
    asm volatile("" : "+r"(at));
    if (!page || at > MAPS_PAGE - row)
        return false;
    bpf_probe_read_kernel(page->bytes + at, key_size, key);
    bpf_probe_read_kernel(page->bytes + at + key_size, value_size, value);
    call.n = n + 1;
    return true;
}

#define DEFINE_CALL(name, key_type, value_type)                                               \
    static long name##_row(struct bpf_map *map, key_type *key, value_type *value, bool *full) \
    {                                                                                         \
        *full = !put_row(key, sizeof(*key), value, sizeof(*value));                           \
        return *full;                                                                         \
    }                                                                                         \
                                                                                              \
    static __noinline long name##_walk(void)                                                  \
    {                                                                                         \
        bool full = false;                                                                    \
                                                                                              \
        call.n = 0;                                                                           \
        bpf_for_each_map_elem(&name, name##_row, &full, 0);                                   \
        return full ? -ENOSPC : 0;                                                            \
    }                                                                                         \
                                                                                              \
    static __noinline long name##_get(void)                                                   \
    {                                                                                         \
        value_type *value = bpf_map_lookup_elem(&name, call.key);                             \
                                                                                              \
        return value ? bpf_probe_read_kernel(call.value, sizeof(*value), value) : -ENOENT;    \
    }                                                                                         \
                                                                                              \
    static __always_inline long name##_call(void)                                             \
    {                                                                                         \
        switch (call.action) {                                                                \
        case MAPS_GET:                                                                        \
            return name##_get();                                                              \
        case MAPS_PUT:                                                                        \
            return bpf_map_update_elem(&name, call.key, call.value, call.flags);              \
        case MAPS_DROP:                                                                       \
            return bpf_map_delete_elem(&name, call.key);                                      \
        case MAPS_WALK:                                                                       \
            return name##_walk();                                                             \
        }                                                                                     \
        return -EINVAL;                                                                       \
    }                                                                                         \
    _Static_assert(sizeof(key_type) <= sizeof(call.key) &&                                    \
                       sizeof(value_type) <= sizeof(call.value),                              \
                   "struct maps_call is too small");

MAPS(DEFINE_CALL)

#define CASE_CALL(name, key_type, value_type) \
    case MAPS_##name:                         \
        return name##_call();

SEC("syscall")
int maps_do(void *ctx)
{
    if (call.action == MAPS_PUSH)
        return bpf_map_push_elem(&slots, call.value, BPF_ANY);
    switch (call.map) {
        MAPS(CASE_CALL)
    }
    return -EINVAL;
}
