/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that the programs of fentry and fexit are attached to. libbpf would look up each of
 * them by a search of all types of the kernel. */
#include "collector/probe/probe_impl.h"

#include <string.h>

#include "common/cleanup.h"

/* The kernel is the same for all probes of the process, and so are its types. */
static struct {
    const char *function; /* of the section */
    uint32_t type;
} types[HOOK_COUNT];

void attach_types_set(size_t hook, const char *function, uint32_t type)
{
    types[hook].function = function;
    types[hook].type = type;
}

uint32_t attach_types_get(size_t hook)
{
    return types[hook].type;
}

/* As libbpf_prog_prepare_load_fn_t. */
static int set_type(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    const char *function = strchr(bpf_program__section_name(program), '/');

    (void)cookie;
    for (size_t i = 0; i < HOOK_COUNT && function && !options->attach_btf_id; i++)
        if (types[i].type && !strcmp(types[i].function, function + 1))
            options->attach_btf_id = types[i].type;
    return options->attach_btf_id ? 0 : -ESRCH;
}

int attach_types_register(void)
{
    static const struct {
        const char *section;
        enum bpf_attach_type type;
    } kinds[] = {{"fentry+", BPF_TRACE_FENTRY}, {"fexit+", BPF_TRACE_FEXIT}};
    static bool registered;
    LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = set_type);
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kinds) && !registered && r >= 0; i++)
        r = libbpf_register_prog_handler(kinds[i].section, BPF_PROG_TYPE_TRACING, kinds[i].type,
                                         &options);
    registered |= r >= 0;
    return r < 0 ? r : 0;
}
