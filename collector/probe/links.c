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

void state_link(struct hook_state *state, int side, struct bpf_link *link)
{
    state->links[side] = link;
    state->programs[side] = link ? link_program(link) : 0;
}

void state_close(struct hook_state *state)
{
    for (int side = 0; side < SIDE_COUNT; side++) {
        (void)bpf_link__destroy(state->links[side]);
        if (state->programs[side] > 0)
            (void)close(state->programs[side]);
    }
    *state = (struct hook_state){0};
}

void state_unlink(struct hook_state *state)
{
    for (int side = 0; side < SIDE_COUNT; side++)
        if (state->links[side])
            (void)bpf_link__unpin(state->links[side]);
    state_close(state);
}
