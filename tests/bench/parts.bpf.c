/* SPDX-License-Identifier: GPL-2.0 */
/* Possible parts of the programs: one program for each part, at the entry of vfs_read. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

enum {
    BPF_MAP_TYPE_PERCPU_HASH = 5,
};

struct key_of_8 {
    __u64 a;
};

struct key_of_12 { /* as a key of the account */
    __u32 a, b, c;
};

struct key_of_16 {
    __u64 a, b;
};

struct counters {
    __u64 count[40];
};

#define MAP(map, map_type, key_type, flags)    \
    struct {                                   \
        __uint(type, BPF_MAP_TYPE_##map_type); \
        __uint(map_flags, flags);              \
        __uint(max_entries, 1024);             \
        __type(key, key_type);                 \
        __type(value, struct counters);        \
    } map SEC(".maps")

MAP(hash_8, HASH, struct key_of_8, 0);
MAP(hash_12, HASH, struct key_of_12, 0);
MAP(hash_16, HASH, struct key_of_16, 0);
MAP(hash_late, HASH, struct key_of_12, BPF_F_NO_PREALLOC);
MAP(hash_percpu, PERCPU_HASH, struct key_of_12, 0);
MAP(hash_lru, LRU_HASH, struct key_of_12, 0);
MAP(array, ARRAY, __u32, 0);
MAP(array_mapped, ARRAY, __u32, BPF_F_MMAPABLE);
MAP(array_percpu, PERCPU_ARRAY, __u32, 0);

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct counters);
} kept SEC(".maps"), never SEC(".maps");

__u64 counter;
__u64 direct[1 << 13]; /* its address is a constant of the program */

/* The result of the part is not used. */
#define KEEP(value) asm volatile("" ::"r"(value))

#define PART(name, ...)    \
    SEC("fentry/vfs_read") \
    int name(void *ctx)    \
    {                      \
        __VA_ARGS__;       \
        return 0;          \
    }

/* Create it if needed, at the first call. */
#define FIND(map, key_type)                                   \
    key_type key = {};                                        \
    struct counters *found = bpf_map_lookup_elem(&map, &key); \
    if (!found) {                                             \
        static const struct counters none;                    \
        bpf_map_update_elem(&map, &key, &none, BPF_NOEXIST);  \
    }

PART(nothing)
PART(current_task, KEEP(bpf_get_current_task()))
PART(load_of_a_field, KEEP(bpf_get_current_task_btf()->flags))
PART(depth_of_cgroup, KEEP(bpf_get_current_task_btf()->cgroups->dfl_cgrp->level))
PART(cgroup_id, KEEP(bpf_get_current_cgroup_id()))
PART(ancestor_id, KEEP(bpf_get_current_ancestor_cgroup_id(1)))
PART(cpu_number, KEEP(bpf_get_smp_processor_id()))
PART(clock, KEEP(bpf_ktime_get_ns()))
PART(probe_read, __u64 to = 0; bpf_probe_read_kernel(&to, sizeof(to), &counter); KEEP(to))
PART(task_storage, KEEP(bpf_task_storage_get(&kept, bpf_get_current_task_btf(), NULL,
                                             BPF_LOCAL_STORAGE_GET_F_CREATE)))
PART(task_storage_none, KEEP(bpf_task_storage_get(&never, bpf_get_current_task_btf(), NULL, 0)))
PART(lookup_hash_8, FIND(hash_8, struct key_of_8))
PART(lookup_hash_12, FIND(hash_12, struct key_of_12))
PART(lookup_hash_16, FIND(hash_16, struct key_of_16))
PART(lookup_hash_late, FIND(hash_late, struct key_of_12))
PART(lookup_hash_percpu, FIND(hash_percpu, struct key_of_12))
PART(lookup_hash_lru, FIND(hash_lru, struct key_of_12))
PART(lookup_array, __u32 at = counter; KEEP(bpf_map_lookup_elem(&array, &at)))
PART(lookup_array_direct, KEEP(&direct[counter >> (64 - 13)]))
PART(lookup_array_mapped, __u32 at = counter; KEEP(bpf_map_lookup_elem(&array_mapped, &at)))
PART(lookup_array_percpu, __u32 at = counter; KEEP(bpf_map_lookup_elem(&array_percpu, &at)))
PART(add_locked, __sync_fetch_and_add(&counter, 1))
PART(add_plain, ++*(volatile __u64 *)&counter)
