/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <bpf/btf.h>
#include <limits.h>
#include <string.h>

#include "common/cleanup.h"

#define OPS(op) (1ull << (op) | ((op) == IO_OPEN ? 1ull << IO_CREATE : 0))

#define NO_PROGRAM SIZE_MAX

struct hook_entry {
    const char *name;    /* of the programs */
    const char *section; /* of the program at return, or of the only one */
    const char *feature;
    uint64_t ops;
    struct {
        enum hook_object object;
        const char *parameter;
    } ways[2];
    const char *second;          /* name of the second parameter */
    bool needs_second;           /* the second parameter must exist, if it has a name */
    size_t programs[SIDE_COUNT]; /* their offsets in the skeleton */
};

#define ENTRY_EXTRA(function, op, feature_name, object1, parameter1, object2, parameter2) \
    {                                                                                     \
        .name = #function,                                                                \
        .section = "fexit/" #function,                                                    \
        .feature = feature_name,                                                          \
        .ops = OPS(op),                                                                   \
        .ways = {{object1, parameter1}, {object2, parameter2}},                           \
        .second = "",                                                                     \
        .programs = {offsetof(struct jobio_bpf, progs.enter_##function),                  \
                     offsetof(struct jobio_bpf, progs.leave_##function)},                 \
    },
#define ENTRY_HOOK(function, op, object1, ...)                      \
    ENTRY_EXTRA(function, op,                                       \
                object1 == OBJECT_REGS_32    ? "32-bit programs"    \
                : object1 == OBJECT_REPORTED ? "inlined " #function \
                                             : "",                  \
                object1, __VA_ARGS__)

#define ENTRY_EVENT(event, section_name, operations, feature_name, object1, parameter1, object2, \
                    parameter2, second_parameter)                                                \
    {                                                                                            \
        .name = #event,                                                                          \
        .section = section_name,                                                                 \
        .feature = feature_name,                                                                 \
        .ops = operations,                                                                       \
        .ways = {{object1, parameter1}, {object2, parameter2}},                                  \
        .second = second_parameter,                                                              \
        .programs = {NO_PROGRAM, offsetof(struct jobio_bpf, progs.event_##event)},               \
    },

#define ENTRY_TRANSFER(function, from, to, source, target, feature_name)  \
    {                                                                     \
        .name = #function,                                                \
        .section = "fexit/" #function,                                    \
        .feature = feature_name,                                          \
        .ops = OPS(from) | OPS(to),                                       \
        .ways = {{OBJECT_FILE, source}, {OBJECT_NONE, ""}},               \
        .second = target,                                                 \
        .needs_second = true,                                             \
        .programs = {offsetof(struct jobio_bpf, progs.enter_##function),  \
                     offsetof(struct jobio_bpf, progs.leave_##function)}, \
    },

#define ENTRY_STAGE(function, operations, feature_name, object1, parameter1) \
    {                                                                        \
        .name = #function,                                                   \
        .section = "fexit/" #function,                                       \
        .feature = feature_name,                                             \
        .ops = operations,                                                   \
        .ways = {{object1, parameter1}, {object1, "mapping"}},               \
        .second = "",                                                        \
        .programs = {offsetof(struct jobio_bpf, progs.enter_##function),     \
                     offsetof(struct jobio_bpf, progs.leave_##function)},    \
    },

static const struct hook_entry entries[HOOK_COUNT] = {HOOKS(ENTRY_HOOK) EXTRAS(ENTRY_EXTRA) EVENTS(
    ENTRY_EVENT) TRANSFERS(ENTRY_TRANSFER) STAGES(ENTRY_STAGE)};

/* Returns NULL if the hook has no program on this side. */
static struct bpf_program *program_of(const struct jobio_bpf *skel, size_t hook, int side)
{
    size_t at = entries[hook].programs[side];

    if (hook == HOOK_do_filp_open && side == SIDE_LEAVE && skel->rodata->features.compare_swap)
        return skel->progs.leave_do_filp_open_swap;
    return at == NO_PROGRAM ? NULL : *(struct bpf_program **)((char *)skel + at);
}

/* "kind/function" */
static const char *function_of(const struct hook_entry *entry)
{
    return strchr(entry->section, '/') + 1;
}

static int find_target(struct functions *functions, const struct hook_entry *entry,
                       struct target *ret)
{
    return target_find(functions, function_of(entry), !strncmp(entry->section, "tp_btf/", 7), ret);
}

/* Programs never dereference such a parameter as a pointer that the verifier knows. */
static bool may_be_opaque(enum hook_object object)
{
    return object == OBJECT_REGS || object == OBJECT_REGS_32 || object == OBJECT_WALK ||
           object == OBJECT_FOUND;
}

static int find_object(const struct btf *btf, const struct hook_entry *entry,
                       const struct target *target, struct hook_indexes *indexes)
{
    for (size_t way = 0; way < ARRAY_SIZE(entry->ways); way++) {
        const char *parameter = entry->ways[way].parameter;
        enum hook_object object = entry->ways[way].object;
        int at = target_parameter(btf, target, parameter);

        indexes->opaque = at < 0 && may_be_opaque(object);
        if (indexes->opaque)
            at = target_opaque(btf, target, parameter);
        if (at < 0)
            continue;
        indexes->object = object;
        indexes->argument = at;
        return 0;
    }
    return *entry->ways[0].parameter ? -ENOENT : 0;
}

/* Names that functions use for the pointer to the offset at which they read or write. */
static const char *const offsets[] = {"pos", "ppos", "offset", "off_in"};
static const char *const target_offsets[] = {"opos", "off_out"};

static uint8_t find_offset(const struct btf *btf, const struct target *target,
                           const char *const names[], size_t n)
{
    int at = -ENOENT;

    for (size_t i = 0; i < n && at < 0; i++)
        at = target_parameter(btf, target, names[i]);
    return at < 0 ? HOOK_NO_INDEX : at;
}

static void find_offsets(const struct btf *btf, const struct hook_entry *entry,
                         const struct target *target, struct hook_indexes *indexes)
{
    indexes->offset = indexes->target_offset = HOOK_NO_INDEX;
    if (!(entry->ops & OPS_RW))
        return;
    indexes->offset = find_offset(btf, target, offsets, ARRAY_SIZE(offsets));
    indexes->target_offset = indexes->offset;
    if (*entry->ways[0].parameter)
        indexes->target_offset =
            find_offset(btf, target, target_offsets, ARRAY_SIZE(target_offsets));
}

/* The index of the path of an open. */
static int find_opened(const struct btf *btf, const struct target *target)
{
    int at = target_parameter(btf, target, "pathname");

    return at < 0 ? target_opaque(btf, target, "pathname") : at;
}

/* The index of the file that is written. The second parameter of other hooks is not a file. */
static uint8_t find_written(const struct hook_entry *entry, const struct hook_indexes *indexes)
{
    if (entry->needs_second && indexes->second != HOOK_NO_INDEX)
        return indexes->second;
    return entry->ops == OPS(IO_WRITE) ? indexes->argument : HOOK_NO_INDEX;
}

static int hook_resolve(const struct btf *btf, struct functions *functions,
                        const struct hook_entry *entry, struct hook_indexes *indexes,
                        struct probe_hook *hook)
{
    struct target target;
    int second, kind;

    if (find_target(functions, entry, &target) < 0) {
        hook->absent = true;
        snprintf(hook->why, sizeof(hook->why), "this kernel's BTF has no such function");
        return -ENOENT;
    }
    attach_types_set(entry - entries, function_of(entry), target.type);
    hook->function = target.name;
    kind = target_result(btf, &target);
    if (kind < 0 || find_object(btf, entry, &target, indexes) < 0) {
        /* Some functions of a feature have this form only on some kernels. */
        hook->absent = *entry->feature;
        snprintf(hook->why, sizeof(hook->why), "it has no parameter '%s' in this kernel",
                 entry->ways[0].parameter);
        return -EINVAL;
    }
    second = target_parameter(btf, &target, entry->second);
    if (second < 0 && entry->needs_second && *entry->second) {
        snprintf(hook->why, sizeof(hook->why), "it has no parameter '%s' in this kernel",
                 entry->second);
        return -EINVAL;
    }
    if (entry->ops == OPS(IO_OPEN)) /* only for traces: without it, they have no paths */
        second = find_opened(btf, &target);
    indexes->second = second < 0 ? HOOK_NO_INDEX : second;
    indexes->result = btf_vlen(target.params) - target.skip;
    indexes->returns = kind;
    find_offsets(btf, entry, &target, indexes);
    indexes->target = find_written(entry, indexes);
    return 0;
}

/* Returns whether all calls that read or write have the parameters where bpf/call.bpf.h and
 * bpf/leave.bpf.h expect them. */
static bool are_usual(const struct probe *probe)
{
    static const enum hook_number calls[] = {HOOK_vfs_read,     HOOK_vfs_write,
                                             HOOK_vfs_readv,    HOOK_vfs_writev,
                                             HOOK_compat_readv, HOOK_compat_writev};

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        const struct hook_indexes *indexes = &probe->indexes[calls[i]];

        if (probe->resolved[calls[i]] &&
            (indexes->object != OBJECT_FILE || indexes->argument != USUAL_FILE ||
             indexes->offset != USUAL_OFFSET || indexes->result != USUAL_RESULT(calls[i]) ||
             indexes->returns != RETURN_LONG))
            return false;
    }
    return true;
}

static int resolve_all(struct probe *probe, const struct btf *btf)
{
    struct functions *functions = functions_create(btf);

    if (!functions)
        return -ENOMEM;
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        struct probe_hook *hook = &probe->hooks[i];

        *hook = (struct probe_hook){.function = function_of(&entries[i]),
                                    .feature = entries[i].feature,
                                    .ops = entries[i].ops};
        probe->resolved[i] =
            hook_resolve(btf, functions, &entries[i], &probe->indexes[i], hook) == 0;
    }
    probe->features.own_buffers = !functions_have(functions, "__kernel_read");
    functions_destroy(functions);
    return 0;
}

int hooks_resolve(struct probe *probe, struct error *error)
{
    struct btf *btf = btf__load_vmlinux_btf();
    int r;

    if (!btf)
        return error_set(error, -ENOTSUP,
                         "this kernel has no BTF (/sys/kernel/btf/vmlinux), which "
                         "CONFIG_DEBUG_INFO_BTF makes");
    r = resolve_all(probe, btf);
    if (r == 0) {
        io_uring_choose(probe);
        probe->features.usual_calls = are_usual(probe);
        kprobes_choose_kind(probe, btf);
        probe->can_allocate = sizes_can_allocate(btf);
    }
    btf__free(btf);
    return r < 0 ? error_errno(error, r, "cannot list the kernel's functions") : 0;
}

static int link_path(const struct probe *probe, size_t hook, int side, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s_%s", probe->directory,
                     side == SIDE_ENTER ? "enter" : "leave", entries[hook].name);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static enum probe_backend backend_of(const struct hook_entry *entry)
{
    return strncmp(entry->section, "tp_btf/", 7) ? PROBE_FENTRY : PROBE_TP_BTF;
}

static void hook_linked(struct probe *probe, size_t hook, int side, struct bpf_link *link)
{
    struct hook_links *links = &probe->fentry[hook];

    links_add(links, side, link);
    if (links->link[SIDE_LEAVE])
        probe->hooks[hook].backend = backend_of(&entries[hook]);
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

/* Set whether the program is loaded, and its target to the function's name in this kernel. Returns
 * NULL if there is no program. */
static struct bpf_program *choose(const struct probe *probe, const struct jobio_bpf *skel,
                                  size_t hook, int side, bool wanted)
{
    struct bpf_program *program = program_of(skel, hook, side);

    if (!program)
        return NULL;
    (void)bpf_program__set_autoload(program, wanted);
    if (wanted && backend_of(&entries[hook]) == PROBE_TP_BTF &&
        strcmp(probe->hooks[hook].function, function_of(&entries[hook])))
        (void)bpf_program__set_attach_target(program, 0, probe->hooks[hook].function);
    return program;
}

static void set_constants(const struct probe *probe, struct jobio_bpf *skel)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        skel->rodata->hooks[i] = probe->indexes[i];
}

void hooks_choose(const struct probe *probe, struct jobio_bpf *skel)
{
    set_constants(probe, skel);
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        for (int side = 0; side < SIDE_COUNT; side++)
            (void)choose(probe, skel, i, side,
                         !probe->hooks[i].why[0] && !probe->fentry[i].link[side] &&
                             probe->hooks[i].backend != PROBE_KPROBE);
    }
}

/* An entry program without a return program, or the reverse, is worse than neither: inner calls
 * would count as well, and no call would have its time. */
static void hook_detach(struct probe *probe, size_t hook)
{
    links_unpin(&probe->fentry[hook]);
    probe->hooks[hook].backend = PROBE_NONE;
}

/* vfs_readv and vfs_writev have fewer users. Without them the operation is not counted completely,
 * but that is no reason to give up hooks on functions. */
static bool is_data_hook(size_t hook)
{
    return hook == HOOK_vfs_read || hook == HOOK_vfs_write;
}

bool hooks_see_data(const struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (is_data_hook(i) && probe->hooks[i].why[0])
            return false;
    return true;
}

/* True for hooks on calls and their paths, which another backend can also see; false for other
 * events and page faults. */
static bool is_function(size_t hook)
{
    return kprobes_have(hook);
}

void hooks_replace(struct probe *probe)
{
    const char *first = probe->hooks[HOOK_vfs_read].why;
    char reason[sizeof(probe->hooks->why)];

    (void)snprintf(reason, sizeof(reason), "%s",
                   *first ? first : "another backend counts in its place");
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        struct probe_hook *hook = &probe->hooks[i];

        if (!is_function(i))
            continue;
        hook_detach(probe, i);
        if (!hook->why[0])
            (void)snprintf(hook->why, sizeof(hook->why), "%s", reason);
    }
}

void hooks_give_up(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (probe->hooks[i].backend != PROBE_NONE) {
            hook_detach(probe, i);
            (void)snprintf(probe->hooks[i].why, sizeof(probe->hooks[i].why),
                           "not used without reads and writes");
        }
    if (probe->by_kprobes)
        kprobes_drop(probe);
    probe->levels->task_slots = probe->levels->orders = probe->levels->opens = 0;
}

size_t hooks_attached(const struct probe *probe)
{
    size_t n = 0;

    for (size_t i = 0; i < HOOK_COUNT; i++)
        n += is_function(i) && probe->hooks[i].backend == PROBE_FENTRY;
    return n;
}

size_t hooks_resolved(const struct probe *probe)
{
    size_t n = 0;

    for (size_t i = 0; i < HOOK_COUNT; i++)
        n += is_function(i) && probe->resolved[i];
    return n;
}

/* Returns the last meaningful line of the verifier's log. */
static const char *last_line(char *log)
{
    char *line, *last = log, *rest;

    for (line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, "processed ", 10))
            last = line;
    return last;
}

static void refuse(struct probe *probe, size_t hook, int r, const char *detail)
{
    snprintf(probe->hooks[hook].why, sizeof(probe->hooks[hook].why),
             "the kernel refused it: %s%s%s", strerror(-r), *detail ? ": " : "", detail);
}

/* Returns the negative errno with which the kernel refuses the hook; 0: it does not, or there was
 * no memory to try. */
static int hook_try(struct probe *probe, size_t hook)
{
    _free_ char *log = calloc(1, 1 << 20);
    struct jobio_bpf *skel = programs_open(probe);
    struct bpf_program *program;
    int r = 0;

    if (!skel || !log)
        goto out;
    bpf_object__for_each_program(program, skel->obj)
    {
        (void)bpf_program__set_autoload(program, false);
    }
    for (int side = 0; side < SIDE_COUNT; side++) {
        program = choose(probe, skel, hook, side, true);
        if (program)
            (void)bpf_program__set_log_buf(program, log, 1 << 20);
    }
    set_constants(probe, skel);
    r = jobio_bpf__load(skel);
    if (r < 0)
        refuse(probe, hook, r, last_line(log));
out:
    jobio_bpf__destroy(skel);
    return r;
}

static void refuse_functions(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (!probe->hooks[i].why[0] && backend_of(&entries[i]) == PROBE_FENTRY)
            refuse(probe, i, -EPERM, "");
}

/* Where nobody may attach to the functions of reads and writes, nobody may attach to another one:
 * dozens of attempts would take seconds and find nothing else. */
bool hooks_try_data(struct probe *probe)
{
    size_t tried = 0, forbidden = 0;

    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (is_data_hook(i) && !probe->hooks[i].why[0]) {
            tried++;
            forbidden += hook_try(probe, i) == -EPERM;
        }
    if (probe->wanted == PROBE_NONE && !hooks_see_data(probe))
        hooks_replace(probe);
    if (!tried || forbidden < tried)
        return false;
    refuse_functions(probe);
    return true;
}

void hooks_try(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (!is_data_hook(i) && !probe->hooks[i].why[0])
            (void)hook_try(probe, i);
}

static int hook_attach(struct probe *probe, size_t hook, int side)
{
    struct bpf_program *program = program_of(probe->programs, hook, side);
    struct bpf_link *link;
    char path[PATH_MAX];
    int r;

    if (!program || probe->fentry[hook].link[side])
        return 0;
    link = bpf_program__attach_trace(program);
    if (!link)
        return -errno;
    if (probe->directory) {
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

/* Do not use task slots with kprobes: a task's exit may be missed, and another task would then get
 * its slot with its state. */
static void use_task_slots(struct probe *probe)
{
    if (!probe->by_kprobes)
        probe->levels->task_slots = 1;
}

bool hooks_see_gone(const struct probe *probe)
{
    return probe->hooks[HOOK_task_gone].backend != PROBE_NONE;
}

/* Returns whether both sides are attached. */
static bool attach_sides(struct probe *probe, size_t hook)
{
    int r = 0;

    /* Attach the return first: a call whose entry was not seen is counted without its time; a call
     * whose return is not seen is not counted. */
    for (int side = SIDE_LEAVE; side >= SIDE_ENTER && r == 0; side--)
        r = hook_attach(probe, hook, side);
    if (r == 0)
        return true;
    hook_detach(probe, hook);
    snprintf(probe->hooks[hook].why, sizeof(probe->hooks->why), "not attached: %s", strerror(-r));
    return false;
}

void hooks_attach(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        if (i == HOOK_io_uring_submit || probe->hooks[i].why[0] ||
            (i == HOOK_task_exit && hooks_see_gone(probe)) ||
            probe->hooks[i].backend == PROBE_KPROBE)
            continue;
        if (i == HOOK_do_filp_open && probe->features.compare_swap)
            probe->levels->opens = 1; /* first, because from then on some ways are not locked */
        if (!attach_sides(probe, i))
            continue;
        if (i == HOOK_task_gone)
            use_task_slots(probe);
        else if (i == HOOK___fput)
            probe->levels->orders = 1;
    }
}

void hooks_attach_submissions(struct probe *probe)
{
    if (!probe->hooks[HOOK_io_uring_submit].why[0] && io_uring_lacks_hooks(probe))
        (void)attach_sides(probe, HOOK_io_uring_submit);
}

void hooks_close(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        links_close(&probe->fentry[i]);
    kprobes_close(probe);
    links_close(&probe->syscall_links);
}
