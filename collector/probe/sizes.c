/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sizes of the maps: bpf/records.h has the arithmetic. */
#include "collector/probe/probe_impl.h"

#include <string.h>

#include "common/cleanup.h"

uint32_t sizes_cpus(void)
{
    int cpus = libbpf_num_possible_cpus();

    return cpus < 1 ? 1 : (uint32_t)cpus;
}

uint32_t sizes_pool(void)
{
    uint32_t cpus = sizes_cpus();

    return cpus > JOBIO_MAX_SHARDS ? JOBIO_MAX_SHARDS : cpus;
}

bool sizes_can_allocate(const struct btf *btf)
{
    int id = btf__find_by_name_kind(btf, "bpf_htab", BTF_KIND_STRUCT);
    const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
    const struct btf_member *members = type ? btf_members(type) : NULL;

    for (int i = 0; type && i < btf_vlen(type); i++) {
        const struct btf_type *of = btf__type_by_id(btf, members[i].type);

        if (of && btf_is_struct(of) &&
            !strcmp(btf__name_by_offset(btf, of->name_off), "bpf_mem_alloc"))
            return true;
    }
    return false;
}

/* The kernel keeps up to so many free elements for each CPU and map. */
#define KEPT_PER_CPU 96

/* Elements that are allocated when they are inserted save memory only if there can be more of them
 * than the kernel keeps free. An insertion can fail then, so only maps are listed whose programs
 * count that as a loss, or count under another key. `lost` is not: it has the losses. */
static void allocate_elements(struct data_bpf *skel)
{
    struct bpf_map *const maps[] = {skel->maps.places, skel->maps.caches, skel->maps.errnos,
                                    skel->maps.mounts, skel->maps.users,  skel->maps.aio};

    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        if (bpf_map__max_entries(maps[i]) > 2 * KEPT_PER_CPU * sizes_cpus())
            (void)bpf_map__set_map_flags(maps[i], BPF_F_NO_PREALLOC);
}

void sizes_set(struct data_bpf *skel, uint32_t max_steps, bool can_allocate)
{
    uint32_t steps = max_steps ? max_steps : JOBIO_DEFAULT_STEPS, keys, chunks;

    if (steps > JOBIO_MAX_STEPS)
        steps = JOBIO_MAX_STEPS;
    keys = (steps + sizes_pool()) * JOBIO_MOUNTS * JOBIO_MOUNT_OPS;
    chunks = keys / ACCOUNT_CHUNK + 1; /* with slot 0 */
    (void)bpf_map__set_max_entries(skel->maps.mounts, steps * JOBIO_MOUNT_RECORDS);
    (void)bpf_map__set_max_entries(skel->maps.caches, (2 * steps + sizes_pool()) * JOBIO_MOUNTS);
    (void)bpf_map__set_max_entries(skel->maps.places, keys);
    (void)bpf_map__set_max_entries(skel->maps.account, chunks);
    (void)bpf_map__set_max_entries(skel->maps.slots, chunks * ACCOUNT_CHUNK);
    if (can_allocate)
        allocate_elements(skel);
}
