/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the probe share. */
#ifndef JOBIO_COLLECTOR_PROBE_PROBE_IMPL_H
#define JOBIO_COLLECTOR_PROBE_PROBE_IMPL_H

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/records.h"
#include "bpf/features.h"
#include "bpf/hooks.h"
#include "bpf/jobio.skel.h"
#include "bpf/syscalls.h"
#include "collector/probe/probe.h"

/* The two programs of a hook. */
enum { SIDE_ENTER, SIDE_LEAVE, SIDE_COUNT };

struct hook_state {
    struct bpf_link *links[SIDE_COUNT];
    int programs[SIDE_COUNT]; /* owned descriptors, -1: none */
};

/* The backend of system calls, and what it cannot see. */
#define SYSCALL_HOOKS 7

struct probe {
    char *blind;            /* owned; why nothing is counted; NULL: something is */
    struct jobio_bpf *skel; /* NULL also if it is blind from the start */
    char *folder;           /* owned; of this layout's pins; NULL: nothing is pinned */
    bool adopted;
    struct kernel_features features;
    struct hook_state state[HOOK_COUNT];
    struct probe_hook hooks[HOOK_COUNT];
    struct hook_slots slots[HOOK_COUNT];
    bool resolved[HOOK_COUNT]; /* the kernel has it, with parameters that we know */
    enum probe_backend wanted; /* PROBE_NONE: what works */
    bool by_kprobes;           /* in place of fentry and fexit */
    bool kprobes_multi;        /* attached by kprobe.multi, else by events of tracefs */
    bool kprobes_better;       /* fentry would miss calls on this kernel, kprobes do not */
    struct hook_state kprobes[HOOK_COUNT];
    int kprobe_errors[HOOK_COUNT];
    bool by_syscalls; /* no hook on a function is used */
    struct hook_state syscall_state;
    struct probe_hook syscall_hooks[SYSCALL_HOOKS];
    struct probe_hook listed[HOOK_COUNT + SYSCALL_HOOKS]; /* what probe_hooks() hands out */
    uint64_t distrusted, ns_per_event;                    /* probe_tested() */
    struct ring_buffer *ring;
    struct levels_record *levels;   /* in the map of that name, which maps_open() maps */
    struct account_value **windows; /* on the map `account`; NULL: not mapped yet */
    size_t n_windows;
    int fence[2];              /* maps_wait() makes and uses them; 0: not made */
    struct maps_bpf *elements; /* NULL: bpf(2) does it */
    struct maps_page *rows;    /* of it */
    void *accounts;            /* tsearch tree of struct tally, by step and dev */
    probe_mount_f sighting;
    void *sighting_arg;
};

/* probe_elements.c: the elements of the hashes. The errors of the first three are bpf(2)'s. */

/* Use no bpf(2) for them any more, if the kernel can: where programs are kprobes, it keeps those
 * from running (bpf/maps.bpf.c). */
void elements_open(struct probe *probe);
void elements_close(struct probe *probe);
int map_get(const struct probe *probe, const struct bpf_map *map, const void *key, void *value);
int map_put(const struct probe *probe, const struct bpf_map *map, const void *key,
            const void *value, uint64_t flags);
int map_drop(const struct probe *probe, const struct bpf_map *map, const void *key);
/* Those of n keys that are there. */
void map_drop_all(const struct probe *probe, const struct bpf_map *map, const void *keys, size_t n);
/* One call an element. A non-zero return of `each` ends it and is returned. */
typedef int (*map_each_f)(const void *key, const void *value, void *arg);
int map_each(const struct probe *probe, const struct bpf_map *map, map_each_f each, void *arg,
             struct error *error);
/* Delete all elements whose key begins with one of these step numbers (ascending). */
int map_drop_steps(const struct probe *probe, const struct bpf_map *map, const uint32_t *steps,
                   size_t n, struct error *error);

/* probe_maps.c: the maps as a whole. */

/* Open what an earlier process pinned in the folder. 1: all maps are adopted, 0: none is there, or
 * a remainder, which is removed. */
int maps_adopt(struct jobio_bpf *skel, const char *folder, struct error *error);
/* Give another object the maps of the skeleton, which is loaded: all that it has by the same
 * name. */
int maps_share(const struct probe *probe, struct bpf_object *object);
int maps_pin(struct jobio_bpf *skel, const char *folder, struct error *error);
/* Of a skeleton that is loaded: unmap `memory`, all of which the kernel would count as resident. */
void maps_hide_memory(const struct jobio_bpf *skel);
/* Remove the folder and its pins. 0 also if there is none. */
int maps_unpin(const char *folder, struct error *error);
/* Map what this process writes, of a skeleton that is loaded. */
int maps_open(struct probe *probe, struct error *error);
/* False: a key with this place has no counters (bpf/records.h). */
bool maps_has_place(const struct probe *probe, uint32_t place);
/* The counters of such a place, in the map itself; NULL: no memory. */
struct account_value *maps_value(struct probe *probe, uint32_t place);
void maps_close(struct probe *probe);
/* Wait until all programs have ended that run now. */
int maps_wait(struct probe *probe, struct error *error);

/* probe_features.c: what the programs may do on this kernel. */

/* Try it out. */
void features_detect(struct kernel_features *features);
/* How to open a BPF object so that it can be loaded without CAP_SYS_ADMIN. */
const struct bpf_object_open_opts *features_types(void);
/* A skeleton that is open and fits the kernel, NULL and errno. */
struct jobio_bpf *features_open(const struct kernel_features *features);

/* probe_hooks.c: what the kernel has, and the links. */

/* Look every hook up in the kernel's BTF; what is missing is said in hooks[].why. */
int hooks_resolve(struct probe *probe, struct error *error);
/* Take over the links that are pinned. */
void hooks_adopt(struct probe *probe);
/* Say which programs of `skel` are wanted: all that are resolved and have no link yet. */
void hooks_choose(const struct probe *probe, struct jobio_bpf *skel);
/* Load each wanted hook on its own, and give up those that the kernel refuses; all hooks on
 * functions, if it refuses those of reads and writes and nobody forces them. */
void hooks_try(struct probe *probe);
/* Attach what is loaded, and pin it if there is a folder. */
void hooks_attach(struct probe *probe);
/* Are the functions hooked, or at least not given up, through which reads and writes come? */
bool hooks_see_data(const struct probe *probe);
/* Use no fentry and fexit for calls: another backend is to count them. */
void hooks_replace(struct probe *probe);
/* How many functions are hooked by fentry, and how many could be. */
size_t hooks_attached(const struct probe *probe);
size_t hooks_resolved(const struct probe *probe);
void hooks_close(struct probe *probe);
/* Take over the link of a hook's side. */
void state_link(struct hook_state *state, int side, struct bpf_link *link);
/* Detach both sides; unpins them too. */
void state_unlink(struct hook_state *state);
void state_close(struct hook_state *state);

/* probe_kprobes.c: the functions by kprobe and kretprobe. All or none of them, because which call
 * is the outermost is known only to one backend. */

/* What this kernel's kprobes are good for. */
void kprobes_choose_kind(struct probe *probe, const struct btf *btf);
bool kprobes_have(size_t hook); /* programs for it */
/* Take over the links that are pinned. True: there are some. */
bool kprobes_adopt(struct probe *probe);
/* Load and attach all; how many functions are attached. */
size_t kprobes_attach(struct probe *probe);
/* Count by them; or give them up. */
void kprobes_use(struct probe *probe);
void kprobes_drop(struct probe *probe);
/* Bring hooks[].missed up to date: what the kernel could not give to the programs. */
void kprobes_read_missed(struct probe *probe);
/* What all of them count: they share two programs, and with them the misses. */
uint64_t kprobes_ops(const struct probe *probe);
void kprobes_close(struct probe *probe);

/* probe_syscalls.c: the backend of system calls, for the whole node. */

/* Take over its links, if they are pinned. True: then it counts. */
bool syscalls_adopt(struct probe *probe);
/* Load and attach it; if that fails, syscall_hooks[0].why says so. */
void syscalls_attach(struct probe *probe);

/* probe_account.c: totals. */
/* Ascending step numbers. */
void accounts_forget(struct probe *probe, const uint32_t *steps, size_t n);
void accounts_close(struct probe *probe);
/* Sorts the steps by number, and adds their longest waits and numbers of calls at the last reading.
 */
void accounts_sum(const struct probe *probe, struct probe_step *steps, size_t n);

#endif
