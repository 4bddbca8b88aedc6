/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations shared by the files of the probe. */
#ifndef JOBIO_COLLECTOR_PROBE_PROBE_IMPL_H
#define JOBIO_COLLECTOR_PROBE_PROBE_IMPL_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/records.h"
#include "bpf/features.h"
#include "bpf/hooks.h"
#include "bpf/data.skel.h"
#include "bpf/jobio.skel.h"
#include "bpf/syscalls.h"
#include "collector/probe/probe.h"
#include "common/trace.h"

struct probe_stack; /* of stacks.h */

/* The two programs of a hook. */
enum { SIDE_ENTER, SIDE_LEAVE, SIDE_COUNT };

struct hook_links {
    struct bpf_link *link[SIDE_COUNT];
    int program[SIDE_COUNT]; /* owned descriptors; 0: none */
};

/* Entries of the system call backend, including what it cannot see. */
#define SYSCALL_HOOKS 8

struct probe {
    char *blind;                /* owned; why nothing is counted; NULL if something is */
    struct data_bpf *skel;      /* the maps; NULL if the probe is blind from the start */
    struct jobio_bpf *programs; /* of fentry; NULL after probe_create() */
    uint32_t devtmpfs_dev;      /* s_dev of devtmpfs, or 0 */
    struct share_limit share_limits[SHARE_KINDS]; /* from the sizes of the maps */
    char *directory; /* owned; directory of this layout's pins; NULL: nothing is pinned */
    bool adopted;
    struct kernel_features features;
    struct hook_links fentry[HOOK_COUNT]; /* also fexit and tp_btf */
    struct probe_hook hooks[HOOK_COUNT];
    struct hook_indexes indexes[HOOK_COUNT];
    bool resolved[HOOK_COUNT]; /* the kernel has it with known parameters */
    enum probe_backend wanted; /* PROBE_NONE: whichever works */
    bool by_kprobes;           /* instead of fentry and fexit */
    bool kprobes_multi;        /* attached by kprobe.multi, else by tracefs events */
    bool kprobes_session;      /* the same with one program for entry and return */
    bool kprobes_better;       /* on this kernel fentry would miss calls, kprobes do not */
    struct hook_links kprobes[HOOK_COUNT];
    int kprobe_errors[HOOK_COUNT];
    const char *kprobes_lack; /* what the kernel lacks for any kprobe; NULL: nothing */
    bool by_syscalls;         /* no hook on a function is used */
    struct hook_links syscall_links;
    struct probe_hook syscall_hooks[SYSCALL_HOOKS];
    struct probe_hook listed[HOOK_COUNT + SYSCALL_HOOKS]; /* the list that probe_hooks() returns */
    uint64_t distrusted, ns_per_event;                    /* probe_tested() */
    struct ring_buffer *ring;
    struct levels_record *levels; /* mapping of the map `levels`, made by maps_open() */
    bool can_allocate;            /* sizes_can_allocate() */
    int *chunks;                  /* owned descriptors of the chunks of counters: slots.c */
    uint32_t n_chunks;
    int growth;                     /* what the last attempt to make chunks has returned */
    struct account_value **windows; /* mappings of parts of them; NULL: not mapped yet */
    int fence[2];                   /* of maps_wait(), created by maps_open() */
    struct maps_bpf *elements;      /* access program; NULL: use bpf(2) */
    struct maps_page *rows;         /* of `elements` */
    void *accounts;                 /* tsearch tree of struct step_tallies, by step */
    struct probe *others;           /* owned list of other layouts, linked by this member */
    struct error unreadable; /* why a layout of this shape could not be opened; "": all were */
    int rings;               /* with other layouts: epoll descriptor of all ring buffers; else 0 */
    probe_mount_f new_mount;
    void *new_mount_arg;
    struct ring_buffer *span_ring;               /* NULL: nothing is traced */
    struct trace_record *traces;                 /* mapping of the map `traces` */
    uint64_t used_traces[JOBIO_MAX_TRACES / 64]; /* slots in use, one bit each */
    uint32_t next_trace; /* the slot that was free for the longest time, or after it */
    /* probe_span_f */
    void (*new_span)(uint32_t step, const struct span *span, const char *comm, void *arg);
    void *new_span_arg;
    uint32_t spans_left;            /* that this probe_spans() may pass on */
    struct ring_buffer *stack_ring; /* NULL: no stacks, and no next two */
    int stack_timer;                /* when stacks that do not wake this process are read */
    int stack_events;               /* epoll descriptor of both */
    void (*new_stack)(const struct probe_stack *stack, void *arg);
    void *new_stack_arg;
    uint32_t stacks_left;  /* that this probe_stacks() may pass on */
    struct rpc_probe *rpc; /* of rpc.c; NULL: there is no NFS client, or see rpc_why */
    uint64_t rpc_due_ns;   /* CLOCK_MONOTONIC: no attempt to load them before */
    struct error rpc_why;  /* why its requests are not counted; "": nothing to report */
};

/* spans.c: the traces. */

/* Give the maps their sizes, before they are made. */
void spans_set_sizes(struct data_bpf *skel);
/* After adoption: end the traces of an earlier process. */
int spans_reset(struct probe *probe, struct error *error);
/* Open the maps, if this process may trace. */
int spans_open(struct probe *probe, struct error *error);
void spans_close(struct probe *probe);

/* stacks.c: the same for the maps of stacks. */
void stacks_set_sizes(struct data_bpf *skel);
/* After adoption: forget the numbers of steps that are not in the maps, or `all`. */
int stacks_tidy(struct probe *probe, bool all, struct error *error);
int stacks_open(struct probe *probe, struct error *error);
void stacks_close(struct probe *probe);

/* elements.c: the elements of the hashes. map_get(), map_put() and map_drop() return the errors of
 * bpf(2). */

/* If the kernel allows it, access elements without bpf(2) from now on, because bpf(2) prevents
 * kprobe programs from running (bpf/maps.bpf.c). */
void elements_open(struct probe *probe);
void elements_close(struct probe *probe);
int map_get(const struct probe *probe, const struct bpf_map *map, const void *key, void *value);
int map_put(const struct probe *probe, const struct bpf_map *map, const void *key,
            const void *value, uint64_t flags);
int map_drop(const struct probe *probe, const struct bpf_map *map, const void *key);
int map_push(const struct probe *probe, const struct bpf_map *map, const void *value);
/* Delete those of the n keys that exist. */
void map_drop_all(const struct probe *probe, const struct bpf_map *map, const void *keys, size_t n);
/* Call `each` for every element. A non-zero return of `each` ends the walk and is returned. After
 * elements_open() this does not use bpf(2), however many elements the map has. */
typedef int (*map_each_f)(const void *key, const void *value, void *arg);
int map_each(const struct probe *probe, const struct bpf_map *map, map_each_f each, void *arg,
             struct error *error);
/* Delete all elements whose key starts with one of these step numbers (ascending). */
int map_drop_steps(const struct probe *probe, const struct bpf_map *map, const uint32_t *steps,
                   size_t n, struct error *error);

/* targets.c: the kernel's functions and tracepoints. */

/* The functions by name. A search of libbpf's reads all types of the kernel each time. */
struct functions;

/* The function or tracepoint that a program is attached to. */
struct target {
    const char *name;              /* in this kernel */
    uint32_t type;                 /* of the function in the kernel's BTF; 0: a tracepoint */
    const struct btf_type *params; /* the prototype */
    int skip;                      /* parameters that the program does not get */
};

/* Returns NULL on out-of-memory. `btf` must stay. */
struct functions *functions_create(const struct btf *btf);
void functions_destroy(struct functions *functions); /* accepts NULL */
bool functions_have(struct functions *functions, const char *name);
/* Find a function or tracepoint, also by the name that it has in some kernels. Returns 0 or
 * -ENOENT. */
int target_find(struct functions *functions, const char *name, bool tracepoint, struct target *ret);
/* Returns the index of a parameter for the programs; -ENOENT: there is none, `name` is empty, or
 * the programs cannot load it. */
int target_parameter(const struct btf *btf, const struct target *target, const char *name);
/* The same for a parameter that the programs must read from the memory of their context. */
int target_opaque(const struct btf *btf, const struct target *target, const char *name);
/* Returns what the function returns (RETURN_*), or -EINVAL. */
int target_result(const struct btf *btf, const struct target *target);

/* maps.c: opening, sharing, pinning and mapping of maps. */

/* Open a skeleton of maps that fits the kernel. On failure returns NULL and sets errno. */
struct data_bpf *maps_skeleton(const struct kernel_features *features);
/* Adopt the maps that an earlier process pinned in the directory. Returns 1 if all are adopted, or
 * 0 if none are there; an incomplete set is removed. */
int maps_adopt(struct data_bpf *skel, const char *directory, struct error *error);
/* The same for the maps of traces. Call it after maps_adopt() has returned 1. Returns 0 if the
 * pinned programs cannot trace. */
int maps_adopt_traces(struct data_bpf *skel, const char *directory, struct error *error);
int maps_adopt_stacks(struct data_bpf *skel, const char *directory, struct error *error);
/* Returns whether the map of this descriptor has the type and sizes of `map`. */
bool maps_fit(const struct bpf_map *map, int fd);
/* Let another object use the maps of the loaded skeleton: all that have the same name in both. */
int maps_share(const struct probe *probe, struct bpf_object *object);
/* traces: with those of traces. */
int maps_pin(struct data_bpf *skel, bool traces, bool stacks, const char *directory,
             struct error *error);
/* Remove the directory and its pins. A missing directory is not an error. */
int maps_unpin(const char *directory, struct error *error);
/* Map `levels` of the loaded skeleton, which this process writes, and prepare maps_wait(). */
int maps_open(struct probe *probe, struct error *error);
void maps_close(struct probe *probe);
/* Wait until all programs that are running now have ended. On any thread. */
int maps_wait(const struct probe *probe, struct error *error);

/* pins.c: the pins of programs that are loaded after the others, with the maps that only they use.
 * These maps, and the pins of all, are named by the prefix. */

/* Let an object that is not loaded use the pinned maps, whose programs are attached by n links.
 * Returns 1, or 0 if the maps and links are not all there; then the rest is removed. */
int pins_adopt(struct bpf_object *object, size_t n, const char *directory, const char *prefix,
               struct error *error);
/* Pin the maps of a loaded object and its n links, which may be closed then. programs: theirs, if a
 * later process needs them for their statistics; NULL: it does not. On failure nothing is pinned.
 */
int pins_make(struct bpf_object *object, struct bpf_link *const *links,
              struct bpf_program *const *programs, size_t n, const char *directory,
              const char *prefix, struct error *error);
/* Open the n pinned programs. (To get them from the links needs CAP_SYS_ADMIN.) 0 or -errno; the
 * caller closes those of fds[] that are not negative. */
int pins_programs(const char *directory, const char *prefix, int *fds, size_t n);
/* Remove them, which detaches the programs. */
int pins_remove(const char *directory, const char *prefix, struct error *error);

/* sizes.c: the sizes of the maps. */

uint32_t sizes_cpus(void); /* number of possible CPUs */
uint32_t sizes_pool(void); /* number of extra shards that all steps share */
/* Returns whether the kernel (its types) can allocate elements of hashes in any context. If not,
 * they are allocated with the map. */
bool sizes_can_allocate(const struct btf *btf);
/* Set the sizes of the maps. Call it before maps are adopted. max_steps: 0: the default. */
void sizes_set(struct data_bpf *skel, uint32_t max_steps, bool can_allocate);

/* slots.c: the counters (bpf/records.h), whose memory grows with use. */

/* Make the first chunks, or adopt those of an earlier process. Call it after maps_open(). */
int slots_open(struct probe *probe, bool adopt, struct error *error);
/* Make another chunk if few slots are free. Returns 0 or a negative errno: steps use what there is,
 * and calls that find no slot are counted as lost. */
int slots_grow(struct probe *probe);
/* Give back the slot of a deleted key, after its counters were cleared. */
void slots_give(const struct probe *probe, uint32_t slot);
/* Returns false if there are no counters in this slot. */
bool slots_have(const struct probe *probe, uint32_t slot);
/* Returns the counters of a valid slot, in the map itself; NULL on out-of-memory. */
struct account_value *slots_value(const struct probe *probe, uint32_t slot);
void slots_close(struct probe *probe);

/* shares.c: how much of the maps a step may take (bpf/records.h). */

/* Set probe->share_limits from the sizes of the maps, before the programs are loaded. */
void shares_set(struct probe *probe);
/* Give back what these steps held. Call after their elements were deleted, because other steps take
 * the room at once. */
void shares_drop(struct probe *probe, const uint32_t *steps, size_t n);
/* Correct the sums over all steps after adoption: an earlier process may have been killed in
 * shares_drop(). */
int shares_recount(struct probe *probe, struct error *error);

/* layouts.c: layouts of other versions. Their struct probe has maps and links, but no programs. */

/* Mark the pinned maps with their shape. */
int layouts_mark(const struct probe *probe);
/* Returns whether the maps pinned in this directory have the shape of this version. */
bool layouts_can_read(const char *directory);
/* Open the other layouts below pin_dir that can be read and count a step. Returns 0 or -errno;
 * -EAGAIN: a later attempt may succeed. */
int layouts_open(struct probe *probe, const char *pin_dir, struct error *error);
/* Detach and remove those without steps. Returns 0 or -errno: try again later; -EAGAIN: another
 * thread uses the list. */
int layouts_retire(struct probe *probe, struct error *error);
/* Keep the list as it is. Only for other threads than that of layouts_retire(). */
void layouts_hold(void);
void layouts_release(void);
void layouts_close(struct probe *probe);
/* Returns the layout that counts this step (a key of `steps`); NULL: none of them. */
struct probe *layouts_find(struct probe *probe, uint64_t key);
/* detach.c: remove one layout. */
int probe_detach_layout(const char *directory, struct probe_removed *ret, struct error *error);

/* new_mount.c: new mounts. */

/* Callback of a ring buffer; arg: the probe. */
int probe_report_mount(void *arg, void *data, size_t size);

/* features.c: what the programs may do on this kernel. */

/* Returns -EPERM if the kernel forbids what every program does, else 0. */
int features_check(struct error *error);
/* Detect the features of this kernel by trying them, after hooks_resolve(). */
void features_detect(struct kernel_features *features);
/* Options to open a BPF object so that it can be loaded without CAP_SYS_ADMIN. */
const struct bpf_object_open_opts *features_types(void);

/* programs.c: the programs of fentry. They and the types they were compiled with take 5 MiB, so
 * they are freed once they are attached. */

/* Open a skeleton that fits the kernel and shares the maps of the probe. On failure returns NULL
 * and sets errno. */
struct jobio_bpf *programs_open(const struct probe *probe);
void programs_close(struct probe *probe);

/* load.c: maps and programs when a probe is created. */

/* Make the maps, or adopt those that are pinned, and set probe->adopted. */
int load_maps(struct probe *probe, uint32_t max_steps, struct error *error);
/* Load probe->programs, all that the kernel accepts, after load_maps(). Adopts the backend. */
int load_programs(struct probe *probe, struct error *error);

/* links.c: the links of a hook. */

/* Store the link of a hook's side; `links` owns it. */
void links_add(struct hook_links *links, int side, struct bpf_link *link);
/* Unpin and detach both sides. */
void links_unpin(struct hook_links *links);
/* Close both sides. Pinned links stay attached. */
void links_close(struct hook_links *links);

/* attach_types.c: the functions that fentry and fexit are attached to. */

/* Note the type of a hook's function in the kernel's BTF; 0: there is none. `function`: as in the
 * section of its programs; the string must stay. */
void attach_types_set(size_t hook, const char *function, uint32_t type);
uint32_t attach_types_get(size_t hook);
/* From now on, give libbpf these types whenever it loads programs of fentry and fexit. Call it
 * before other threads use libbpf. */
int attach_types_register(void);

/* hooks.c: the functions of the kernel, and fentry. */

/* Look up every hook in the kernel's BTF. hooks[].why reports what is missing. */
int hooks_resolve(struct probe *probe, struct error *error);
/* Adopt the pinned links. */
void hooks_adopt(struct probe *probe);
/* Select the programs of `skel` to load: those of resolved hooks that have no link yet. */
void hooks_choose(const struct probe *probe, struct jobio_bpf *skel);
/* Load each of the hooks of reads and writes separately and give up those that the kernel refuses.
 * If it refuses them and no backend is forced, give up all hooks on functions. Returns whether
 * nobody may attach to functions; then all of them are given up. */
bool hooks_try_data(struct probe *probe);
/* The same for each other wanted hook. */
void hooks_try(struct probe *probe);
/* Attach the loaded programs, and pin the links if there is a directory. */
void hooks_attach(struct probe *probe);
/* Returns whether the functions for reads and writes are hooked, or at least not given up. */
bool hooks_see_data(const struct probe *probe);
/* Returns whether programs run when a task leaves its cgroup, so that its exit is not needed. */
bool hooks_see_gone(const struct probe *probe);
/* Do not use fentry and fexit for calls, because another backend will count them. */
void hooks_replace(struct probe *probe);
/* Detach all hooks, because reads and writes cannot be counted: a later process starts anew instead
 * of adopting them. */
void hooks_give_up(struct probe *probe);
/* Number of functions that are hooked by fentry, and that could be. */
size_t hooks_attached(const struct probe *probe);
size_t hooks_resolved(const struct probe *probe);
void hooks_close(struct probe *probe);

/* Attach the hook that sees submissions to io_uring, if other hooks on it are missing. Call it when
 * all others are attached. */
void hooks_attach_submissions(struct probe *probe);

/* io_uring.c: the hooks on io_uring. */

/* Give up resolved hooks that another one makes unnecessary. */
void io_uring_choose(struct probe *probe);
bool io_uring_is_feature(const char *feature);
/* Returns whether a hook is missing that this kernel needs to count all of io_uring. */
bool io_uring_lacks_hooks(const struct probe *probe);
/* Returns whether struct probe_step.io_uring is known. */
bool io_uring_sees_submissions(const struct probe *probe);

/* kprobes.c: the functions by kprobe and kretprobe. This backend hooks all of them or none, because
 * only one backend can know which call is the outermost. */

/* Decide how to attach kprobes on this kernel, and whether they are better than fentry. */
void kprobes_choose_kind(struct probe *probe, const struct btf *btf);
bool kprobes_have(size_t hook); /* there are programs for it */
/* Adopt the pinned links. Returns true if there are any. */
bool kprobes_adopt(struct probe *probe);
/* Load and attach all. Returns the number of attached functions. */
size_t kprobes_attach(struct probe *probe);
/* Use the attached kprobes for counting, or drop them. */
void kprobes_use(struct probe *probe);
void kprobes_drop(struct probe *probe);
/* Update hooks[].missed: events that the kernel could not pass to the programs. */
void kprobes_read_missed(struct probe *probe);
/* Operations that all kprobes count together. They share two programs, and so their misses. */
uint64_t kprobes_ops(const struct probe *probe);
void kprobes_close(struct probe *probe);

/* kprobe_events.c: kprobes as tracefs events, for kernels without an exact kprobe.multi. */

static inline const char *kprobe_prefix(int side)
{
    return side == SIDE_ENTER ? "kprobe" : "kretprobe";
}

bool kprobe_events_exist(void); /* the kernel has them */
/* Make the event of a hook's function; one that an earlier process left is used as it is. Fills in
 * its name. Returns 0 or -errno. */
int kprobe_events_make(const struct probe *probe, size_t hook, int side, char name[64]);
void kprobe_events_remove(const struct probe *probe, size_t hook, int side);
/* Add the events that the kernel has missed to hooks[].missed. */
void kprobe_events_read_missed(struct probe *probe);
/* Remove the events of the kprobes that were pinned in this directory. */
void kprobe_events_remove_all(const char *directory);

/* syscalls.c: the system call backend, for the whole node. */

/* Adopt its pinned links. Returns true if there are any; then it counts. */
bool syscalls_adopt(struct probe *probe);
/* Load and attach it. On failure syscall_hooks[0].why has the reason. */
void syscalls_attach(struct probe *probe);

/* uprobes.c: a program at many places of a file. */

struct uprobe_place {
    uint64_t offset; /* in the file */
    uint64_t cookie; /* of the program */
};
struct uprobe_links;
/* Returns whether one link can attach to all places (Linux 6.6): it is closed as fast as a link to
 * one of them. */
bool uprobes_have_multi(void);
/* Choose this for a program before it is loaded. */
void uprobes_set_multi(struct bpf_program *program);
/* Attach to the places in their order, for all processes, at the entry or at the return of the
 * functions there. The caller owns *ret. 0 or -errno; on failure nothing is attached. */
int uprobes_attach(struct uprobe_links **ret, const struct bpf_program *program, bool on_return,
                   const char *path, const struct uprobe_place *places, size_t n);
void uprobe_links_destroy(struct uprobe_links *links); /* detaches; NULL is fine */

/* rpc.c: the requests of the NFS client. */
struct rpc_counter_value;
/* Count them if the client's module has been loaded since the last call. */
void rpc_poll(struct probe *probe);
/* Read those that the programs of another layout count, if they do. 0 or -errno. */
int rpc_adopt(struct probe *probe, struct error *error);
/* Remove the programs that an earlier process has pinned, because nothing is counted. */
void rpc_unpin(const struct probe *probe);
void rpc_close(struct probe *probe);
/* A step that is about to start: its requests are counted from now on. */
void rpc_start(struct probe *probe, uint32_t step);
void rpc_began_late(struct probe *probe, uint32_t step); /* see probe_began_late() */
void rpc_forget(struct probe *probe, const uint32_t *steps, size_t n);
/* Returns the map with the counters of steps; NULL: nothing is counted. */
const struct bpf_map *rpc_counters(const struct probe *probe);
/* Returns the number of maps whose keys start with the step, this one last, in the order in which
 * to remove a step; 0: nothing is counted. */
#define RPC_STEP_MAPS 3
size_t rpc_step_maps(const struct probe *probe, const struct bpf_map *ret[RPC_STEP_MAPS]);
/* A reading: first read all but the counters of steps; then find the s_dev of each of these and add
 * it to its account, which is created if *to is NULL; then finish the account of each s_dev, which
 * is created if it is one of NFS. -ENOENT: the file system is not known. */
int rpc_read(struct probe *probe, struct error *error);
int rpc_find(const struct probe *probe, const void *key, const void *value,
             struct rpc_counter_value *counters, uint64_t *dev);
int rpc_add(struct rpc_account **to, const struct rpc_counter_value *counters);
int rpc_finish(struct probe *probe, uint32_t step, uint64_t dev, struct rpc_account **account);

/* account.c: totals. */
/* Forget the totals of these steps. */
void accounts_forget(struct probe *probe, const uint32_t *steps, size_t n);
void accounts_close(struct probe *probe);
/* Sort the steps by number, and fill in their longest waits and numbers of calls at the last
 * reading.
 */
void accounts_sum(const struct probe *probe, struct probe_step *steps, size_t n);

#endif
