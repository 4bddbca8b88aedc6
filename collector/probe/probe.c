/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <dirent.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/cleanup.h"
#include "common/numbers.h"

DEFINE_CLEANUP(struct probe, probe_destroy)

/* Open the directory of this layout; creates it if needed. */
static int open_directory(struct probe *probe, const char *pin_dir, struct error *error)
{
    struct statfs fs;

    if (asprintf(&probe->directory, "%s/%d", pin_dir, JOBIO_LAYOUT) < 0) {
        probe->directory = NULL;
        return error_errno(error, -ENOMEM, "cannot name the directory of the pins");
    }
    if (mkdir(pin_dir, 0700) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "cannot make '%s' (is /sys/fs/bpf mounted?)", pin_dir);
    if (statfs(pin_dir, &fs) < 0)
        return error_errno(error, -errno, "cannot look at '%s'", pin_dir);
    if (fs.f_type != BPF_FS_MAGIC)
        return error_set(error, -EINVAL,
                         "'%s' does not lie on a BPF file system (mount -t bpf bpf /sys/fs/bpf)",
                         pin_dir);
    return 0;
}

/* Use kprobes if they hook at least this many functions. */
static void try_kprobes(struct probe *probe, size_t least)
{
    if (kprobes_attach(probe) < least) {
        kprobes_drop(probe);
        return;
    }
    hooks_replace(probe);
    kprobes_use(probe);
}

static void attach(struct probe *probe)
{
    /* Do not change an adopted backend, because calls in progress would be lost. */
    bool fresh = !hooks_attached(probe) && !probe->by_kprobes && !probe->by_syscalls;
    bool any = fresh && probe->wanted == PROBE_NONE;

    if (fresh && probe->wanted == PROBE_KPROBE)
        try_kprobes(probe, 0);
    else if (any && probe->kprobes_better)
        try_kprobes(probe, hooks_resolved(probe));
    hooks_attach(probe);
    if (any && !probe->by_kprobes && hooks_attached(probe) < hooks_resolved(probe))
        try_kprobes(probe, hooks_attached(probe) + 1);
    if ((fresh && probe->wanted == PROBE_TP_BTF) || (any && !hooks_see_data(probe))) {
        hooks_replace(probe);
        syscalls_attach(probe);
    }
    hooks_attach_submissions(probe);
    if (probe->hooks[HOOK_do_filp_open].backend != PROBE_FENTRY)
        probe->levels->opens = 0;
    /* Also if adopted: the process that attached them may have been killed before this point. */
    if (probe->by_kprobes && probe->hooks[HOOK___fput].backend == PROBE_KPROBE)
        probe->levels->orders = 1;
}

/* Returns whether a hook counts reads or writes of every process, not only of some interface. */
static bool sees_data(const struct probe_hook *hooks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hooks[i].ops & OPS_RW && !*hooks[i].feature && hooks[i].backend != PROBE_NONE)
            return true;
    return false;
}

/* A probe with programs but without hooks for reads and writes is blind, too: what some other hook
 * counts would look like the I/O of a job. */
static int check_blind(struct probe *probe, struct error *error)
{
    const struct probe_hook *hooks, *first;
    size_t n;

    (void)probe_hooks(probe, &hooks, &n);
    first = probe->by_syscalls ? probe->syscall_hooks : hooks;
    if (sees_data(hooks, n))
        return 0;
    hooks_give_up(probe);
    rpc_unpin(probe);
    if (asprintf(&probe->blind, "%s: %s%s", first->function, first->why,
                 probe->by_kprobes ? "" : " (CAP_BPF and CAP_PERFMON are needed)") >= 0)
        return 0;
    probe->blind = NULL;
    return error_errno(error, -ENOMEM, "cannot make the probe");
}

/* Pin what an earlier process has not. */
static int pin(struct probe *probe, struct error *error)
{
    int r = 0;

    if (!probe->adopted) {
        if (mkdir(probe->directory, 0700) < 0 && errno != EEXIST)
            return error_errno(error, -errno, "cannot make '%s'", probe->directory);
        r = maps_pin(probe->skel, probe->features.spans, probe->features.long_ns, probe->directory,
                     error);
    }
    if (r < 0)
        return r;
    r = layouts_mark(probe);
    return r < 0 ? error_errno(error, r, "cannot pin the shape in '%s'", probe->directory) : 0;
}

/* What the programs report. */
static int open_rings(struct probe *probe, const struct probe_options *options, struct error *error)
{
    int r;

    probe->ring = ring_buffer__new(bpf_map__fd(probe->skel->maps.new_mounts), probe_report_mount,
                                   probe, NULL);
    if (!probe->ring)
        return error_errno(error, -errno, "cannot open the ring buffer");
    r = probe->adopted && probe->features.spans ? spans_reset(probe, error) : 0;
    if (r == 0 && options->spans)
        r = spans_open(probe, error);
    if (r == 0 && probe->adopted && probe->features.long_ns)
        r = stacks_tidy(probe, !options->long_ns, error);
    if (r == 0 && options->long_ns && probe->features.long_ns)
        r = stacks_open(probe, error);
    return r;
}

int probe_create(struct probe **ret, const struct probe_options *options, struct error *error)
{
    CLEANUP(probe_destroyp) struct probe *probe = calloc(1, sizeof(*probe));
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    int r;

    if (!probe)
        return error_errno(error, -ENOMEM, "cannot make the probe");
    probe->wanted = options->backend;
    (void)libbpf_set_print(NULL);
    /* Before 5.11 maps are charged to this limit; later it does not matter. */
    (void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
    r = features_check(error);
    if (r == 0 && (r = attach_types_register()) < 0)
        return error_errno(error, r, "cannot prepare libbpf");
    if (r == 0)
        r = hooks_resolve(probe, error);
    if (r < 0)
        return r;
    features_detect(&probe->features);
    probe->features.spans = options->spans;
    probe->features.lasting = options->pin_dir != NULL;
    probe->features.long_ns =
        options->pin_dir && options->long_ns ? PROBE_LONG_LEAST_NS : options->long_ns;
    if (options->pin_dir)
        r = open_directory(probe, options->pin_dir, error);
    if (r == 0)
        r = load_maps(probe, options->max_steps, error);
    if (r == 0)
        r = load_programs(probe, error);
    if (r == 0 && probe->directory)
        r = pin(probe, error);
    if (r < 0)
        return r;
    r = maps_open(probe, error);
    if (r == 0)
        r = slots_open(probe, probe->adopted, error);
    if (r < 0)
        return r;
    attach(probe);
    programs_close(probe);
    if (probe->by_kprobes)
        elements_open(probe);
    r = probe->adopted ? shares_recount(probe, error) : 0;
    if (r == 0)
        r = check_blind(probe, error);
    if (r < 0)
        return r;
    rpc_poll(probe);
    r = open_rings(probe, options, error);
    if (r == 0 && options->pin_dir && !probe->blind)
        r = layouts_open(probe, options->pin_dir, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(probe);
    return 0;
}

int probe_create_blind(struct probe **ret, const char *why, struct error *error)
{
    CLEANUP(probe_destroyp) struct probe *probe = calloc(1, sizeof(*probe));

    if (probe)
        probe->blind = strdup(why);
    if (!probe || !probe->blind)
        return error_errno(error, -ENOMEM, "cannot make the probe");
    *ret = TAKE_PTR(probe);
    return 0;
}

const char *probe_blind(const struct probe *probe)
{
    return probe->blind;
}

int probe_unpin(const char *pin_dir, struct error *error)
{
    _free_ char *directory = NULL;

    if (asprintf(&directory, "%s/%d", pin_dir, JOBIO_LAYOUT) < 0) {
        directory = NULL;
        return error_errno(error, -ENOMEM, "cannot name the directory of the pins");
    }
    return maps_unpin(directory, error);
}

void probe_versions(struct probe_versions *ret)
{
    const char *running = libbpf_version_string(); /* "v1.1" */

    *ret = (struct probe_versions){.layout = JOBIO_LAYOUT};
    (void)snprintf(ret->built, sizeof(ret->built), "%d.%d", LIBBPF_MAJOR_VERSION,
                   LIBBPF_MINOR_VERSION);
    (void)snprintf(ret->running, sizeof(ret->running), "%s", running + (*running == 'v'));
}

static bool is_other_layout(const char *name)
{
    uint64_t number;

    return number_parse(name, JOBIO_LAYOUT, JOBIO_LAYOUT, &number) == -ERANGE;
}

int probe_unpin_others(const struct probe *probe, const char *pin_dir, struct error *error)
{
    _closedir_ DIR *dir = opendir(pin_dir);
    const struct dirent *entry;
    char path[PATH_MAX];
    int r = 0, any = *probe->unreadable.text != '\0';

    if (!dir)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "cannot open '%s'", pin_dir);
    while (r == 0 && (entry = readdir(dir))) {
        if (!is_other_layout(entry->d_name) ||
            snprintf(path, sizeof(path), "%s/%s", pin_dir, entry->d_name) >= (int)sizeof(path) ||
            layouts_can_read(path))
            continue;
        r = maps_unpin(path, error);
        any = 1;
    }
    if (r < 0)
        return r;
    (void)error_set(error, 0, "%s",
                    *probe->unreadable.text ? probe->unreadable.text : "an unknown layout");
    return any;
}

bool probe_is_adopted(const struct probe *probe)
{
    return probe->adopted || probe->others;
}

int probe_add(struct probe *probe, uint64_t cgroup_id, unsigned level, int cgroup_version,
              uint32_t *ret, struct error *error)
{
    const struct step_record record = {0};
    uint64_t key = step_key(cgroup_id, cgroup_version);
    struct step_record have;
    int r;

    if (!level_bit(level) || !level || !cgroup_id)
        return error_set(error, -EINVAL, "a cgroup at level %u cannot be a step", level);
    if (ret)
        *ret = step_number(cgroup_id, cgroup_version);
    if (probe->blind || layouts_find(probe, key))
        return 0;
    if (map_get(probe, probe->skel->maps.steps, &key, &have) < 0)
        rpc_start(probe, step_number(cgroup_id, cgroup_version));
    r = map_put(probe, probe->skel->maps.steps, &key, &record, BPF_NOEXIST);
    if (r < 0 && r != -EEXIST) {
        const uint32_t refused = step_number(cgroup_id, cgroup_version);

        rpc_forget(probe, &refused, 1);
    }
    if (r == -E2BIG)
        return error_set(error, -ENOSPC, "more than %d steps at once", JOBIO_MAX_STEPS);
    if (r < 0 && r != -EEXIST)
        return error_errno(error, r, "cannot add the step to the BPF map");
    levels_add(probe->levels, level, cgroup_version);
    (void)slots_grow(probe); /* if it fails, the next reading tries it again */
    return 0;
}

void probe_began_late(struct probe *probe, uint32_t step)
{
    if (!probe->blind)
        rpc_began_late(probe, step);
}

bool probe_has(struct probe *probe, uint64_t cgroup_id, int cgroup_version)
{
    uint64_t key = step_key(cgroup_id, cgroup_version);
    struct step_record record;

    return probe->blind || map_get(probe, probe->skel->maps.steps, &key, &record) == 0 ||
           layouts_find(probe, key);
}

struct shards_used {
    uint64_t except; /* this step */
    uint32_t n;
};

static int sum_shards(const void *key, const void *value, void *arg)
{
    const struct step_record *record = value;
    struct shards_used *used = arg;

    if (memcmp(key, &used->except, sizeof(used->except)))
        used->n += record->shard_mask & ~STEP_TRACE_BITS;
    return 0;
}

int probe_shards(struct probe *probe, uint64_t cgroup_id, int cgroup_version, unsigned shards)
{
    struct shards_used used = {.except = step_key(cgroup_id, cgroup_version)};
    struct step_record record = {0};
    uint32_t limit = sizes_cpus(), n = 1;
    struct probe *other = layouts_find(probe, used.except);
    int r;

    if (other)
        probe = other;
    r = probe->blind ? -ENOTSUP : map_each(probe, probe->skel->maps.steps, sum_shards, &used, NULL);
    if (r < 0)
        return r;
    while (n < shards && n < limit && n * 2 - 1 + used.n <= sizes_pool())
        n *= 2;
    r = map_get(probe, probe->skel->maps.steps, &used.except, &record);
    if (r < 0)
        return r;
    record.shard_mask = (record.shard_mask & STEP_TRACE_BITS) | (n - 1);
    return map_put(probe, probe->skel->maps.steps, &used.except, &record, BPF_EXIST);
}

struct step_list {
    struct probe *probe;
    struct probe_step *items;
    size_t n;
};

static int list_step(const void *key, const void *value, void *arg)
{
    struct step_list *list = arg;
    struct lost_record lost = {0};
    struct probe_step step = {0}, *items;
    uint64_t id;

    (void)value;
    memcpy(&id, key, sizeof(id));
    step.cgroup_version = id & STEP_KEY_V1 ? 1 : 2;
    step.cgroup_id = id & ~STEP_KEY_V1;
    step.step = step_number(step.cgroup_id, step.cgroup_version);
    (void)map_get(list->probe, list->probe->skel->maps.lost, &step.step, &lost);
    step.lost.requests = lost.count[LOST_REQUESTS];
    step.lost.bytes = lost.count[LOST_BYTES];
    step.lost.errnos = lost.count[LOST_ERRNOS];
    step.lost.latencies = lost.count[LOST_LATENCIES];
    step.lost.mounts = lost.count[LOST_MOUNTS];
    step.lost.ends = lost.count[LOST_ENDS];
    step.lost.async = lost.count[LOST_ASYNC];
    step.lost.unseen = lost.count[LOST_UNSEEN];
    step.lost.fills = lost.count[LOST_FILLS];
    step.io_uring = lost.count[LOST_IO_URING];
    items = reallocarray(list->items, list->n + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    list->items = items;
    items[list->n++] = step;
    return 0;
}

int probe_steps(struct probe *probe, struct probe_step **ret, size_t *n, struct error *error)
{
    struct step_list list = {0};
    int r = 0;

    for (list.probe = probe; list.probe && !probe->blind && r == 0; list.probe = list.probe->others)
        r = map_each(list.probe, list.probe->skel->maps.steps, list_step, &list, error);
    if (r < 0) {
        free(list.items);
        return r == -ENOMEM ? error_errno(error, r, "cannot list the steps") : r;
    }
    for (const struct probe *p = probe; p; p = p->others)
        accounts_sum(p, list.items, list.n);
    *ret = list.items;
    *n = list.n;
    return 0;
}

int probe_fd(const struct probe *probe)
{
    return probe->blind ? -1 : probe->rings > 0 ? probe->rings : ring_buffer__epoll_fd(probe->ring);
}

int probe_new_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error)
{
    int r = 0;

    rpc_poll(probe); /* the first mount of NFS loads its module */
    for (struct probe *p = probe->blind ? NULL : probe; p && r >= 0; p = p->others) {
        p->new_mount = each;
        p->new_mount_arg = arg;
        r = ring_buffer__consume(p->ring);
        p->new_mount = NULL;
        (void)slots_grow(p);
    }
    return r < 0 ? error_errno(error, r, "cannot read the ring buffer") : 0;
}

struct mount_list {
    probe_mount_f each;
    void *arg;
};

static int list_mount(const void *key, const void *value, void *arg)
{
    const struct mount_key *at = key;
    const struct mount_record *record = value;
    const struct mount_list *list = arg;
    struct probe_mount mount = {.step = at->step,
                                .dev = (uint64_t)at->generation << 32 | at->dev,
                                .pid = record->pid,
                                .magic = record->magic};

    memcpy(mount.fstype, record->fstype, sizeof(mount.fstype));
    memcpy(mount.id, record->id, sizeof(mount.id));
    return list->each(&mount, list->arg);
}

int probe_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error)
{
    struct mount_list list = {each, arg};
    int r = 0;

    for (const struct probe *p = probe->blind ? NULL : probe; p && r == 0; p = p->others)
        r = map_each(p, p->skel->maps.mounts, list_mount, &list, error);
    return r;
}

bool probe_is_mounted(struct probe *probe, uint32_t step, uint64_t dev, uint64_t *since_ns)
{
    const struct mount_key key = {.step = step, .dev = (uint32_t)dev, .generation = dev >> 32};
    uint32_t at = generation_slot(key.dev);
    struct probe *owner = probe;
    struct mount_record record = {0}; /* no record: assume the first generation */
    struct generation_record last;

    *since_ns = 0;
    if (probe->blind)
        return true;
    while (owner && map_get(owner, owner->skel->maps.mounts, &key, &record) < 0)
        owner = owner->others;
    probe = owner ? owner : probe;
    if (key.generation >= GENERATION_LATER ||
        map_get(probe, probe->skel->maps.lives, &at, &last) < 0)
        return false;
    *since_ns = last.ended_ns;
    return record.ended == last.ended;
}
