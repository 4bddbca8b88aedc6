/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "tests/bench/empty.h"

#include <bpf/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hooks.h"
#include "tests/bench/empty.skel.h"

struct empty_programs {
    struct empty_bpf *skel;
    struct bpf_link *links[2 * HOOK_COUNT];
    size_t n;
};

static void die(void)
{
    perror("empty programs");
    exit(1);
}

/* Returns whether the kernel has the function or tracepoint. If not, jobio does not hook it either.
 */
static bool has_target(const struct btf *btf, const struct bpf_program *program)
{
    const char *section = bpf_program__section_name(program);
    char name[128];

    if (sscanf(section, "tp_btf/%100s", name + sizeof("btf_trace_") - 1) == 1) {
        memcpy(name, "btf_trace_", sizeof("btf_trace_") - 1);
        return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
    }
    return btf__find_by_name_kind(btf, strchr(section, '/') + 1, BTF_KIND_FUNC) > 0;
}

struct empty_programs *empty_attach(void)
{
    struct empty_programs *programs = calloc(1, sizeof(*programs));
    struct btf *btf = btf__load_vmlinux_btf();
    struct bpf_program *program;

    if (!programs || !btf)
        die();
    programs->skel = empty_bpf__open();
    if (!programs->skel)
        die();
    (void)libbpf_set_print(NULL);
    bpf_object__for_each_program(program, programs->skel->obj)
    {
        (void)bpf_program__set_autoload(program, has_target(btf, program));
    }
    btf__free(btf);
    if (empty_bpf__load(programs->skel) < 0)
        die();
    bpf_object__for_each_program(program, programs->skel->obj)
    {
        if (bpf_program__autoload(program)) /* NULL: not to this function */
            programs->links[programs->n++] = bpf_program__attach(program);
    }
    return programs;
}

void empty_detach(struct empty_programs *programs)
{
    while (programs->n)
        bpf_link__destroy(programs->links[--programs->n]);
    empty_bpf__destroy(programs->skel);
    free(programs);
}
