/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <unistd.h>

/* Returns a new descriptor of a link's program, for its statistics; 0 if there is none. */
static int link_program(const struct bpf_link *link)
{
    struct bpf_link_info info = {0};
    uint32_t size = sizeof(info);
    int fd;

    if (bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) < 0)
        return 0;
    fd = bpf_prog_get_fd_by_id(info.prog_id);
    return fd < 0 ? 0 : fd;
}

void links_add(struct hook_links *links, int side, struct bpf_link *link)
{
    links->link[side] = link;
    links->program[side] = link ? link_program(link) : 0;
}

void links_close(struct hook_links *links)
{
    for (int side = 0; side < SIDE_COUNT; side++) {
        (void)bpf_link__destroy(links->link[side]);
        if (links->program[side] > 0)
            (void)close(links->program[side]);
    }
    *links = (struct hook_links){0};
}

void links_unpin(struct hook_links *links)
{
    for (int side = 0; side < SIDE_COUNT; side++)
        if (links->link[side])
            (void)bpf_link__unpin(links->link[side]);
    links_close(links);
}
