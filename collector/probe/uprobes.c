/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches a program to many places of a file. */
#include "collector/probe/probe_impl.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

/* linux/bpf.h since 6.6; the headers of the build may be older. */
#define TRACE_UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1

/* The part of union bpf_attr for BPF_LINK_CREATE. */
struct multi_attributes {
    uint32_t program, target, attach_type, flags;
    uint64_t path, offsets, reference_counters, cookies;
    uint32_t n, multi_flags, pid, pad;
};

struct uprobe_links {
    int multi; /* descriptor of the link; -1: there is one in `links` for each place */
    size_t n;
    struct bpf_link *links[];
};

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* libbpf has this since 1.3. Returns a descriptor or -errno. */
static int open_multi(int program, bool on_return, const char *path, const uint64_t *offsets,
                      const uint64_t *cookies, size_t n)
{
    const struct multi_attributes attributes = {
        .program = (uint32_t)program,
        .attach_type = TRACE_UPROBE_MULTI,
        .path = address_of(path),
        .offsets = address_of(offsets),
        .cookies = address_of(cookies),
        .n = (uint32_t)n,
        .multi_flags = on_return ? UPROBE_MULTI_RETURN : 0,
    };
    long fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));

    return fd < 0 ? -errno : (int)fd;
}

/* A directory has no places: the kernel refuses it after it has accepted the type of the link. */
bool uprobes_have_multi(void)
{
    const struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    LIBBPF_OPTS(bpf_prog_load_opts, options,
                .expected_attach_type = (enum bpf_attach_type)TRACE_UPROBE_MULTI);
    _close_ int fd =
        bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", program, ARRAY_SIZE(program), &options);
    const uint64_t offset = 0;

    return fd >= 0 && open_multi(fd, false, "/", &offset, &offset, 1) == -EBADF;
}

void uprobes_set_multi(struct bpf_program *program)
{
    (void)bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

static int attach_multi(struct uprobe_links *links, const struct bpf_program *program,
                        bool on_return, const char *path, const struct uprobe_place *places,
                        size_t n)
{
    _free_ uint64_t *offsets = calloc(n, sizeof(*offsets)), *cookies = calloc(n, sizeof(*cookies));

    if (!offsets || !cookies)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        offsets[i] = places[i].offset;
        cookies[i] = places[i].cookie;
    }
    links->multi = open_multi(bpf_program__fd(program), on_return, path, offsets, cookies, n);
    return links->multi < 0 ? links->multi : 0;
}

static int attach_each(struct uprobe_links *links, const struct bpf_program *program,
                       bool on_return, const char *path, const struct uprobe_place *places,
                       size_t n)
{
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = on_return);

    for (size_t i = 0; i < n; i++) {
        options.bpf_cookie = places[i].cookie;
        links->links[i] =
            bpf_program__attach_uprobe_opts(program, -1, path, places[i].offset, &options);
        if (!links->links[i])
            return -errno;
        links->n++;
    }
    return 0;
}

DEFINE_CLEANUP(struct uprobe_links, uprobe_links_destroy)

int uprobes_attach(struct uprobe_links **ret, const struct bpf_program *program, bool on_return,
                   const char *path, const struct uprobe_place *places, size_t n)
{
    CLEANUP(uprobe_links_destroyp)
    struct uprobe_links *links = calloc(1, sizeof(*links) + n * sizeof(links->links[0]));
    bool multi = (int)bpf_program__expected_attach_type(program) == TRACE_UPROBE_MULTI;
    int r;

    if (!links)
        return -ENOMEM;
    links->multi = -1;
    r = (multi ? attach_multi : attach_each)(links, program, on_return, path, places, n);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(links);
    return 0;
}

void uprobe_links_destroy(struct uprobe_links *links)
{
    if (!links)
        return;
    if (links->multi >= 0)
        (void)close(links->multi);
    while (links->n)
        (void)bpf_link__destroy(links->links[--links->n]);
    free(links);
}
