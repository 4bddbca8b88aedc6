/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe_internal.h"

#include <bpf/btf.h>
#include <limits.h>
#include <string.h>

#include "common/cleanup.h"

#define OPS(op) (1ull << (op) | ((op) == IO_OPEN ? 1ull << IO_CREATE : 0))

struct hook_entry {
    const char *function;
    enum io_op op;
    struct {
        enum hook_object object;
        const char *parameter;
    } ways[2];
    size_t programs[SIDE_COUNT]; /* where the skeleton has them */
};

#define ENTRY(name, operation, object1, parameter1, object2, parameter2) \
    {                                                                    \
        .function = #name,                                               \
        .op = operation,                                                 \
        .ways = {{object1, parameter1}, {object2, parameter2}},          \
        .programs = {offsetof(struct jobio_bpf, progs.enter_##name),     \
                     offsetof(struct jobio_bpf, progs.leave_##name)},    \
    },

static const struct hook_entry entries[HOOK_COUNT] = {HOOKS(ENTRY)};

/* Functions that got another name, with the same parameters. */
static const struct {
    const char *from, *to;
} renamed[] = {
    {"do_filp_open", "do_file_open"}, /* seen in 7.2 */
};

static struct bpf_program *program_of(const struct jobio_bpf *skel, size_t hook, int side)
{
    return *(struct bpf_program **)((char *)skel + entries[hook].programs[side]);
}

static const struct btf_type *skip_typedefs(const struct btf *btf, uint32_t id)
{
    const struct btf_type *type = btf__type_by_id(btf, id);

    while (type && (btf_is_typedef(type) || btf_is_mod(type)))
        type = btf__type_by_id(btf, type->type);
    return type;
}

static int result_kind(const struct btf *btf, uint32_t id)
{
    const struct btf_type *type = skip_typedefs(btf, id);

    if (!type)
        return -EINVAL;
    if (btf_is_ptr(type))
        return RETURN_POINTER;
    return type->size == 8 ? RETURN_LONG : RETURN_INT;
}

static int find_parameter(const struct btf *btf, const struct btf_type *function, const char *name)
{
    const struct btf_param *params = btf_params(function);

    for (int i = 0; i < btf_vlen(function); i++)
        if (!strcmp(btf__name_by_offset(btf, params[i].name_off), name))
            return i;
    return -ENOENT;
}

/* The function by its name in this kernel, which is put into *name. */
static int find_function(const struct btf *btf, const char **name)
{
    int id = btf__find_by_name_kind(btf, *name, BTF_KIND_FUNC);

    for (size_t i = 0; i < ARRAY_SIZE(renamed) && id < 0; i++) {
        if (strcmp(*name, renamed[i].from))
            continue;
        id = btf__find_by_name_kind(btf, renamed[i].to, BTF_KIND_FUNC);
        if (id >= 0)
            *name = renamed[i].to;
    }
    return id;
}

static int hook_resolve(const struct btf *btf, size_t i, struct hook_slots *slots,
                        struct probe_hook *hook)
{
    const struct hook_entry *entry = &entries[i];
    const struct btf_type *function;
    int id = find_function(btf, &hook->function), at, kind;

    if (id < 0) {
        snprintf(hook->why, sizeof(hook->why), "this kernel's BTF has no such function");
        return -ENOENT;
    }
    function = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);
    kind = result_kind(btf, function->type);
    for (size_t way = 0; way < ARRAY_SIZE(entry->ways) && kind >= 0; way++) {
        at = find_parameter(btf, function, entry->ways[way].parameter);
        if (at < 0)
            continue;
        *slots = (struct hook_slots){.object = entry->ways[way].object,
                                     .argument = at,
                                     .result = btf_vlen(function),
                                     .returns = kind};
        return 0;
    }
    snprintf(hook->why, sizeof(hook->why), "it has no parameter '%s' in this kernel",
             entry->ways[0].parameter);
    return -EINVAL;
}

int hooks_resolve(struct probe *probe, struct error *error)
{
    struct btf *btf = btf__load_vmlinux_btf();

    if (!btf)
        return error_errno(error, -ENOTSUP, "cannot read the kernel's BTF: %s", strerror(errno));
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        struct probe_hook *hook = &probe->hooks[i];

        *hook = (struct probe_hook){.function = entries[i].function, .ops = OPS(entries[i].op)};
        for (int side = 0; side < SIDE_COUNT; side++)
            probe->state[i].programs[side] = -1;
        (void)hook_resolve(btf, i, &probe->slots[i], hook);
    }
    btf__free(btf);
    return 0;
}

static int link_path(const struct probe *probe, size_t hook, int side, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s_%s", probe->folder,
                     side == SIDE_ENTER ? "enter" : "leave", entries[hook].function);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The descriptor of a link's program, for its statistics. */
static int link_program(const struct bpf_link *link)
{
    struct bpf_link_info info = {0};
    uint32_t size = sizeof(info);

    if (bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) < 0)
        return -1;
    return bpf_prog_get_fd_by_id(info.prog_id);
}

static void hook_linked(struct probe *probe, size_t hook, int side, struct bpf_link *link)
{
    struct hook_state *state = &probe->state[hook];

    state->links[side] = link;
    state->programs[side] = link_program(link);
    if (state->links[SIDE_LEAVE])
        probe->hooks[hook].backend = PROBE_FENTRY;
}

void hooks_adopt(struct probe *probe)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < HOOK_COUNT; i++) {
        for (int side = 0; side < SIDE_COUNT; side++) {
            struct bpf_link *link;

            if (link_path(probe, i, side, path) < 0)
                continue;
            link = bpf_link__open(path);
            if (link)
                hook_linked(probe, i, side, link);
        }
    }
}

/* Load the program or not, for the function by the name that this kernel has. */
static struct bpf_program *choose(const struct probe *probe, const struct jobio_bpf *skel,
                                  size_t hook, int side, bool wanted)
{
    struct bpf_program *program = program_of(skel, hook, side);

    (void)bpf_program__set_autoload(program, wanted);
    if (wanted && strcmp(probe->hooks[hook].function, entries[hook].function))
        (void)bpf_program__set_attach_target(program, 0, probe->hooks[hook].function);
    return program;
}

static void set_constants(const struct probe *probe, struct jobio_bpf *skel)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        skel->rodata->hooks[i] = probe->slots[i];
}

void hooks_choose(const struct probe *probe, struct jobio_bpf *skel)
{
    set_constants(probe, skel);
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        for (int side = 0; side < SIDE_COUNT; side++)
            (void)choose(probe, skel, i, side,
                         !probe->hooks[i].why[0] && !probe->state[i].links[side]);
    }
}

/* The last line of the verifier's log that says something. */
static const char *last_line(char *log)
{
    char *line, *last = log, *rest;

    for (line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "processed ", 10))
            last = line;
    return last;
}

static void hook_try(struct probe *probe, size_t hook)
{
    _free_ char *log = calloc(1, 1 << 20);
    struct jobio_bpf *skel = jobio_bpf__open();
    struct bpf_program *program;
    int r;

    if (!skel || !log)
        goto out;
    bpf_object__for_each_program(program, skel->obj)
    {
        (void)bpf_program__set_autoload(program, false);
    }
    for (int side = 0; side < SIDE_COUNT; side++) {
        program = choose(probe, skel, hook, side, true);
        (void)bpf_program__set_log_buf(program, log, 1 << 20);
    }
    set_constants(probe, skel);
    r = jobio_bpf__load(skel);
    if (r < 0)
        snprintf(probe->hooks[hook].why, sizeof(probe->hooks[hook].why),
                 "the kernel refused it: %s%s%s", strerror(-r), log[0] ? ": " : "", last_line(log));
out:
    jobio_bpf__destroy(skel);
}

void hooks_try(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (!probe->hooks[i].why[0])
            hook_try(probe, i);
}

static int hook_attach(struct probe *probe, size_t hook, int side)
{
    struct bpf_link *link;
    char path[PATH_MAX];
    int r;

    if (probe->state[hook].links[side])
        return 0;
    link = bpf_program__attach(program_of(probe->skel, hook, side));
    if (!link)
        return -errno;
    if (probe->folder) {
        r = link_path(probe, hook, side, path);
        if (r == 0)
            r = bpf_link__pin(link, path);
        if (r < 0) {
            (void)bpf_link__destroy(link);
            return r;
        }
    }
    hook_linked(probe, hook, side, link);
    return 0;
}

/* A begin without an end, or the reverse, is worse than neither: inner calls would count as well,
 * and no call would have its time. */
static void hook_detach(struct probe *probe, size_t hook)
{
    struct hook_state *state = &probe->state[hook];

    for (int side = 0; side < SIDE_COUNT; side++) {
        if (!state->links[side])
            continue;
        if (probe->folder)
            (void)bpf_link__unpin(state->links[side]);
        (void)bpf_link__destroy(state->links[side]);
        state->links[side] = NULL;
        if (state->programs[side] > 0)
            (void)close(state->programs[side]);
        state->programs[side] = -1;
    }
    probe->hooks[hook].backend = PROBE_NONE;
}

void hooks_attach(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        struct probe_hook *hook = &probe->hooks[i];
        int r = 0;

        if (hook->why[0])
            continue;
        /* The end first: a call whose begin nobody saw is counted without its time, one whose end
         * nobody sees not at all. */
        for (int side = SIDE_LEAVE; side >= SIDE_ENTER && r == 0; side--)
            r = hook_attach(probe, i, side);
        if (r < 0) {
            hook_detach(probe, i);
            snprintf(hook->why, sizeof(hook->why), "not attached: %s", strerror(-r));
        }
    }
}

void hooks_close(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        for (int side = 0; side < SIDE_COUNT; side++) {
            struct hook_state *state = &probe->state[i];

            (void)bpf_link__destroy(state->links[side]);
            if (state->programs[side] > 0)
                (void)close(state->programs[side]);
        }
    }
}

int probe_hooks(struct probe *probe, const struct probe_hook **ret, size_t *n)
{
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        struct probe_hook *hook = &probe->hooks[i];

        hook->run_count = hook->run_time_ns = hook->missed = 0;
        for (int side = 0; side < SIDE_COUNT; side++) {
            struct bpf_prog_info info = {0};
            uint32_t size = sizeof(info);

            if (probe->state[i].programs[side] < 0 ||
                bpf_obj_get_info_by_fd(probe->state[i].programs[side], &info, &size) < 0)
                continue;
            hook->run_count += info.run_cnt;
            hook->run_time_ns += info.run_time_ns;
            hook->missed += info.recursion_misses;
        }
    }
    *ret = probe->hooks;
    *n = HOOK_COUNT;
    return 0;
}

uint64_t probe_unsupported(const struct probe *probe)
{
    uint64_t all = (1ull << IO_OP_COUNT) - 1, counted = 0, partly = 0;

    /* An operation that one of its functions cannot count is not counted as a whole. */
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        if (probe->hooks[i].backend == PROBE_NONE)
            partly |= probe->hooks[i].ops;
        else
            counted |= probe->hooks[i].ops;
    }
    return all & ~(counted & ~partly);
}
