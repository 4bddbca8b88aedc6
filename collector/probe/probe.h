/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel side: loads, attaches, pins and reads the BPF programs. All of it may be missing
 * (--disable-bpf, no BTF, no capability): probe_none.c has the same functions, and a blind probe
 * takes steps without counting them and says so.
 */
#ifndef JOBIO_COLLECTOR_PROBE_PROBE_H
#define JOBIO_COLLECTOR_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/account.h"
#include "common/error.h"

struct probe;

enum probe_backend { PROBE_NONE, PROBE_FENTRY, PROBE_KPROBE, PROBE_TP_BTF };

struct probe_options {
    /* Folder on bpffs for maps and links ("/sys/fs/bpf/jobio"): a folder of the layout's number is
     * made below it, or adopted if an earlier process left it. NULL: nothing outlives the process.
     */
    const char *pin_dir;
    /* Room for this many steps at once; 0: the default. Ignored on adoption. */
    uint32_t max_steps;
    /* How to count. PROBE_NONE: each function by fentry or else kprobe, or, where neither sees the
     * reads and writes, all by system calls (PROBE_TP_BTF), which see less. Ignored on adoption. */
    enum probe_backend backend;
};

/* A tagged cgroup, as found in the maps. */
struct probe_step {
    uint32_t step; /* bpf/records.h, step_number() */
    uint64_t cgroup_id;
    int cgroup_version;       /* 1 or 2 */
    uint64_t longest_wait_ns; /* as of the last probe_read() of the step; 0 before */
    uint64_t events;          /* the same: counted calls */
    struct {                  /* bpf/records.h, enum lost_cause */
        uint64_t requests, bytes, errnos, latencies, mounts, ends, async, unseen, fills;
    } lost;
};

/* A super block that a step touched. */
struct probe_mount {
    uint32_t step;
    uint64_t dev; /* s_dev; in the upper half its life: others may have had the number before */
    uint32_t pid, magic;
    char fstype[16];
    char id[32];
};

/* The feature of calls that have a path, where only those by descriptor are seen. */
#define PROBE_BY_PATH "by path"

struct probe_hook {
    const char *function;       /* "vfs_read" */
    const char *feature;        /* "io_uring": the way in that it sees; "": the operation itself */
    uint64_t ops;               /* bit 1 << io_op: what it counts */
    bool absent;                /* this kernel's BTF has no such function */
    enum probe_backend backend; /* PROBE_NONE: not attached, `why` says why */
    char why[128];              /* else why this backend, or "" */
    uint64_t run_count, run_time_ns; /* of its programs; time only with kernel.bpf_stats_enabled */
    uint64_t missed;                 /* recursion misses: events that nobody counted */
    uint64_t missed_ops; /* what they were, if not this hook's: it shares its programs; else 0 */
};

/* Load and attach, or adopt. Hooks that cannot be attached are no error (probe_hooks tells);
 * -ENOTSUP: this build or kernel can do nothing at all; -EPERM: a capability is missing, -EBUSY:
 * never. *ret untouched on failure. */
int probe_create(struct probe **ret, const struct probe_options *options, struct error *error);
/* A probe for where there can be none: steps come and go, nothing is counted, every operation is
 * unsupported, and probe_blind() says why. */
int probe_create_blind(struct probe **ret, const char *why, struct error *error);
/* Why nothing at all is counted, also where there are programs and none could be attached; NULL:
 * something is. */
const char *probe_blind(const struct probe *probe);
/* Ends the process's hold; what is pinned goes on counting. NULL is fine. */
void probe_destroy(struct probe *probe);
/* To be called before probe_destroy by a process of one thread that is about to exit: nobody then
 * waits for the kernel, which takes about 0.1 s to detach each function (it waits for all tasks,
 * one function after the other). A process that shares the descriptors is left behind for it, and
 * ends by itself. It goes into the cgroup of this folder, if it can, so that nobody has to wait for
 * ours either. Does nothing where it would not help. */
void probe_linger(const struct probe *probe, const char *cgroup);
/* Remove the pinned state (jobio retire, tests). */
int probe_unpin(const char *pin_dir, struct error *error);
/* Remove what a jobio of another layout has pinned there: nobody here can read it, and its programs
 * would run on. Returns of how many layouts. */
int probe_unpin_others(const char *pin_dir, struct error *error);
/* True if probe_create took over what an earlier process left. */
bool probe_is_adopted(const struct probe *probe);

/* Count the tasks at and below this cgroup from now on. Idempotent (a second call with the same
 * cgroup keeps its counters). `*ret` (may be NULL) is the step's number. -ENOSPC: too many steps.
 */
int probe_add(struct probe *probe, uint64_t cgroup_id, unsigned level, int cgroup_version,
              uint32_t *ret, struct error *error);
/* True if it is in the maps; also if there are none. */
bool probe_has(struct probe *probe, uint64_t cgroup_id, int cgroup_version);
/* Stop counting and forget the step's counters: call after they are safe in the store. */
int probe_drop(struct probe *probe, uint64_t cgroup_id, int cgroup_version, struct error *error);
/* The same for many: one pass over the maps, however many they are, and twice a wait for the
 * programs that run just then (some 10 ms each). */
struct probe_cgroup {
    uint64_t id;
    int version; /* 1 or 2 */
};
int probe_drop_many(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                    struct error *error);
/* Remove what is left of steps that were dropped: a call that was under way in a program just then
 * may have made keys. Returns of how many steps. */
int probe_sweep(struct probe *probe, struct error *error);
/* Spread the step's counters over this many shards (rounded up to a power of two; bounded by the
 * CPUs and by what the pool has left). For steps that many CPUs hammer. */
int probe_shards(struct probe *probe, uint64_t cgroup_id, int cgroup_version, unsigned shards);

/* All steps that are in the maps, running or not yet dropped, by ascending number. Free *ret with
 * free(). */
int probe_steps(struct probe *probe, struct probe_step **ret, size_t *n, struct error *error);

/* The totals since the tag, one call for each (step, dev) with a request, shards summed, counters
 * in `io` and `cache` owned by the callee's caller (copy what you keep). One pass over the maps
 * reads all steps (step 0) or one. u32 buckets are widened inside the probe: it must be read at
 * least once every 2^32 calls of one bucket. A non-zero return of `each` ends the pass and is
 * returned. */
typedef int (*probe_account_f)(uint32_t step, uint64_t dev, const struct io_account *io,
                               const struct io_cache *cache, void *arg);
int probe_read(struct probe *probe, uint32_t step, probe_account_f each, void *arg,
               struct error *error);

/* A descriptor that is readable when a step touched a super block for the first time, then
 * probe_sightings() hands them out. probe_mounts() lists all known ones again. */
int probe_fd(const struct probe *probe);
typedef int (*probe_mount_f)(const struct probe_mount *mount, void *arg);
int probe_sightings(struct probe *probe, probe_mount_f each, void *arg, struct error *error);
int probe_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error);
/* Is the super block that the step touched still the one with this s_dev? Then no other has had it
 * since `*since_ns` (CLOCK_MONOTONIC). Where that is not seen (probe_hooks tells), all are. */
bool probe_is_mounted(struct probe *probe, uint32_t step, uint64_t dev, uint64_t *since_ns);

/* The hooks, owned by the probe, refreshed by the call. */
int probe_hooks(struct probe *probe, const struct probe_hook **ret, size_t *n);
/* bit 1 << io_op: what no attached hook counts, and what is not trusted. */
uint64_t probe_unsupported(const struct probe *probe);
/* What a test has shown: operations that are not counted right, whatever hooks there are, and what
 * a counted call costs (0: not known). */
void probe_tested(struct probe *probe, uint64_t failed, uint64_t ns_per_event);
uint64_t probe_distrusted(const struct probe *probe);
uint64_t probe_ns_per_event(const struct probe *probe);

#endif
