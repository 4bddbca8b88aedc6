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

static int attach_one(struct rpc_probe *rpc, struct bpf_program *program, struct error *error)
{
    const char *symbols[] = {RELEASE};
    LIBBPF_OPTS(bpf_kprobe_multi_opts, multi, .syms = symbols, .cnt = 1);
    struct bpf_link *link;

    if (program == rpc->skel->progs.rpc_released_multi)
        link = bpf_program__attach_kprobe_multi_opts(program, NULL, &multi);
    else if (program == rpc->skel->progs.rpc_released)
        link = bpf_program__attach_kprobe(program, false, RELEASE);
    else
        link = bpf_program__attach(program);
    if (!link)
        return error_errno(error, -errno, "cannot attach %s", bpf_program__name(program));
    rpc->links[rpc->n_links++] = link;
    return 0;
}

/* The start of requests last: what is noted there must be removed at their release. */
static int attach(struct rpc_probe *rpc, bool multi, struct error *error)
{
    struct bpf_program *const programs[] = {
        multi ? rpc->skel->progs.rpc_released_multi : rpc->skel->progs.rpc_released,
        rpc->skel->progs.rpc_clnt_free,
        rpc->skel->progs.nfs_refresh_inode,
        rpc->skel->progs.nfs_lookup,
        rpc->skel->progs.nfs_access,
        rpc->skel->progs.rpc_stats_latency,
        rpc->skel->progs.rpc_task_begin,
    };
    int r = 0;

    _Static_assert(ARRAY_SIZE(programs) == RPC_LINKS, "rpc_impl.h");
    for (size_t i = 0; i < ARRAY_SIZE(programs) && r == 0; i++)
        r = attach_one(rpc, programs[i], error);
    return r;
}

static int load(struct rpc_probe *rpc, const struct probe *probe, const struct rpc_offsets *offsets,
                bool multi, struct error *error)
{
    int r;

    rpc->skel = rpc_bpf__open_opts(features_types());
    if (!rpc->skel)
        return error_errno(error, -errno, "cannot open the BPF object for NFS");
    rpc->skel->rodata->features = probe->features;
    rpc->skel->rodata->offsets = *offsets;
    (void)bpf_program__set_autoload(
        multi ? rpc->skel->progs.rpc_released_multi : rpc->skel->progs.rpc_released, true);
    r = maps_share(probe, rpc->skel->obj);
    if (r == 0)
        r = rpc_bpf__load(rpc->skel);
    if (r < 0)
        return error_errno(error, r, "cannot load the BPF programs for NFS");
    return attach(rpc, multi, error);
}

void rpc_hooks_close(struct rpc_probe *rpc)
{
    while (rpc->n_links)
        (void)bpf_link__destroy(rpc->links[--rpc->n_links]);
    rpc_bpf__destroy(rpc->skel);
    rpc->skel = NULL;
}

/* Links to kprobes need Linux 5.15. Without pins, the programs end with this process, as those of
 * `jobio run` do. Libbpf would disable the kprobe when it closes its link. */
static void pin(struct rpc_probe *rpc, const struct probe *probe)
{
    if (!probe->directory || pins_make(rpc->skel->obj, rpc->links, NULL, rpc->n_links,
                                       probe->directory, RPC_PINS, NULL) < 0)
        return;
    rpc->pinned = true;
    for (size_t i = 0; i < rpc->n_links; i++) {
        bpf_link__disconnect(rpc->links[i]);
        (void)close(bpf_link__fd(rpc->links[i]));
    }
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
    /* kprobe.multi needs Linux 5.18, but fewer privileges. */
    for (int multi = 1; multi >= 0; multi--) {
        r = load(rpc, probe, &offsets, multi, error);
        if (r == 0) {
            pin(rpc, probe);
            return 0;
        }
        rpc_hooks_close(rpc);
    }
    return r;
}
