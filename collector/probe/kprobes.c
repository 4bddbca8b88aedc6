/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kprobe backend: loads and attaches bpf/kprobes.bpf.h. */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <bpf/btf.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "bpf/kprobes.skel.h"
#include "bpf/session.skel.h"
#include "common/cleanup.h"

#define ENTRY_HOOK(function, operation, ...) \
    [HOOK_##function] = {.present = true, .op = operation, .to = IO_OP_COUNT},
#define ENTRY_TRANSFER(function, from, target, ...) \
    [HOOK_##function] = {.present = true, .op = from, .to = target},

#define CLOSE(what)                                                      \
    {                                                                    \
        .present = true, .op = IO_CLOSE, .to = IO_OP_COUNT, .role = what \
    }

/* What the kprobe of a hook counts or notes. */
static const struct {
    bool present; /* the hook is on a function */
    enum io_op op, to;
    enum kprobe_role role;
} entries[HOOK_COUNT] = {
    HOOKS(ENTRY_HOOK) EXTRAS(ENTRY_HOOK) TRANSFERS(ENTRY_TRANSFER)[HOOK___fput] =
        CLOSE(KPROBE_RELEASE),
    [HOOK_filp_close] = CLOSE(KPROBE_FLUSH),
    [HOOK_filp_flush] = CLOSE(KPROBE_FLUSH),
    [HOOK_walked] = {.present = true, .to = IO_OP_COUNT, .role = KPROBE_WALKED},
    [HOOK_found_parent] = {.present = true, .to = IO_OP_COUNT, .role = KPROBE_PARENT},
    [HOOK_balance_dirty_pages] = {.present = true, .to = IO_OP_COUNT, .role = KPROBE_THROTTLE},
};

bool kprobes_have(size_t hook)
{
    return entries[hook].present;
}

/* The side without which the hook is useless. */
static int main_side(size_t hook)
{
    return entries[hook].role == KPROBE_WALKED ? SIDE_ENTER : SIDE_LEAVE;
}

static bool has_side(size_t hook, int side)
{
    return side <= main_side(hook);
}

static bool is_wanted(const struct probe *probe, size_t hook)
{
    return entries[hook].present && probe->resolved[hook];
}

uint64_t kprobes_ops(const struct probe *probe)
{
    uint64_t ops = 0;

    for (size_t i = 0; i < HOOK_COUNT; i++)
        ops |= probe->hooks[i].backend == PROBE_KPROBE ? probe->hooks[i].ops : 0;
    return ops;
}

/* The start of struct bpf_link_info since 6.7; libbpf's own version may be older. */
struct multi_info {
    uint32_t type, id, program, pad;
    uint64_t addresses;
    uint32_t count, flags;
    uint64_t missed;
};

/* Number of calls that the kernel missed for lack of room for their records. */
static uint64_t missed_by_link(const struct bpf_link *link)
{
    struct multi_info info = {0};
    uint32_t size = sizeof(info);

    if (!link || bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) < 0)
        return 0;
    return size < sizeof(info) ? 0 : info.missed;
}

/* All functions share the links of the first one. */
static void read_missed_links(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        for (int side = 0; side < SIDE_COUNT; side++)
            probe->hooks[i].missed += missed_by_link(probe->kprobes[i].link[side]);
}

void kprobes_read_missed(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        probe->hooks[i].missed = 0;
    if (probe->by_kprobes && probe->kprobes_multi)
        read_missed_links(probe);
    else if (probe->by_kprobes)
        kprobe_events_read_missed(probe);
}

/* --- which kind ------------------------------------------------------------------------------- */

/* Returns whether no function return is lost: if the function graph tracer follows them. Older
 * kernels take the records from a pool that is too small. */
static bool multi_is_exact(const struct btf *btf)
{
    int id = btf__find_by_name_kind(btf, "fprobe", BTF_KIND_STRUCT);
    const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, id);
    const struct btf_member *members = type ? btf_members(type) : NULL;

    for (int i = 0; type && i < btf_vlen(type); i++)
        if (!strcmp(btf__name_by_offset(btf, members[i].name_off), "rethook"))
            return false;
    return type;
}

static bool has_line(const char *path, char *buf, size_t size)
{
    _fclose_ FILE *file = fopen(path, "re");

    return file && fgets(buf, size, file);
}

/* Returns whether the kernel may preempt a task in a BPF program. If debugfs is not mounted, a
 * kernel built with PREEMPT may, unless its command line disables it. */
static bool is_preemptible(void)
{
    char line[4096];
    struct utsname name;

    if (has_line("/sys/kernel/debug/sched/preempt", line, sizeof(line)))
        return !strstr(line, "(none)") && !strstr(line, "(voluntary)");
    if (has_line("/proc/cmdline", line, sizeof(line)) &&
        (strstr(line, "preempt=none") || strstr(line, "preempt=voluntary")))
        return false;
    return uname(&name) == 0 && strstr(name.version, "PREEMPT");
}

/* Returns whether one program can run at the entry and at the return of a function, and the
 * kernel's bpf_session_is_return() has the parameter that bpf/session.bpf.c declares (since 7.0).
 */
static bool has_sessions(const struct btf *btf)
{
    int id = btf__find_by_name_kind(btf, "bpf_session_is_return", BTF_KIND_FUNC);
    const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, id);
    const struct btf_type *parameters = type ? btf__type_by_id(btf, type->type) : NULL;

    return parameters && btf_vlen(parameters) == 1;
}

/* The programs find their hook by the cookie of the link. */
static bool has_cookies(void)
{
    return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) != 0;
}

static int check_kernel(struct probe *probe)
{
    probe->kprobes_lack = NULL;
    if (!probe->kprobes_multi && !kprobe_events_exist())
        probe->kprobes_lack = "the kernel has no kprobe events (CONFIG_KPROBE_EVENTS)";
    else if (!has_cookies())
        probe->kprobes_lack = "the kernel has no attach cookies (since Linux 5.15)";
    return probe->kprobes_lack ? -EOPNOTSUPP : 0;
}

void kprobes_choose_kind(struct probe *probe, const struct btf *btf)
{
    probe->kprobes_multi = multi_is_exact(btf);
    probe->kprobes_better = probe->kprobes_multi && is_preemptible();
    probe->kprobes_session = probe->kprobes_multi && has_sessions(btf);
}

/* --- programs --------------------------------------------------------------------------------- */

/* Either an object with a program for each side, or one with a program for both, whose link is
 * stored as that of SIDE_LEAVE. The other pointer is NULL. */
struct objects {
    struct kprobes_bpf *pair;
    struct session_bpf *session;
};

static void objects_destroy(struct objects *objects)
{
    kprobes_bpf__destroy(objects->pair);
    session_bpf__destroy(objects->session);
}

static int objects_open(struct objects *ret, bool session)
{
    if (session)
        ret->session = session_bpf__open_opts(features_types());
    else
        ret->pair = kprobes_bpf__open_opts(features_types());
    return ret->session || ret->pair ? 0 : -errno;
}

static struct bpf_program *program_of(const struct objects *objects, int side)
{
    if (objects->session)
        return objects->session->progs.session_any;
    return side == SIDE_ENTER ? objects->pair->progs.enter_any : objects->pair->progs.leave_any;
}

#define SAME_OFFSET(member)                                          \
    _Static_assert(offsetof(struct kprobes_bpf__rodata, member) ==   \
                       offsetof(struct session_bpf__rodata, member), \
                   "set_constants() serves both objects")
SAME_OFFSET(features);
SAME_OFFSET(devtmpfs_dev);
SAME_OFFSET(share_limits);
SAME_OFFSET(kprobe_table);

static void set_constants(const struct probe *probe, struct kprobes_bpf__rodata *constants)
{
    constants->features = probe->features;
    constants->devtmpfs_dev = probe->devtmpfs_dev;
    memcpy((void *)constants->share_limits, probe->share_limits, sizeof(constants->share_limits));
    for (size_t i = 0; i < HOOK_COUNT; i++)
        constants->kprobe_table[i] =
            (struct kprobe_entry){probe->indexes[i], entries[i].op, entries[i].to, entries[i].role};
}

/* BPF_TRACE_KPROBE_SESSION of enum bpf_attach_type, which older headers lack. */
#define TRACE_KPROBE_SESSION 56

static int load_session(const struct probe *probe, struct session_bpf *session)
{
    int r = maps_share(probe, session->obj);

    set_constants(probe, (struct kprobes_bpf__rodata *)session->rodata);
    (void)bpf_program__set_expected_attach_type(session->progs.session_any,
                                                (enum bpf_attach_type)TRACE_KPROBE_SESSION);
    return r < 0 ? r : session_bpf__load(session);
}

static int load_pair(const struct probe *probe, struct kprobes_bpf *pair)
{
    int r = maps_share(probe, pair->obj);

    set_constants(probe, pair->rodata);
    if (probe->kprobes_multi) {
        (void)bpf_program__set_expected_attach_type(pair->progs.enter_any, BPF_TRACE_KPROBE_MULTI);
        (void)bpf_program__set_expected_attach_type(pair->progs.leave_any, BPF_TRACE_KPROBE_MULTI);
    }
    return r < 0 ? r : kprobes_bpf__load(pair);
}

static int objects_load(const struct probe *probe, const struct objects *objects)
{
    return objects->session ? load_session(probe, objects->session)
                            : load_pair(probe, objects->pair);
}

/* --- links ------------------------------------------------------------------------------------ */

static int pin_path(const struct probe *probe, size_t hook, int side, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s_%zu", probe->directory, kprobe_prefix(side), hook);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* List the functions that have the side, and their cookies. Returns their number. */
static size_t list_functions(const struct probe *probe, int side, const char **functions,
                             __u64 *cookies)
{
    size_t n = 0;

    for (size_t i = 0; i < HOOK_COUNT; i++) {
        if (!is_wanted(probe, i) || !has_side(i, side))
            continue;
        functions[n] = probe->hooks[i].function;
        cookies[n++] = i;
    }
    return n;
}

/* Attach all functions with one link: a link takes the kernel the same time for one as for all. */
static struct bpf_link *open_multi(const struct probe *probe, const struct bpf_program *program,
                                   int side)
{
    const char *functions[HOOK_COUNT];
    __u64 cookies[HOOK_COUNT];
    LIBBPF_OPTS(bpf_kprobe_multi_opts, options, .syms = functions, .cookies = cookies,
                .retprobe = side == SIDE_LEAVE);

    options.cnt = list_functions(probe, side, functions, cookies);
    return bpf_program__attach_kprobe_multi_opts(program, NULL, &options);
}

/* Attach all functions with a link of the session program, and pin it. libbpf cannot create such a
 * link before 1.5, and makes a struct bpf_link only of a pinned one. */
static struct bpf_link *open_session(const struct probe *probe, const struct bpf_program *program,
                                     const char *path)
{
    const char *functions[HOOK_COUNT];
    __u64 cookies[HOOK_COUNT];
    union bpf_attr attributes = {.link_create = {.prog_fd = (__u32)bpf_program__fd(program),
                                                 .attach_type = TRACE_KPROBE_SESSION,
                                                 .kprobe_multi = {.syms = (uintptr_t)functions,
                                                                  .cookies = (uintptr_t)cookies}}};
    struct bpf_link *link;
    _close_ int fd = -1;

    attributes.link_create.kprobe_multi.cnt =
        (__u32)list_functions(probe, SIDE_ENTER, functions, cookies);
    fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
    if (fd < 0 || bpf_obj_pin(fd, path) < 0)
        return NULL;
    link = bpf_link__open(path);
    if (!link)
        (void)unlink(path);
    return link;
}

static struct bpf_link *open_event(const struct probe *probe, const struct bpf_program *program,
                                   size_t hook, int side)
{
    LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = hook);
    char name[64];
    int r = kprobe_events_make(probe, hook, side, name);

    if (r == 0)
        return bpf_program__attach_tracepoint_opts(program, "jobio", name, &options);
    errno = -r;
    return NULL;
}

/* All links share the same programs. Their statistics count only once, for the first hook. */
static void take_link(struct probe *probe, size_t hook, int side, struct bpf_link *link)
{
    struct hook_links *links = &probe->kprobes[hook];

    links_add(links, side, link);
    for (size_t i = 0; i < hook && links->program[side] > 0; i++) {
        if (probe->kprobes[i].program[side] <= 0)
            continue;
        (void)close(links->program[side]);
        links->program[side] = 0;
    }
}

static int attach_session(struct probe *probe, const struct objects *objects, size_t hook)
{
    char path[PATH_MAX];
    int r = pin_path(probe, hook, SIDE_LEAVE, path);
    struct bpf_link *link =
        r < 0 ? NULL : open_session(probe, program_of(objects, SIDE_LEAVE), path);

    if (!link)
        return r < 0 ? r : -errno;
    take_link(probe, hook, SIDE_LEAVE, link);
    (void)access("/", F_OK); /* at its return the program learns the trampoline's address */
    return 0;
}

static int attach_side(struct probe *probe, const struct objects *objects, size_t hook, int side)
{
    const struct bpf_program *program = program_of(objects, side);
    struct bpf_link *link = probe->kprobes_multi ? open_multi(probe, program, side)
                                                 : open_event(probe, program, hook, side);
    char path[PATH_MAX];
    int r = 0;

    if (!link)
        return -errno;
    if (probe->directory) {
        r = pin_path(probe, hook, side, path);
        if (r == 0)
            r = bpf_link__pin(link, path);
    }
    if (r < 0)
        (void)bpf_link__destroy(link);
    else
        take_link(probe, hook, side, link);
    return r;
}

static void detach(struct probe *probe, size_t hook)
{
    links_unpin(&probe->kprobes[hook]);
    for (int side = 0; side <= main_side(hook) && !probe->kprobes_multi; side++)
        kprobe_events_remove(probe, hook, side);
}

/* Attach the return last: the kernel then runs it first, so the entry finds its address on the
 * stack. */
static int attach(struct probe *probe, const struct objects *objects, size_t hook)
{
    int r = 0;

    if (objects->session)
        return attach_session(probe, objects, hook);
    for (int side = SIDE_ENTER; side <= main_side(hook) && r == 0; side++)
        r = attach_side(probe, objects, hook, side);
    if (r < 0)
        detach(probe, hook);
    return r;
}

/* Returns the hook that holds the link: if one link serves all functions, the first wanted hook. */
static size_t link_of(const struct probe *probe, size_t hook)
{
    for (size_t i = 0; i < hook && probe->kprobes_multi; i++)
        if (is_wanted(probe, i))
            return i;
    return hook;
}

_Static_assert(HOOK_COUNT <= KPROBE_ENTRIES, "the mask of kprobe_entry() is too small");

static size_t attach_all(struct probe *probe, bool session)
{
    struct objects objects = {0};
    int r = objects_open(&objects, session);
    size_t n = 0;

    if (r == 0)
        r = objects_load(probe, &objects);
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        size_t first = link_of(probe, i);

        if (!is_wanted(probe, i))
            continue;
        probe->kprobe_errors[i] = r < 0        ? r
                                  : first == i ? attach(probe, &objects, i)
                                               : probe->kprobe_errors[first];
        n += probe->kprobe_errors[i] == 0;
    }
    objects_destroy(&objects);
    return n;
}

size_t kprobes_attach(struct probe *probe)
{
    int r = check_kernel(probe);
    size_t n = 0;

    for (size_t i = 0; i < HOOK_COUNT; i++)
        probe->kprobe_errors[i] = r;
    if (r == 0 && probe->kprobes_session && probe->directory)
        n = attach_all(probe, true);
    /* Two programs count the same, but cost more, so this is not reported. */
    return r < 0 || n ? n : attach_all(probe, false);
}

/* Debian and Ubuntu have values above the kernel's own maximum of 2. */
static bool is_perf_restricted(void)
{
    _fclose_ FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int value;

    return file && fscanf(file, "%d", &value) == 1 && value > 2;
}

static const char *reason_of(const struct probe *probe, int error)
{
    if (probe->kprobes_lack)
        return probe->kprobes_lack;
    if (error == -EACCES && is_perf_restricted())
        return "sysctl kernel.perf_event_paranoid above 2 requires CAP_SYS_ADMIN";
    return strerror(-error);
}

static bool is_attached(const struct probe *probe, size_t hook)
{
    const struct hook_links *links = &probe->kprobes[link_of(probe, hook)];

    return links->link[main_side(hook)] || links->link[SIDE_LEAVE];
}

void kprobes_use(struct probe *probe)
{
    probe->by_kprobes = true;
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        struct probe_hook *hook = &probe->hooks[i];

        if (!is_wanted(probe, i))
            continue;
        if (is_attached(probe, i)) {
            hook->backend = PROBE_KPROBE;
            hook->why[0] = '\0';
        } else {
            hook->backend = PROBE_NONE;
            (void)snprintf(hook->why, sizeof(hook->why), "no kprobe: %s",
                           reason_of(probe, probe->kprobe_errors[i]));
        }
    }
}

void kprobes_drop(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (is_wanted(probe, i))
            detach(probe, i);
}

bool kprobes_adopt(struct probe *probe)
{
    char path[PATH_MAX];
    bool any = false;

    for (size_t i = 0; i < HOOK_COUNT; i++)
        for (int side = 0; side < SIDE_COUNT && is_wanted(probe, i); side++) {
            struct bpf_link *link =
                pin_path(probe, i, side, path) == 0 ? bpf_link__open(path) : NULL;

            if (link)
                take_link(probe, i, side, link);
            any |= link && side == SIDE_LEAVE;
        }
    return any;
}

void kprobes_close(struct probe *probe)
{
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        bool attached = probe->kprobes[i].link[main_side(i)];

        links_close(&probe->kprobes[i]);
        for (int side = 0; side <= main_side(i) && attached && !probe->directory; side++)
            if (!probe->kprobes_multi)
                kprobe_events_remove(probe, i, side);
    }
}
