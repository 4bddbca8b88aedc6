/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and attaches the programs that count the requests of the NFS client. */
#include "config.h"

#include "collector/probe/rpc_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

DEFINE_CLEANUP(struct btf, btf__free)

/* The last function of a request's life: each request calls it once. */
#define RELEASE "rpc_task_release_client"

/* The programs, in the order in which they are attached and pinned: the start of requests last,
 * because what is noted there must be removed at their release. */
enum { AT_RELEASED, AT_FORGET, AT_REFRESH, AT_LOOKUP, AT_ACCESS, AT_ENDED, AT_STARTED, AT_COUNT };
_Static_assert(AT_COUNT == RPC_LINKS, "rpc_impl.h");

struct hook {
    const char *program;
    const char *function; /* NULL: a tracepoint, which the program names */
    bool multi;           /* by kprobe.multi */
};

static const struct hook forget = {"rpc_clnt_free", NULL, false},
                         refresh = {"nfs_refresh_inode", NULL, false},
                         lookup = {"nfs_lookup", NULL, false},
                         access_enter = {"nfs_access", NULL, false};

/* The first one that the kernel accepts is used. */
static const struct variant {
    struct hook released, ended, started;
    bool if_preempted; /* only on kernels that preempt the programs of tracepoints */
} variants[] = {
    {{"rpc_released", RELEASE, false},
     {"rpc_exit_task", "rpc_exit_task", false},
     {"rpc_execute", "rpc_execute", false},
     true},
    /* kprobe.multi needs Linux 5.18, but fewer privileges. */
    {{"rpc_released_multi", RELEASE, true},
     {"rpc_stats_latency", NULL, false},
     {"rpc_task_begin", NULL, false},
     false},
    {{"rpc_released", RELEASE, false},
     {"rpc_stats_latency", NULL, false},
     {"rpc_task_begin", NULL, false},
     false},
};

#define MEMBER_ENTRY(name, type, member, size) \
    {#type, #member, (size), offsetof(struct rpc_offsets, name)},
static const struct {
    const char *type, *member;
    size_t size;   /* 0: any */
    size_t offset; /* in struct rpc_offsets */
} members[] = {RPC_MEMBERS(MEMBER_ENTRY)};

static int find_member(const struct btf *btf, const char *type, const char *name, size_t size,
                       uint16_t *ret)
{
    int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
    const struct btf_type *of = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

    for (uint32_t i = 0; of && i < btf_vlen(of); i++) {
        const struct btf_member *m = btf_members(of) + i;
        const char *have = btf__name_by_offset(btf, m->name_off);
        uint32_t bit = btf_member_bit_offset(of, i);

        if (!have || strcmp(have, name) != 0)
            continue;
        if (bit % 8 || bit / 8 > UINT16_MAX ||
            (size && btf__resolve_size(btf, m->type) != (__s64)size))
            return -EINVAL;
        *ret = (uint16_t)(bit / 8);
        return 0;
    }
    return -ENOENT;
}

/* The types of a module. Those that are built into the kernel have no file: they are in `kernel`.
 */
static struct btf *types_of(const char *module, struct btf *kernel)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
    return access(path, R_OK) == 0 ? btf__parse_split(path, kernel) : NULL;
}

static int find_offsets(struct rpc_offsets *ret, struct error *error)
{
    CLEANUP(btf__freep) struct btf *kernel = btf__load_vmlinux_btf();
    CLEANUP(btf__freep) struct btf *sunrpc = kernel ? types_of("sunrpc", kernel) : NULL;
    CLEANUP(btf__freep) struct btf *nfs = kernel ? types_of("nfs", kernel) : NULL;

    if (!kernel)
        return error_set(error, -ENOTSUP, "this kernel has no BTF");
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        uint16_t *to = (uint16_t *)((char *)ret + members[i].offset);
        const struct btf *const places[] = {sunrpc, nfs, kernel};
        int r = -ENOENT;

        for (size_t j = 0; j < ARRAY_SIZE(places) && r < 0; j++)
            if (places[j])
                r = find_member(places[j], members[i].type, members[i].member, members[i].size, to);
        if (r < 0)
            return error_set(error, -ENOTSUP, "this kernel does not describe %s.%s in BTF",
                             members[i].type, members[i].member);
    }
    return 0;
}

static int attach_one(struct rpc_probe *rpc, size_t at, const struct hook *hook,
                      struct error *error)
{
    LIBBPF_OPTS(bpf_kprobe_multi_opts, multi, .syms = &(const char *){hook->function}, .cnt = 1);
    struct bpf_program *program = rpc->programs[at];
    struct bpf_link *link;

    if (hook->function && hook->multi)
        link = bpf_program__attach_kprobe_multi_opts(program, NULL, &multi);
    else if (hook->function)
        link = bpf_program__attach_kprobe(program, false, hook->function);
    else
        link = bpf_program__attach(program);
    if (!link)
        return error_errno(error, -errno, "cannot attach %s", hook->program);
    rpc->program_fds[at] = bpf_program__fd(program);
    rpc->links[rpc->n_links++] = link;
    return 0;
}

static int attach(struct rpc_probe *rpc, const struct hook *const hooks[], struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < RPC_LINKS && r == 0; i++)
        r = attach_one(rpc, i, hooks[i], error);
    return r;
}

static void choose(struct rpc_probe *rpc, const struct hook *const hooks[])
{
    for (size_t i = 0; i < RPC_LINKS; i++) {
        rpc->programs[i] = bpf_object__find_program_by_name(rpc->skel->obj, hooks[i]->program);
        (void)bpf_program__set_autoload(rpc->programs[i], true);
    }
}

static int load(struct rpc_probe *rpc, const struct probe *probe, const struct rpc_offsets *offsets,
                const struct variant *variant, struct error *error)
{
    const struct hook *const hooks[RPC_LINKS] = {
        [AT_RELEASED] = &variant->released,
        [AT_FORGET] = &forget,
        [AT_REFRESH] = &refresh,
        [AT_LOOKUP] = &lookup,
        [AT_ACCESS] = &access_enter,
        [AT_ENDED] = &variant->ended,
        [AT_STARTED] = &variant->started,
    };
    int r;

    rpc->skel = rpc_bpf__open_opts(features_types());
    if (!rpc->skel)
        return error_errno(error, -errno, "cannot open the BPF object for NFS");
    rpc->skel->rodata->features = probe->features;
    rpc->skel->rodata->offsets = *offsets;
    choose(rpc, hooks);
    r = maps_share(probe, rpc->skel->obj);
    if (r == 0)
        r = rpc_bpf__load(rpc->skel);
    if (r < 0)
        return error_errno(error, r, "cannot load the BPF programs for NFS");
    return attach(rpc, hooks, error);
}

void rpc_hooks_close(struct rpc_probe *rpc)
{
    while (rpc->n_links)
        (void)bpf_link__destroy(rpc->links[--rpc->n_links]);
    for (size_t i = 0; rpc->adopted && i < RPC_LINKS; i++)
        if (rpc->program_fds[i] > 0)
            (void)close(rpc->program_fds[i]);
    memset(rpc->program_fds, 0, sizeof(rpc->program_fds));
    rpc->adopted = false;
    rpc_bpf__destroy(rpc->skel);
    rpc->skel = NULL;
}

/* A missed release leaves a task that the next start at its address replaces, and a mount that is
 * not known is reported. */
static const size_t counted_misses[] = {AT_FORGET, AT_ENDED, AT_STARTED};

uint64_t rpc_lost(const struct probe *probe)
{
    const struct rpc_probe *rpc = probe->rpc;
    const uint32_t key = 0;
    uint64_t lost = 0;

    /* Not by the skeleton, whose memory is that of a map only if this process has loaded it. */
    (void)map_get(probe, rpc->skel->maps.data_rpc_lost, &key, &lost);
    for (size_t i = 0; i < ARRAY_SIZE(counted_misses); i++) {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);

        if (bpf_obj_get_info_by_fd(rpc->program_fds[counted_misses[i]], &info, &size) == 0)
            lost += info.recursion_misses;
    }
    return lost;
}

/* Links to kprobes need Linux 5.15. Without pins, the programs end with this process, as those of
 * `jobio run` do. Libbpf would disable the kprobe when it closes its link. */
static void pin(struct rpc_probe *rpc, const struct probe *probe)
{
    if (!probe->directory || pins_make(rpc->skel->obj, rpc->links, rpc->programs, RPC_LINKS,
                                       probe->directory, RPC_PINS, NULL) < 0)
        return;
    rpc->pinned = true;
    for (size_t i = 0; i < rpc->n_links; i++) {
        bpf_link__disconnect(rpc->links[i]);
        (void)close(bpf_link__fd(rpc->links[i]));
    }
}

/* Returns 1, or 0 if they are not all there; after another failure a later process may succeed. */
static int adopt_programs(struct rpc_probe *rpc, const struct probe *probe, struct error *error)
{
    int r = pins_programs(probe->directory, RPC_PINS, rpc->program_fds, RPC_LINKS);

    rpc->adopted = true;
    if (r == -ENOENT)
        return pins_remove(probe->directory, RPC_PINS, error);
    return r < 0 ? error_errno(error, r, "cannot take over the programs for NFS") : 1;
}

int rpc_hooks_adopt(struct rpc_probe *rpc, const struct probe *probe, struct error *error)
{
    int r;

    if (!probe->directory)
        return 0;
    rpc->skel = rpc_bpf__open_opts(features_types());
    if (!rpc->skel)
        return error_errno(error, -errno, "cannot open the BPF object for NFS");
    r = pins_adopt(rpc->skel->obj, RPC_LINKS, probe->directory, RPC_PINS, error);
    if (r > 0)
        r = adopt_programs(rpc, probe, error);
    if (r <= 0)
        rpc_hooks_close(rpc);
    rpc->pinned = r > 0;
    return r;
}

int rpc_hooks_open(struct rpc_probe *rpc, const struct probe *probe, struct error *error)
{
    struct rpc_offsets offsets;
    int r = find_offsets(&offsets, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(variants) && !rpc->skel; i++) {
        if (variants[i].if_preempted && !probe->kprobes_better)
            continue;
        r = load(rpc, probe, &offsets, &variants[i], error);
        if (r < 0)
            rpc_hooks_close(rpc);
    }
    if (r == 0)
        pin(rpc, probe);
    return r;
}
