/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kprobe backend: loads and attaches bpf/kprobes.bpf.h. */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <bpf/btf.h>
#include <limits.h>
#include <string.h>
#include <sys/utsname.h>

#include "bpf/kprobes.skel.h"
#include "common/cleanup.h"

DEFINE_CLEANUP(struct kprobes_bpf, kprobes_bpf__destroy)

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
}

/* --- links ------------------------------------------------------------------------------------ */

static struct bpf_program *program_of(const struct kprobes_bpf *skel, int side)
{
    return side == SIDE_ENTER ? skel->progs.enter_any : skel->progs.leave_any;
}

static int pin_path(const struct probe *probe, size_t hook, int side, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s_%zu", probe->directory, kprobe_prefix(side), hook);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Attach all functions with one link: a link takes the kernel the same time for one as for all. */
static struct bpf_link *open_multi(const struct probe *probe, const struct bpf_program *program,
                                   int side)
{
    const char *functions[HOOK_COUNT];
    __u64 cookies[HOOK_COUNT];
    LIBBPF_OPTS(bpf_kprobe_multi_opts, options, .syms = functions, .cookies = cookies,
                .retprobe = side == SIDE_LEAVE);

    for (size_t i = 0; i < HOOK_COUNT; i++) {
        if (!is_wanted(probe, i) || !has_side(i, side))
            continue;
        functions[options.cnt] = probe->hooks[i].function;
        cookies[options.cnt++] = i;
    }
    return bpf_program__attach_kprobe_multi_opts(program, NULL, &options);
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

static int attach_side(struct probe *probe, const struct kprobes_bpf *skel, size_t hook, int side)
{
    const struct bpf_program *program = program_of(skel, side);
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
static int attach(struct probe *probe, const struct kprobes_bpf *skel, size_t hook)
{
    int r = 0;

    for (int side = SIDE_ENTER; side <= main_side(hook) && r == 0; side++)
        r = attach_side(probe, skel, hook, side);
    if (r < 0)
        detach(probe, hook);
    return r;
}

static int load(const struct probe *probe, struct kprobes_bpf *skel)
{
    int r = maps_share(probe, skel->obj);

    skel->rodata->features = probe->features;
    skel->rodata->devtmpfs_dev = probe->devtmpfs_dev;
    memcpy((void *)skel->rodata->share_limits, probe->share_limits,
           sizeof(skel->rodata->share_limits));
    for (size_t i = 0; i < HOOK_COUNT; i++)
        skel->rodata->kprobe_table[i] =
            (struct kprobe_entry){probe->indexes[i], entries[i].op, entries[i].to, entries[i].role};
    for (int side = 0; side < SIDE_COUNT && probe->kprobes_multi; side++)
        (void)bpf_program__set_expected_attach_type(program_of(skel, side), BPF_TRACE_KPROBE_MULTI);
    return r < 0 ? r : kprobes_bpf__load(skel);
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

size_t kprobes_attach(struct probe *probe)
{
    CLEANUP(kprobes_bpf__destroyp)
    struct kprobes_bpf *skel = kprobes_bpf__open_opts(features_types());
    int r = skel ? check_kernel(probe) : -errno;
    size_t n = 0;

    if (r == 0)
        r = load(probe, skel);
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        size_t first = link_of(probe, i);

        if (!is_wanted(probe, i))
            continue;
        probe->kprobe_errors[i] = r < 0        ? r
                                  : first == i ? attach(probe, skel, i)
                                               : probe->kprobe_errors[first];
        n += probe->kprobe_errors[i] == 0;
    }
    return n;
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

void kprobes_use(struct probe *probe)
{
    probe->by_kprobes = true;
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        struct probe_hook *hook = &probe->hooks[i];

        if (!is_wanted(probe, i))
            continue;
        if (probe->kprobes[link_of(probe, i)].link[main_side(i)]) {
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
