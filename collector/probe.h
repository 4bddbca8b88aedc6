/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel side: loads, attaches, pins and reads the BPF programs. All of it may be missing
 * (--disable-bpf, no BTF, no capability): probe_none.c has the same functions, and a probe whose
 * hooks are not attached still works and says so.
 */
#ifndef JOBIO_COLLECTOR_PROBE_H
#define JOBIO_COLLECTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/account.h"
#include "common/error.h"

struct probe;

struct probe_options {
    /* Folder on bpffs for maps and links ("/sys/fs/bpf/jobio"): a folder of the layout's number is
     * made below it, or adopted if an earlier process left it. NULL: nothing outlives the process.
     */
    const char *pin_dir;
    /* Room for this many steps at once; 0: the default. Ignored on adoption. */
    uint32_t max_steps;
};

/* A tagged cgroup, as found in the maps. */
struct probe_step {
    uint32_t step; /* bpf/records.h, step_number() */
    uint64_t cgroup_id;
    int cgroup_version;       /* 1 or 2 */
    uint64_t longest_wait_ns; /* as of the last probe_read() of the step; 0 before */
    uint64_t events;          /* the same: counted calls */
    struct {                  /* bpf/records.h, enum lost_cause */
        uint64_t requests, bytes, errnos, latencies, mounts, ends;
    } lost;
};

/* A super block that a step touched. */
struct probe_mount {
    uint32_t step, dev, pid, magic;
    char fstype[16];
    char id[32];
};

enum probe_backend { PROBE_NONE, PROBE_FENTRY, PROBE_KPROBE, PROBE_TP_BTF };

struct probe_hook {
    const char *function;       /* "vfs_read" */
    uint64_t ops;               /* bit 1 << io_op: what it counts */
    enum probe_backend backend; /* PROBE_NONE: not attached, `why` says why */
    char why[96];
    uint64_t run_count, run_time_ns; /* of its programs; time only with kernel.bpf_stats_enabled */
    uint64_t missed;                 /* recursion misses: events that nobody counted */
};

/* Load and attach, or adopt. Hooks that cannot be attached are no error (probe_hooks tells);
 * -ENOTSUP: this build or kernel can do nothing at all; -EPERM: a capability is missing, -EBUSY:
 * never. *ret untouched on failure. */
int probe_create(struct probe **ret, const struct probe_options *options, struct error *error);
/* Ends the process's hold; what is pinned goes on counting. NULL is fine. */
void probe_destroy(struct probe *probe);
/* Remove the pinned state (jobio retire, tests). */
int probe_unpin(const char *pin_dir, struct error *error);
/* True if probe_create took over what an earlier process left. */
bool probe_is_adopted(const struct probe *probe);

/* Count the tasks at and below this cgroup from now on. Idempotent (a second call with the same
 * cgroup keeps its counters). `*ret` (may be NULL) is the step's number. -ENOSPC: too many steps.
 */
int probe_add(struct probe *probe, uint64_t cgroup_id, unsigned level, int cgroup_version,
              uint32_t *ret, struct error *error);
/* Stop counting and forget the step's counters: call after they are safe in the store. */
int probe_drop(struct probe *probe, uint64_t cgroup_id, int cgroup_version, struct error *error);
/* Spread the step's counters over this many shards (rounded up to a power of two; bounded by the
 * CPUs and by what the pool has left). For steps that many CPUs hammer. */
int probe_shards(struct probe *probe, uint64_t cgroup_id, int cgroup_version, unsigned shards);

/* All steps that are in the maps, running or not yet dropped. Free *ret with free(). */
int probe_steps(struct probe *probe, struct probe_step **ret, size_t *n, struct error *error);

/* The totals since the tag, one call for each (step, dev) with a request, shards summed, counters
 * in `io` owned by the callee's caller (copy what you keep). One pass over the maps reads all steps
 * (step 0) or one. u32 buckets are widened inside the probe: it must be read at least once every
 * 2^32 calls of one bucket. A non-zero return of `each` ends the pass and is returned. */
typedef int (*probe_account_f)(uint32_t step, uint32_t dev, const struct io_account *io, void *arg);
int probe_read(struct probe *probe, uint32_t step, probe_account_f each, void *arg,
               struct error *error);

/* A descriptor that is readable when a step touched a super block for the first time, then
 * probe_sightings() hands them out. probe_mounts() lists all known ones again. */
int probe_fd(const struct probe *probe);
typedef int (*probe_mount_f)(const struct probe_mount *mount, void *arg);
int probe_sightings(struct probe *probe, probe_mount_f each, void *arg, struct error *error);
int probe_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error);

/* The hooks, owned by the probe, refreshed by the call. */
int probe_hooks(struct probe *probe, const struct probe_hook **ret, size_t *n);
/* bit 1 << io_op: what no attached hook counts. */
uint64_t probe_unsupported(const struct probe *probe);

#endif
