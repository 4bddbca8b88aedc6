/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe of a build without BPF: it is always blind. */
#include "collector/probe/block.h"
#include "collector/probe/mpi.h"
#include "collector/probe/spans.h"
#include "collector/probe/stacks.h"
#include "collector/probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"

struct probe {
    bool unused;
    char blind[];
};

void probe_versions(struct probe_versions *ret)
{
    *ret = (struct probe_versions){.built = "none", .running = "none", .layout = JOBIO_LAYOUT};
}

int probe_create(struct probe **ret, const struct probe_options *options, struct error *error)
{
    (void)ret;
    (void)options;
    return error_set(error, -ENOTSUP, "jobio was built without its kernel side (--disable-bpf)");
}

int probe_create_blind(struct probe **ret, const char *why, struct error *error)
{
    struct probe *probe = malloc(sizeof(*probe) + strlen(why) + 1);

    if (!probe)
        return error_errno(error, -ENOMEM, "cannot make the probe");
    strcpy(probe->blind, why);
    *ret = probe;
    return 0;
}

int probe_growth(const struct probe *probe)
{
    (void)probe;
    return 0;
}

const char *probe_blind(const struct probe *probe)
{
    return probe->blind;
}

void probe_destroy(struct probe *probe)
{
    free(probe);
}

void probe_linger(const struct probe *probe, const char *cgroup)
{
    (void)probe;
    (void)cgroup;
}

bool probe_is_lingering(uint64_t before_ns)
{
    (void)before_ns;
    return false;
}

int probe_unpin(const char *pin_dir, struct error *error)
{
    (void)pin_dir;
    (void)error;
    return 0;
}

int probe_detach(const char *pin_dir, struct probe_removed *ret, struct error *error)
{
    (void)pin_dir;
    (void)error;
    *ret = (struct probe_removed){0};
    return 0;
}

int probe_unpin_others(const struct probe *probe, const char *pin_dir, struct error *error)
{
    (void)probe, (void)pin_dir;
    (void)error;
    return 0;
}

bool probe_is_adopted(const struct probe *probe)
{
    (void)probe;
    return false;
}

int probe_add(struct probe *probe, uint64_t cgroup_id, unsigned level, int cgroup_version,
              uint32_t *ret, struct error *error)
{
    (void)probe;
    (void)level;
    (void)error;
    if (ret)
        *ret = step_number(cgroup_id, cgroup_version);
    return 0;
}

int probe_drop(struct probe *probe, uint64_t cgroup_id, int cgroup_version, struct error *error)
{
    (void)probe;
    (void)cgroup_id;
    (void)cgroup_version;
    (void)error;
    return 0;
}

void probe_began_late(struct probe *probe, uint32_t step)
{
    (void)probe;
    (void)step;
}

bool probe_has(struct probe *probe, uint64_t cgroup_id, int cgroup_version)
{
    (void)probe;
    (void)cgroup_id;
    (void)cgroup_version;
    return true;
}

int probe_drop_many(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                    struct error *error)
{
    (void)probe;
    (void)cgroups;
    (void)n;
    (void)error;
    return 0;
}

int probe_drop_start(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                     struct error *error)
{
    (void)probe;
    (void)cgroups;
    (void)n;
    (void)error;
    return 0;
}

int probe_drop_wait(const struct probe *probe, struct error *error)
{
    (void)probe;
    (void)error;
    return 0;
}

int probe_drop_finish(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                      struct error *error)
{
    (void)probe;
    (void)cgroups;
    (void)n;
    (void)error;
    return 0;
}

int probe_sweep(struct probe *probe, struct error *error)
{
    (void)probe;
    (void)error;
    return 0;
}

int probe_shards(struct probe *probe, uint64_t cgroup_id, int cgroup_version, unsigned shards)
{
    (void)probe;
    (void)cgroup_id;
    (void)cgroup_version;
    (void)shards;
    return -ENOTSUP;
}

int probe_steps(struct probe *probe, struct probe_step **ret, size_t *n, struct error *error)
{
    (void)probe;
    (void)error;
    *ret = NULL;
    *n = 0;
    return 0;
}

uint64_t probe_slice_start_ns(uint64_t slice)
{
    return slice * PROBE_SLICE_NS;
}

int probe_read(struct probe *probe, const uint32_t *steps, size_t n, probe_account_f each,
               void *arg, struct error *error)
{
    (void)probe;
    (void)steps;
    (void)n;
    (void)each;
    (void)arg;
    (void)error;
    return 0;
}

int probe_fd(const struct probe *probe)
{
    (void)probe;
    return -1;
}

int probe_new_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error)
{
    (void)probe;
    (void)each;
    (void)arg;
    (void)error;
    return 0;
}

int probe_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error)
{
    (void)probe;
    (void)each;
    (void)arg;
    (void)error;
    return 0;
}

bool probe_is_mounted(struct probe *probe, uint32_t step, uint64_t dev, uint64_t *since_ns)
{
    (void)probe;
    (void)step;
    (void)dev;
    *since_ns = 0;
    return true;
}

int probe_hooks(struct probe *probe, const struct probe_hook **ret, size_t *n)
{
    (void)probe;
    *ret = NULL;
    *n = 0;
    return 0;
}

uint64_t probe_unsupported(const struct probe *probe)
{
    (void)probe;
    return (1ull << IO_SET_BITS) - 1;
}

void probe_tested(struct probe *probe, uint64_t failed, uint64_t ns_per_event)
{
    (void)probe;
    (void)failed;
    (void)ns_per_event;
}

uint64_t probe_distrusted(const struct probe *probe)
{
    (void)probe;
    return 0;
}

uint64_t probe_ns_per_event(const struct probe *probe)
{
    (void)probe;
    return 0;
}

int mpi_probe_create(struct mpi_probe **ret, const struct probe *probe, struct error *error)
{
    (void)ret;
    (void)probe;
    return error_set(error, -ENOTSUP, "jobio was built without its kernel side (--disable-bpf)");
}

void mpi_probe_destroy(struct mpi_probe *mpi)
{
    (void)mpi;
}

int mpi_probe_add(struct mpi_probe *mpi, uint32_t step, struct error *error)
{
    (void)mpi;
    (void)step;
    (void)error;
    return -ENOTSUP;
}

void mpi_probe_remove(struct mpi_probe *mpi, uint32_t step)
{
    (void)mpi;
    (void)step;
}

int mpi_probe_attach(struct mpi_probe *mpi, int fd, const struct mpi_file *file,
                     struct mpi_links **ret, struct error *error)
{
    (void)mpi;
    (void)fd;
    (void)file;
    (void)ret;
    (void)error;
    return -ENOTSUP;
}

void mpi_links_destroy(struct mpi_links *links)
{
    (void)links;
}

int mpi_probe_fd(const struct mpi_probe *mpi)
{
    (void)mpi;
    return -1;
}

int mpi_probe_execs(struct mpi_probe *mpi, mpi_exec_f each, void *arg, struct error *error)
{
    (void)mpi;
    (void)each;
    (void)arg;
    (void)error;
    return 0;
}

bool mpi_probe_knows(const struct mpi_probe *mpi, uint32_t step, uint32_t pid)
{
    (void)mpi;
    (void)step;
    (void)pid;
    return false;
}

int mpi_probe_processes(const struct mpi_probe *mpi, struct mpi_process **ret, size_t *n,
                        size_t *room, struct error *error)
{
    (void)mpi;
    (void)error;
    *ret = NULL;
    *n = *room = 0;
    return 0;
}

void mpi_probe_forget(struct mpi_probe *mpi, const struct mpi_process *process)
{
    (void)mpi;
    (void)process;
}

int mpi_probe_read(const struct mpi_probe *mpi, uint32_t step, struct mpi_account *ret,
                   struct error *error)
{
    (void)mpi;
    (void)step;
    (void)ret;
    (void)error;
    return 0;
}

int block_probe_create(struct block_probe **ret, const struct probe *probe, struct error *error)
{
    (void)ret;
    (void)probe;
    return error_set(error, -ENOTSUP, "jobio was built without its kernel side (--disable-bpf)");
}

void block_probe_destroy(struct block_probe *block)
{
    (void)block;
}

void block_probe_unpin(const struct probe *probe)
{
    (void)probe;
}

bool block_probe_continue(struct block_probe *block, uint32_t step)
{
    (void)block;
    (void)step;
    return false;
}

int block_probe_add(struct block_probe *block, uint32_t step, bool late, struct error *error)
{
    (void)block;
    (void)step;
    (void)late;
    (void)error;
    return -ENOTSUP;
}

void block_probe_remove(struct block_probe *block, uint32_t step)
{
    (void)block;
    (void)step;
}

void block_probe_sweep(struct block_probe *block)
{
    (void)block;
}

int block_probe_read(const struct block_probe *block, uint32_t step, struct block_account *ret,
                     struct error *error)
{
    (void)block;
    (void)step;
    (void)ret;
    (void)error;
    return 0;
}

int probe_trace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, enum trace_of of,
                bool paths, uint32_t *ret, struct error *error)
{
    (void)cgroup_id;
    (void)cgroup_version;
    (void)of;
    (void)paths;
    (void)ret;
    return error_set(error, -ENOTSUP, "cannot trace: %.200s", probe->blind);
}

void probe_untrace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, uint32_t slot)
{
    (void)probe;
    (void)cgroup_id;
    (void)cgroup_version;
    (void)slot;
}

void probe_trace_set_least(struct probe *probe, uint32_t slot, uint64_t least_ns)
{
    (void)probe;
    (void)slot;
    (void)least_ns;
}

struct trace_left_out probe_trace_left_out(const struct probe *probe, uint32_t slot)
{
    (void)probe;
    (void)slot;
    return (struct trace_left_out){0};
}

void probe_trace_reported(const struct probe *probe, uint32_t slot, uint64_t ret[SPAN_KINDS])
{
    (void)probe;
    (void)slot;
    for (int kind = 0; kind < SPAN_KINDS; kind++)
        ret[kind] = 0;
}

int probe_spans_fd(const struct probe *probe)
{
    (void)probe;
    return -1;
}

int probe_spans(struct probe *probe, uint32_t max, probe_span_f each, void *arg,
                struct error *error)
{
    (void)max;
    (void)probe;
    (void)each;
    (void)arg;
    (void)error;
    return 0;
}

void probe_stacks_end(struct probe *probe, uint32_t step)
{
    (void)probe;
    (void)step;
}

int probe_stacks_start(struct probe *probe, uint32_t step, struct stack_limits *limits,
                       struct error *error)
{
    (void)step;
    (void)limits;
    return error_set(error, -ENOTSUP, "cannot report stacks: %.200s", probe->blind);
}

int probe_stacks_counts(const struct probe *probe, uint32_t step, struct stack_counts *ret,
                        struct error *error)
{
    (void)probe;
    (void)step;
    (void)error;
    *ret = (struct stack_counts){0};
    return 0;
}

int probe_stacks_fd(const struct probe *probe)
{
    (void)probe;
    return -1;
}

int probe_stacks(struct probe *probe, uint32_t max, probe_stack_f each, void *arg,
                 struct error *error)
{
    (void)probe;
    (void)max;
    (void)each;
    (void)arg;
    (void)error;
    return 0;
}

const char *probe_rpc_missing(const struct probe *probe)
{
    (void)probe;
    return NULL;
}
