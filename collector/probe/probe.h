/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probe loads, attaches, pins and reads the BPF programs. BPF may not be available
 * (--disable-bpf, no BTF, no capability): none.c implements the same functions without it, and a
 * blind probe accepts steps without counting them and reports why.
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

#define PROBE_LONG_LEAST_NS 1000000
struct probe_options {
    /* Directory on bpffs for maps and links ("/sys/fs/bpf/jobio"). A subdirectory named after the
     * layout is created in it, or adopted from an earlier process. NULL: nothing is pinned. */
    const char *pin_dir;
    /* Maximum number of concurrent steps; 0: the default. Ignored on adoption. */
    uint32_t max_steps;
    /* How to count. PROBE_NONE: choose automatically between fentry and kprobe; if neither sees
     * reads and writes, use system calls (PROBE_TP_BTF), which see less. Ignored on adoption. */
    enum probe_backend backend;
    /* Steps may be traced (collector/probe/spans.h). Programs that an earlier process has pinned
     * without it do not trace. */
    bool spans;
    /* Calls that take this long may report their stack (collector/probe/stacks.h); 0: none does.
     * With pin_dir it must be at least PROBE_LONG_LEAST_NS, and programs that an earlier process
     * has pinned without it report none. */
    uint64_t long_ns;
};

/* A tagged cgroup, as found in the maps. */
struct probe_step {
    uint32_t step; /* bpf/records.h, step_number() */
    uint64_t cgroup_id;
    int cgroup_version;       /* 1 or 2 */
    uint64_t longest_wait_ns; /* at the last probe_read() of the step; 0 before it */
    uint64_t events;          /* counted calls, at the same time */
    uint64_t io_uring;        /* requests that it submitted to io_uring, if a hook has `by_step` */
    struct {                  /* bpf/records.h, enum lost_cause */
        uint64_t requests, bytes, errnos, latencies, mounts, ends, async, unseen, fills;
    } lost;
};

/* A super block that a step used. */
struct probe_mount {
    uint32_t step;
    uint64_t dev; /* s_dev; the upper half is its generation: numbers are reused */
    uint32_t pid, magic;
    char fstype[16];
    char id[32];
    const struct probe_seen *seen; /* NULL: not known. Only during the callback */
};

/* A mount as the kernel saw it when a step first used it: as in the task's /proc/PID/mountinfo. */
struct probe_seen {
    uint32_t space;            /* inode number of the mount namespace */
    const char *in_space;      /* mount point from the root of the namespace; NULL: not known */
    const char *in_task;       /* the same from the root of the task; NULL: it is not below that */
    const char *type, *source; /* `source` may be empty */
};

/* The feature of calls by path, if only calls by descriptor are seen. */
#define PROBE_BY_PATH "by path"

/* The features of io_uring start with this. */
#define PROBE_IO_URING "io_uring"

struct probe_hook {
    const char *function; /* "vfs_read" */
    const char *feature;  /* the interface that it covers, "io_uring"; "": the operation itself */
    uint64_t ops;         /* bit 1 << io_op: the operations that it counts */
    bool absent;          /* this kernel's BTF has no such function, or needs no hook on it */
    bool by_step; /* if it is not attached, this matters only to steps with probe_step.io_uring */
    enum probe_backend backend; /* PROBE_NONE: not attached, see `why` */
    char why[128];              /* why not attached, or why this backend; "" if nothing to report */
    uint64_t run_count, run_time_ns; /* of its programs; time only with kernel.bpf_stats_enabled */
    uint64_t missed;                 /* events that were not counted, such as recursion misses */
    uint64_t missed_ops; /* operations of the misses, if not `ops`, as for shared programs; or 0 */
};

/* The versions of libbpf, of its headers and at run time ("none" in a build without BPF), and the
 * layout of the maps. */
struct probe_versions {
    char built[16], running[16];
    unsigned layout;
};
void probe_versions(struct probe_versions *ret);

/* Load and attach the programs, or adopt pinned ones. A hook that cannot be attached is not an
 * error (see probe_hooks()). -ENOTSUP: this build or kernel cannot count at all; -EPERM: a
 * capability is missing; never -EBUSY. On failure *ret is unchanged. */
int probe_create(struct probe **ret, const struct probe_options *options, struct error *error);
/* Create a probe without BPF: it accepts steps but counts nothing, every operation is unsupported,
 * and probe_blind() returns `why`. */
int probe_create_blind(struct probe **ret, const char *why, struct error *error);
/* Returns the reason why nothing is counted (also if programs were loaded but none attached), or
 * NULL if something is. */
const char *probe_blind(const struct probe *probe);
/* Free the probe; pinned programs continue to count. Accepts NULL. */
void probe_destroy(struct probe *probe);
/* For a single-threaded process that is about to exit, before probe_destroy(): detach in the
 * background. The kernel takes about 0.1 s to detach each function (it waits for all tasks, one
 * function after the other). A child process that shares the descriptors stays behind for this and
 * ends by itself. It moves to the cgroup with this directory, if it can, so that nothing has to
 * wait for the caller's cgroup either. Does nothing if it would not help. */
void probe_linger(const struct probe *probe, const char *cgroup);
/* Returns whether a process that was left behind before that time (CLOCK_MONOTONIC) still detaches.
 * Each program that is detached from a function hides the returns of the calls that are in it. */
bool probe_is_lingering(uint64_t before_ns);
/* Remove the pinned state of this layout (jobio retire, tests). */
int probe_unpin(const char *pin_dir, struct error *error);
/* Remove what versions of jobio have pinned there in other layouts that this one cannot read: the
 * programs would continue to run. Returns 1 if there were any, with the reason in `error`, else 0.
 */
int probe_unpin_others(const struct probe *probe, const char *pin_dir, struct error *error);
/* Detach and remove everything that is pinned there, of all layouts, and the directory; safe to
 * repeat. The counters of `steps` cgroups are lost. */
struct probe_removed {
    unsigned layouts, links, maps, steps;
};
int probe_detach(const char *pin_dir, struct probe_removed *ret, struct error *error);
/* Returns true if probe_create() adopted the state of an earlier process, of any layout. */
bool probe_is_adopted(const struct probe *probe);

/* Start to count the tasks in and below this cgroup. Idempotent: a second call keeps the counters.
 * Stores the step number in *ret; `ret` may be NULL. -ENOSPC: too many steps. */
int probe_add(struct probe *probe, uint64_t cgroup_id, unsigned level, int cgroup_version,
              uint32_t *ret, struct error *error);
/* The step had run before it was added: its requests to NFS servers are incomplete. */
void probe_began_late(struct probe *probe, uint32_t step);
/* Returns true if the cgroup is in the maps, or if there are no maps. */
bool probe_has(struct probe *probe, uint64_t cgroup_id, int cgroup_version);
/* Stop counting and delete the step's counters. Call it after they are stored. */
int probe_drop(struct probe *probe, uint64_t cgroup_id, int cgroup_version, struct error *error);
/* The same for many cgroups: one pass over the maps for all, and two waits for running programs
 * (some 10 ms each). */
struct probe_cgroup {
    uint64_t id;
    int version; /* 1 or 2 */
};
int probe_drop_many(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                    struct error *error);
/* The same in three parts, so that another thread can wait. After a failed wait do not finish:
 * probe_sweep() removes what is left. */
int probe_drop_start(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                     struct error *error);
int probe_drop_wait(const struct probe *probe, struct error *error); /* on any thread */
int probe_drop_finish(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                      struct error *error);
/* Remove leftovers of dropped steps: a program that was running during the drop may have created
 * keys. Also remove other layouts that count no step any more. Returns the number of steps removed,
 * or -errno: try again later; -EAGAIN: another thread is in probe_drop_wait(). */
int probe_sweep(struct probe *probe, struct error *error);
/* Returns why the last attempt to make room for more counters failed: a negative errno, else 0. It
 * is made again at each reading; calls that find no room are counted as lost. */
int probe_growth(const struct probe *probe);
/* Spread the step's counters over this many shards (rounded up to a power of two; bounded by the
 * CPUs and by what the pool has left). For steps that run on many CPUs. */
int probe_shards(struct probe *probe, uint64_t cgroup_id, int cgroup_version, unsigned shards);

/* List all steps in the maps, running or not yet dropped, by ascending number. The caller frees
 * *ret with free(). */
int probe_steps(struct probe *probe, struct probe_step **ret, size_t *n, struct error *error);

/* A slice of time, and the wait of one thread in it, in all its calls: that of the thread which
 * waited longest, of those with a call on the super block. It can be longer than the slice: then
 * the thread was waiting when the slice started, and the rest is the time just before. Rounded down
 * to 1 ms. */
#define PROBE_SLICES 8
#define PROBE_SLICE_NS (UINT64_C(1) << 32)
struct probe_slice {
    uint64_t slice; /* its number; 0: nothing */
    uint64_t wait_ns;
};
/* When a slice starts, by CLOCK_BOOTTIME. */
uint64_t probe_slice_start_ns(uint64_t slice);

/* The totals of a step on a super block. All pointers belong to the probe. */
struct probe_account {
    uint32_t step;
    uint64_t dev;
    const struct io_account *io;
    const struct io_cache *cache;
    const struct io_users *users;     /* IO_USER_KINDS of them */
    const struct rpc_account *rpc;    /* NULL: not NFS, or not counted */
    const struct probe_slice *slices; /* PROBE_SLICES: the last ones, in any order */
};

/* Read the totals since probe_add(), for n steps (ascending numbers) or for all (`steps` is NULL),
 * in one pass over the maps. Calls `each` for every (step, dev) with a request or page cache fills;
 * shards are summed. The probe widens u32 buckets: it must be read at least once every 2^32 calls
 * of one bucket. A non-zero return of `each` ends the pass and is returned. */
typedef int (*probe_account_f)(const struct probe_account *account, void *arg);
int probe_read(struct probe *probe, const uint32_t *steps, size_t n, probe_account_f each,
               void *arg, struct error *error);

/* Returns a descriptor that is readable when a step has used a super block for the first time. Then
 * probe_new_mounts() reports the new mounts; probe_mounts() lists all known ones. */
int probe_fd(const struct probe *probe);
typedef int (*probe_mount_f)(const struct probe_mount *mount, void *arg);
int probe_new_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error);
int probe_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error);
/* Returns whether the s_dev still belongs to the super block that the step used. If so, no other
 * one has had it since *since_ns (CLOCK_MONOTONIC). If unmounts are not seen (see probe_hooks()),
 * every super block counts as mounted. */
bool probe_is_mounted(struct probe *probe, uint32_t step, uint64_t dev, uint64_t *since_ns);

/* List the hooks with current statistics. *ret belongs to the probe. */
int probe_hooks(struct probe *probe, const struct probe_hook **ret, size_t *n);
/* Returns the reason why the requests of the NFS client are not counted; NULL: they are, or there
 * is no NFS client. */
const char *probe_rpc_missing(const struct probe *probe);
/* Returns the operations that are not counted completely or not trusted (bit 1 << io_op). */
uint64_t probe_unsupported(const struct probe *probe);
/* Store the result of a self-test: `failed` operations are not counted correctly, whatever hooks
 * there are; ns_per_event is the cost of a counted read of the page cache (0: unknown). */
void probe_tested(struct probe *probe, uint64_t failed, uint64_t ns_per_event);
uint64_t probe_distrusted(const struct probe *probe);
uint64_t probe_ns_per_event(const struct probe *probe);

#endif
