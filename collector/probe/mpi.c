/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/probe/mpi.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bpf/mpi_records.h"
#include "collector/probe/probe_impl.h"
#include "bpf/mpi.skel.h"
#include "common/cleanup.h"

struct mpi_probe {
    struct mpi_bpf *skel;
    struct bpf_link *exec;
    struct ring_buffer *ring;
    mpi_exec_f each;
    void *arg;
    uint32_t files; /* that were attached to */
};

struct mpi_links {
    struct uprobe_links *sides[SIDE_COUNT];
};

static int on_exec(void *arg, void *data, size_t size)
{
    const struct mpi_probe *mpi = arg;
    struct mpi_exec_record record;

    if (size < sizeof(record))
        return 0;
    memcpy(&record, data, sizeof(record));
    mpi->each(record.step, record.pid, record.at_ns, record.known, mpi->arg);
    return 0;
}

/* A library takes up to four descriptors for each of its functions. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int load(struct mpi_probe *mpi, const struct probe *probe, struct error *error)
{
    int r;

    mpi->skel = mpi_bpf__open_opts(features_types());
    if (!mpi->skel)
        return error_errno(error, -errno, "cannot open the BPF object for MPI");
    mpi->skel->rodata->features = probe->features;
    if (uprobes_have_multi()) {
        uprobes_set_multi(mpi->skel->progs.mpi_enter);
        uprobes_set_multi(mpi->skel->progs.mpi_leave);
    } else {
        raise_descriptors();
    }
    r = maps_share(probe, mpi->skel->obj);
    if (r == 0)
        r = mpi_bpf__load(mpi->skel);
    if (r == 0) {
        mpi->exec = bpf_program__attach(mpi->skel->progs.mpi_exec);
        r = mpi->exec ? 0 : -errno;
    }
    if (r < 0)
        return error_errno(error, r, "cannot load the BPF programs for MPI");
    mpi->ring = ring_buffer__new(bpf_map__fd(mpi->skel->maps.mpi_execs), on_exec, mpi, NULL);
    return mpi->ring ? 0 : error_errno(error, -errno, "cannot open the ring buffer for MPI");
}

/* Without uprobe.multi, perf_event_open(2) attaches. It allows uprobes to CAP_SYS_ADMIN only, and
 * kprobes to CAP_PERFMON, too. */
static int check_rights(const struct mpi_probe *mpi, struct error *error)
{
    struct bpf_link *link;
    int r;

    if (uprobes_have_multi())
        return 0;
    link = bpf_program__attach_uprobe(mpi->skel->progs.mpi_enter, false, -1, "/proc/self/exe", 0);
    r = link ? 0 : -errno;
    (void)bpf_link__destroy(link);
    if (r == -EACCES || r == -EPERM)
        return error_set(error, r, "cannot count MPI: before Linux 6.6 this needs CAP_SYS_ADMIN");
    return 0;
}

DEFINE_CLEANUP(struct mpi_probe, mpi_probe_destroy)

int mpi_probe_create(struct mpi_probe **ret, const struct probe *probe, struct error *error)
{
    CLEANUP(mpi_probe_destroyp) struct mpi_probe *mpi = calloc(1, sizeof(*mpi));
    int r;

    if (!mpi)
        return error_errno(error, -ENOMEM, "cannot count MPI");
    if (probe->blind)
        return error_set(error, -ENOTSUP, "cannot count MPI: %.200s", probe->blind);
    if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) == 0)
        return error_set(error, -ENOTSUP, "cannot count MPI: this needs Linux 5.15 or newer");
    r = load(mpi, probe, error);
    if (r == 0)
        r = check_rights(mpi, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(mpi);
    return 0;
}

void mpi_probe_destroy(struct mpi_probe *mpi)
{
    if (!mpi)
        return;
    ring_buffer__free(mpi->ring);
    (void)bpf_link__destroy(mpi->exec);
    mpi_bpf__destroy(mpi->skel);
    free(mpi);
}

#define FUNCTION_PART(name, class, part, ...) part,
static const enum mpi_part parts[] = {MPI_FUNCTIONS(FUNCTION_PART)};

/* Both addresses of each function, in the order of the table. The returns of MPI_PART_INIT do not
 * matter. */
static int attach_side(const struct mpi_probe *mpi, const struct mpi_file *file, const char *path,
                       int side, struct uprobe_links **ret)
{
    const struct bpf_program *program =
        side == SIDE_ENTER ? mpi->skel->progs.mpi_enter : mpi->skel->progs.mpi_leave;
    struct uprobe_place places[MPI_FUNCTION_COUNT * 2];
    size_t n = 0;

    for (unsigned i = 0; i < MPI_FUNCTION_COUNT; i++)
        for (int alias = 0; alias < 2; alias++)
            if (file->offsets[i][alias] && (side == SIDE_ENTER || parts[i] != MPI_PART_INIT))
                places[n++] = (struct uprobe_place){file->offsets[i][alias],
                                                    mpi_cookie(file->layout, i, alias, mpi->files)};
    return uprobes_attach(ret, program, side == SIDE_LEAVE, path, places, n);
}

DEFINE_CLEANUP(struct mpi_links, mpi_links_destroy)

int mpi_probe_attach(struct mpi_probe *mpi, int fd, const struct mpi_file *file,
                     struct mpi_links **ret, struct error *error)
{
    CLEANUP(mpi_links_destroyp) struct mpi_links *links = calloc(1, sizeof(*links));
    char path[32];
    int r = links ? 0 : -ENOMEM;

    /* The kernel follows it to the file, whatever mount namespace that is in. */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    mpi->files++;
    /* The returns first: a call whose entry was seen must not return unseen. */
    if (r == 0)
        r = attach_side(mpi, file, path, SIDE_LEAVE, &links->sides[SIDE_LEAVE]);
    if (r == 0)
        r = attach_side(mpi, file, path, SIDE_ENTER, &links->sides[SIDE_ENTER]);
    if (r < 0)
        return error_errno(error, r, "cannot attach to its functions");
    *ret = TAKE_PTR(links);
    return 0;
}

void mpi_links_destroy(struct mpi_links *links)
{
    for (int side = 0; links && side < SIDE_COUNT; side++)
        uprobe_links_destroy(links->sides[side]);
    free(links);
}

int mpi_probe_fd(const struct mpi_probe *mpi)
{
    return ring_buffer__epoll_fd(mpi->ring);
}

int mpi_probe_execs(struct mpi_probe *mpi, mpi_exec_f each, void *arg, struct error *error)
{
    int r;

    mpi->each = each;
    mpi->arg = arg;
    r = ring_buffer__consume(mpi->ring);
    return r < 0 ? error_errno(error, r, "cannot read the ring buffer for MPI") : 0;
}

static int get(const struct bpf_map *map, const void *key, void *value)
{
    return bpf_map_lookup_elem(bpf_map__fd(map), key, value) < 0 ? -errno : 0;
}

bool mpi_probe_knows(const struct mpi_probe *mpi, uint32_t step, uint32_t pid)
{
    const struct mpi_process_key key = {.step = step, .pid = pid};
    struct mpi_process_record record;

    return get(mpi->skel->maps.mpi_processes, &key, &record) == 0;
}

/* Elements that one system call reads. A bucket of the map has far fewer. */
#define PROCESS_BATCH 1024

struct process_list {
    struct mpi_process *items;
    size_t n, room;
};

static int add_processes(struct process_list *list, const struct mpi_process_key *keys,
                         const struct mpi_process_record *records, size_t n)
{
    if (n > list->room - list->n)
        return -E2BIG;
    for (size_t i = 0; i < n; i++)
        list->items[list->n++] =
            (struct mpi_process){keys[i].step, keys[i].pid, records[i].start_ns};
    return 0;
}

static int read_processes(int map, struct process_list *list)
{
    struct mpi_process_key keys[PROCESS_BATCH];
    struct mpi_process_record records[PROCESS_BATCH];
    uint32_t position = 0;
    bool started = false, ended = false;
    int r = 0;

    while (r == 0 && !ended) {
        uint32_t n = PROCESS_BATCH;

        r = bpf_map_lookup_batch(map, started ? &position : NULL, &position, keys, records, &n,
                                 NULL);
        ended = r < 0 && errno == ENOENT;
        started = true;
        r = r == 0 || ended ? add_processes(list, keys, records, n) : -errno;
    }
    return r;
}

int mpi_probe_processes(const struct mpi_probe *mpi, struct mpi_process **ret, size_t *n,
                        size_t *room, struct error *error)
{
    const struct bpf_map *map = mpi->skel->maps.mpi_processes;
    size_t max = bpf_map__max_entries(map);
    _free_ struct mpi_process *items = malloc(max * sizeof(*items));
    struct process_list list = {.items = items, .room = max};
    int r = items ? read_processes(bpf_map__fd(map), &list) : -ENOMEM;

    if (r < 0)
        return error_errno(error, r, "cannot list the processes with MPI");
    *n = list.n;
    *room = max;
    *ret = TAKE_PTR(items);
    return 0;
}

void mpi_probe_forget(struct mpi_probe *mpi, const struct mpi_process *process)
{
    const struct mpi_process_key key = {.step = process->step, .pid = process->pid};
    int map = bpf_map__fd(mpi->skel->maps.mpi_processes);
    struct mpi_process_record record;

    /* A younger process may have taken the slot just now. */
    if (bpf_map_lookup_and_delete_elem(map, &key, &record) == 0 &&
        record.start_ns != process->start_ns)
        (void)bpf_map_update_elem(map, &key, &record, BPF_NOEXIST);
}

#define COPY_SUM(member) ret->member = value.member;

static int read_class(const struct mpi_probe *mpi, uint32_t step, uint32_t class,
                      struct mpi_counter *ret)
{
    const struct mpi_counter_key key = {.step = step, .class = class};
    struct mpi_counter_value value;
    int r = get(mpi->skel->maps.mpi_counters, &key, &value);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    MPI_SUMS(COPY_SUM)
    for (int i = 0; i < IO_BUCKETS; i++) {
        ret->size_log2[i] = value.size[i];
        ret->latency_log2[i] = value.latency[i];
    }
    return 0;
}

/* A walk over the elements of a map. */
struct walk {
    const struct bpf_map *map;
    char key[sizeof(struct mpi_split_key)]; /* the longest one */
    bool started;
    uint32_t left; /* for a walk that starts anew because its element was deleted */
};

static struct walk walk_over(const struct bpf_map *map)
{
    return (struct walk){.map = map, .left = bpf_map__max_entries(map)};
}

/* Go to the next element of the step: all keys start with its number. */
static bool walk_to(struct walk *walk, uint32_t step)
{
    uint32_t of;

    while (walk->left) {
        walk->left--;
        if (bpf_map_get_next_key(bpf_map__fd(walk->map), walk->started ? walk->key : NULL,
                                 walk->key) < 0)
            return false;
        walk->started = true;
        memcpy(&of, walk->key, sizeof(of));
        if (of == step)
            return true;
    }
    return false;
}

static uint64_t count_elements(const struct bpf_map *map, uint32_t step)
{
    struct walk walk = walk_over(map);
    uint64_t n = 0;

    while (walk_to(&walk, step))
        n++;
    return n;
}

int mpi_probe_add(struct mpi_probe *mpi, uint32_t step, struct error *error)
{
    const struct mpi_step_record none = {0};

    if (bpf_map_update_elem(bpf_map__fd(mpi->skel->maps.mpi_steps), &step, &none, BPF_NOEXIST) <
            0 &&
        errno != EEXIST)
        return error_errno(error, -errno, "cannot count the MPI-IO of a step");
    return 0;
}

/* A key is deleted after the walk has left it: the walk would start anew. */
static void delete_elements(const struct bpf_map *map, uint32_t step)
{
    struct walk walk = walk_over(map);
    char last[sizeof(walk.key)];
    bool has_last = false;

    while (walk_to(&walk, step)) {
        if (has_last)
            (void)bpf_map_delete_elem(bpf_map__fd(map), last);
        memcpy(last, walk.key, sizeof(last));
        has_last = true;
    }
    if (has_last)
        (void)bpf_map_delete_elem(bpf_map__fd(map), last);
}

/* The return of a call makes counters if there are none: the calls go first. */
void mpi_probe_remove(struct mpi_probe *mpi, uint32_t step)
{
    const struct bpf_map *maps[] = {mpi->skel->maps.mpi_steps, mpi->skel->maps.mpi_calls,
                                    mpi->skel->maps.mpi_counters, mpi->skel->maps.mpi_processes,
                                    mpi->skel->maps.mpi_splits};

    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        delete_elements(maps[i], step);
}

static int add_cause(struct completeness *to, const char *cause, uint64_t count)
{
    return count ? completeness_add(to, cause, count, 0) : 0;
}

static int add_missing(const struct mpi_probe *mpi, uint32_t step, struct completeness *to)
{
    struct mpi_step_record record = {0};
    int r = get(mpi->skel->maps.mpi_steps, &step, &record);

    if (r < 0 && r != -ENOENT)
        return r;
    record.ends += count_elements(mpi->skel->maps.mpi_calls, step);
    record.ends += count_elements(mpi->skel->maps.mpi_splits, step);
    r = add_cause(to, MPI_CAUSE_LATE, record.late);
    if (r == 0)
        r = add_cause(to, MPI_CAUSE_CALLS, record.calls);
    if (r == 0)
        r = add_cause(to, MPI_CAUSE_ENDS, record.ends);
    /* How many processes made the calls that were not noted is not known. */
    return r == 0 ? add_cause(to, MPI_CAUSE_UNSEEN, record.execs + (record.unnoted > 0)) : r;
}

int mpi_probe_read(const struct mpi_probe *mpi, uint32_t step, struct mpi_account *ret,
                   struct error *error)
{
    int r = 0;

    for (uint32_t class = 0; r == 0 && class < MPI_CLASS_COUNT; class ++)
        r = read_class(mpi, step, class, &ret->classes[class]);
    if (r == 0)
        r = add_missing(mpi, step, &ret->completeness);
    return r < 0 ? error_errno(error, r, "cannot read the counters of MPI") : 0;
}
