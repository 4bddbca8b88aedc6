/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "common/cleanup.h"

/* Before 5.11 the kernel also returns -EPERM if maps exceed RLIMIT_MEMLOCK. */
static int set_error(int r, struct error *error)
{
    struct rlimit limit;
    char locked[96] = "";

    if (r != -EPERM)
        return error_errno(error, r, "cannot load the BPF programs");
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        (void)snprintf(locked, sizeof(locked),
                       ", before Linux 5.11 also an unlimited RLIMIT_MEMLOCK: here it is %llu KiB",
                       (unsigned long long)limit.rlim_cur / 1024);
    return error_errno(error, -EPERM,
                       "cannot load the BPF programs (CAP_BPF and CAP_PERFMON are needed%s)",
                       locked);
}

/* --- maps ------------------------------------------------------------------------------------- */

/* All programs of a layout can trace, or none, and the same for stacks: those that an earlier
 * process has pinned decide. */
static int adopt(struct probe *probe, struct error *error)
{
    int r = maps_adopt(probe->skel, probe->directory, error);

    probe->adopted = r > 0;
    if (r > 0) {
        r = maps_adopt_traces(probe->skel, probe->directory, error);
        probe->features.spans = r > 0;
    }
    if (probe->adopted && r >= 0) {
        r = maps_adopt_stacks(probe->skel, probe->directory, error);
        probe->features.long_ns = r > 0 ? PROBE_LONG_LEAST_NS : 0;
    }
    return r < 0 ? r : 0;
}

/* Unmap `memory`, because the kernel would count all of it as resident. */
static void hide_memory(const struct data_bpf *skel)
{
    (void)mmap(skel->bss, bpf_map__value_size(skel->maps.bss), PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

int load_maps(struct probe *probe, uint32_t max_steps, struct error *error)
{
    int r = 0;

    probe->skel = maps_skeleton(&probe->features);
    if (!probe->skel)
        return error_errno(error, -errno, "cannot open the BPF object");
    sizes_set(probe->skel, max_steps, probe->can_allocate);
    if (probe->directory)
        r = adopt(probe, error);
    if (r < 0)
        return r;
    shares_set(probe);
    if (probe->features.spans)
        spans_set_sizes(probe->skel);
    if (probe->features.long_ns)
        stacks_set_sizes(probe->skel);
    r = data_bpf__load(probe->skel);
    if (r < 0)
        return set_error(r, error);
    hide_memory(probe->skel);
    return 0;
}

/* --- programs --------------------------------------------------------------------------------- */

/* devtmpfs has a single super block, however often it is mounted. Try the host's mount table first,
 * because a service may have its own /dev. */
static uint32_t find_devtmpfs(void)
{
    static const char *const tables[] = {"/proc/1/mountinfo", "/proc/self/mountinfo"};

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        _fclose_ FILE *file = fopen(tables[i], "re");
        _free_ char *line = NULL;
        size_t room = 0;

        while (file && getline(&line, &room, file) > 0) {
            unsigned int major, minor;

            if (strstr(line, " - devtmpfs ") && sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2)
                return major << 20 | minor;
        }
    }
    return 0;
}

/* Open and load the skeleton with the hooks that are wanted. */
static int load(struct probe *probe, struct error *error)
{
    int r;

    programs_close(probe);
    probe->programs = programs_open(probe);
    if (!probe->programs)
        return error_errno(error, -errno, "cannot open the BPF object");
    hooks_choose(probe, probe->programs);
    r = jobio_bpf__load(probe->programs);
    return r < 0 ? set_error(r, error) : 0;
}

int load_programs(struct probe *probe, struct error *error)
{
    probe->devtmpfs_dev = find_devtmpfs();
    if (probe->adopted)
        hooks_adopt(probe);
    if (probe->adopted && kprobes_adopt(probe)) {
        hooks_replace(probe);
        kprobes_use(probe);
    } else if (probe->adopted ? syscalls_adopt(probe)
                              : probe->wanted == PROBE_TP_BTF || probe->wanted == PROBE_KPROBE) {
        hooks_replace(probe);
    }
    /* If the kernel refuses one hook, the whole object fails to load: find that hook and omit it.
     */
    if (load(probe, NULL) == 0 || (hooks_try_data(probe) && load(probe, NULL) == 0))
        return 0;
    hooks_try(probe);
    return load(probe, error);
}
