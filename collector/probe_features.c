/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe_internal.h"

#include <unistd.h>

#include "common/cleanup.h"

/* libbpf can try no helper in fentry programs, which need a function to attach to. Those for raw
 * tracepoints have the same helpers: the kernel hands both out in bpf_tracing_func_proto(). */
static bool has_helper(enum bpf_func_id helper)
{
    return libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, helper, NULL) > 0;
}

void features_detect(struct kernel_features *features)
{
    features->task_btf = has_helper(BPF_FUNC_get_current_task_btf);
    features->ancestor_id = has_helper(BPF_FUNC_get_current_ancestor_cgroup_id);
    features->task_storage = features->task_btf && has_helper(BPF_FUNC_task_storage_get);
}

/* Types that this kernel does not have libbpf would look for in its modules, which takes CAP_SYS_ADMIN.
 * It does not if it is told where the kernel's own are. */
const struct bpf_object_open_opts *features_types(void)
{
    static const struct bpf_object_open_opts options = {
        .sz = sizeof(options), .btf_custom_path = "/sys/kernel/btf/vmlinux"};

    return access(options.btf_custom_path, R_OK) == 0 ? &options : NULL;
}

struct jobio_bpf *features_open(const struct kernel_features *features)
{
    static const size_t maps[] = {offsetof(struct jobio_bpf, maps.tasks),
                                  offsetof(struct jobio_bpf, maps.stages)};
    struct jobio_bpf *skel = jobio_bpf__open_opts(features_types());

    if (!skel)
        return NULL;
    skel->rodata->features = *features;
    for (size_t i = 0; i < ARRAY_SIZE(maps) && !features->task_storage; i++) {
        struct bpf_map *map = *(struct bpf_map **)((char *)skel + maps[i]);

        (void)bpf_map__set_type(map, BPF_MAP_TYPE_HASH);
        (void)bpf_map__set_map_flags(map, 0);
        (void)bpf_map__set_key_size(map, sizeof(__u64));
        (void)bpf_map__set_max_entries(map, JOBIO_MAX_THREADS);
    }
    return skel;
}
