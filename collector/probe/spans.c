/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/spans.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/mpi_functions.h"
#include "bpf/span_records.h"
#include "collector/probe/probe_impl.h"
#include "common/cleanup.h"

#define OP_NAME(number, name) [number] = name,
static const char *const op_names[] = {IO_OPS(OP_NAME)};

#define FUNCTION_NAME(name, ...) "MPI_" #name,
static const char *const function_names[] = {MPI_FUNCTIONS(FUNCTION_NAME)};

static size_t traces_size(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (JOBIO_MAX_TRACES * sizeof(struct trace_record) + page - 1) / page * page;
}

void spans_set_sizes(struct data_bpf *skel)
{
    (void)bpf_map__set_max_entries(skel->maps.spans, JOBIO_SPANS_BYTES);
    (void)bpf_map__set_max_entries(skel->maps.traces, JOBIO_MAX_TRACES);
}

static const char *name_of(const struct span_record *record)
{
    if (record->kind == SPAN_MPI)
        return record->op < ARRAY_SIZE(function_names) ? function_names[record->op] : NULL;
    return record->op < ARRAY_SIZE(op_names) ? op_names[record->op] : NULL;
}

/* The path in a record, or NULL. One that is too long is cut. */
static char *path_of(struct span_path_record *record, size_t size, uint8_t *flags)
{
    if (size < sizeof(*record) || !*record->path)
        return NULL;
    if (strnlen(record->path, sizeof(record->path)) > SPAN_PATH_MAX) {
        record->path[SPAN_PATH_MAX] = '\0';
        *flags |= SPAN_PATH_CUT;
    }
    return record->path;
}

static int on_span(void *arg, void *data, size_t size)
{
    struct probe *probe = arg;
    struct span_path_record copy;
    const struct span_record *record = &copy.span;
    struct span span;

    if (size < sizeof(*record))
        return 0;
    memcpy(&copy, data, size < sizeof(copy) ? size : sizeof(copy));
    span = (struct span){
        .start_ns = record->end_ns - record->time_ns,
        .time_ns = record->time_ns,
        .bytes = record->bytes,
        .offset = record->offset,
        .dev = record->dev | (uint64_t)record->generation << 32,
        .name = name_of(record),
        .pid = record->pid,
        .tid = record->tid,
        .error = record->error,
        .kind = record->kind,
        .flags = record->flags,
    };
    span.path = path_of(&copy, size, &span.flags);
    if (span.name)
        probe->new_span(record->step, &span, record->comm, probe->new_span_arg);
    return --probe->spans_left ? 0 : -EAGAIN;
}

/* bits: step_traced(), or 0. */
static int mark_step(struct probe *probe, uint64_t key, uint32_t bits)
{
    struct step_record record;
    int r = map_get(probe, probe->skel->maps.steps, &key, &record);

    if (r < 0)
        return r;
    record.shard_mask = (record.shard_mask & ~STEP_TRACE_BITS) | bits;
    r = map_put(probe, probe->skel->maps.steps, &key, &record, BPF_EXIST);
    /* Tasks remember the old mask. */
    (void)__atomic_fetch_add(&probe->levels->generation, 1, __ATOMIC_SEQ_CST);
    return r;
}

struct marked {
    uint64_t *keys; /* owned */
    size_t n;
};

static int list_marked(const void *key, const void *value, void *arg)
{
    const struct step_record *record = value;
    struct marked *marked = arg;
    uint64_t *grown;

    if (!(record->shard_mask & STEP_TRACE_BITS))
        return 0;
    grown = reallocarray(marked->keys, marked->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    marked->keys = grown;
    memcpy(&grown[marked->n++], key, sizeof(*grown));
    return 0;
}

int spans_reset(struct probe *probe, struct error *error)
{
    struct marked marked = {0};
    int r = map_each(probe, probe->skel->maps.steps, list_marked, &marked, error);

    for (size_t i = 0; i < marked.n && r == 0; i++) {
        r = mark_step(probe, marked.keys[i], 0);
        if (r < 0 && r != -ENOENT)
            (void)error_errno(error, r, "cannot end a trace");
        r = r == -ENOENT ? 0 : r;
    }
    free(marked.keys);
    return r;
}

int spans_open(struct probe *probe, struct error *error)
{
    if (!probe->features.spans)
        return 0;
    probe->traces = mmap(NULL, traces_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                         bpf_map__fd(probe->skel->maps.traces), 0);
    if (probe->traces == MAP_FAILED) {
        probe->traces = NULL;
        return error_errno(error, -errno, "cannot map the traces");
    }
    probe->span_ring = ring_buffer__new(bpf_map__fd(probe->skel->maps.spans), on_span, probe, NULL);
    return probe->span_ring ? 0
                            : error_errno(error, -errno, "cannot open the ring buffer of spans");
}

void spans_close(struct probe *probe)
{
    ring_buffer__free(probe->span_ring);
    if (probe->traces)
        (void)munmap(probe->traces, traces_size());
}

static bool is_used(const struct probe *probe, uint32_t slot)
{
    return probe->used_traces[slot / 64] >> slot % 64 & 1;
}

/* Returns the free slot that was used least recently, or JOBIO_MAX_TRACES. */
static uint32_t find_slot(const struct probe *probe)
{
    for (uint32_t i = 0; i < JOBIO_MAX_TRACES; i++) {
        uint32_t slot = (probe->next_trace + i) % JOBIO_MAX_TRACES;

        if (!is_used(probe, slot))
            return slot;
    }
    return JOBIO_MAX_TRACES;
}

static int check_tracing(const struct probe *probe, struct error *error)
{
    if (probe->blind)
        return error_set(error, -ENOTSUP, "cannot trace: %.200s", probe->blind);
    if (!probe->span_ring && probe->adopted)
        return error_set(error, -ENOTSUP,
                         "cannot trace: the programs in the kernel were loaded without traces");
    return probe->span_ring ? 0
                            : error_set(error, -ENOTSUP, "cannot trace: traces are not allowed");
}

int probe_trace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, enum trace_of of,
                bool paths, uint32_t *ret, struct error *error)
{
    uint32_t traced =
        (of == TRACE_OF_MPI ? STEP_TRACED_MPI : STEP_TRACED) | (paths ? STEP_TRACE_PATHS : 0);
    uint32_t slot = find_slot(probe);
    int r = check_tracing(probe, error);

    if (r < 0)
        return r;
    if (slot == JOBIO_MAX_TRACES)
        return error_set(error, -ENOSPC, "cannot trace more than %d steps", JOBIO_MAX_TRACES);
    probe_trace_set_least(probe, slot, 0);
    r = mark_step(probe, step_key(cgroup_id, cgroup_version), step_traced(traced, slot));
    if (r < 0)
        return error_errno(error, r, "cannot trace the step");
    probe->used_traces[slot / 64] |= UINT64_C(1) << slot % 64;
    probe->next_trace = slot + 1;
    *ret = slot;
    return 0;
}

void probe_untrace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, uint32_t slot)
{
    (void)mark_step(probe, step_key(cgroup_id, cgroup_version), 0);
    probe->used_traces[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

void probe_trace_set_least(struct probe *probe, uint32_t slot, uint64_t least_ns)
{
    __atomic_store_n(&probe->traces[slot].least_ns, least_ns, __ATOMIC_RELAXED);
}

struct trace_left_out probe_trace_left_out(const struct probe *probe, uint32_t slot)
{
    const struct trace_record *record = &probe->traces[slot];
    struct trace_left_out ret;

    for (int kind = 0; kind < SPAN_KINDS; kind++) {
        ret.shorter[kind] = __atomic_load_n(&record->shorter[kind], __ATOMIC_RELAXED);
        ret.overflow[kind] = __atomic_load_n(&record->overflow[kind], __ATOMIC_RELAXED);
    }
    return ret;
}

void probe_trace_reported(const struct probe *probe, uint32_t slot, uint64_t ret[SPAN_KINDS])
{
    for (int kind = 0; kind < SPAN_KINDS; kind++)
        ret[kind] = __atomic_load_n(&probe->traces[slot].reported[kind], __ATOMIC_RELAXED);
}

int probe_spans_fd(const struct probe *probe)
{
    return probe->span_ring ? ring_buffer__epoll_fd(probe->span_ring) : -1;
}

int probe_spans(struct probe *probe, uint32_t max, probe_span_f each, void *arg,
                struct error *error)
{
    int r;

    if (!probe->span_ring)
        return 0;
    probe->new_span = each;
    probe->new_span_arg = arg;
    probe->spans_left = max;
    r = ring_buffer__consume(probe->span_ring);
    if (r == -EAGAIN)
        return 1;
    return r < 0 ? error_errno(error, r, "cannot read the ring buffer of spans") : 0;
}
