/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the probe share. */
#ifndef JOBIO_COLLECTOR_PROBE_INTERNAL_H
#define JOBIO_COLLECTOR_PROBE_INTERNAL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/records.h"
#include "bpf/hooks.h"
#include "bpf/jobio.skel.h"
#include "collector/probe.h"

/* The two programs of a hook. */
enum { SIDE_ENTER, SIDE_LEAVE, SIDE_COUNT };

struct hook_state {
    struct bpf_link *links[SIDE_COUNT];
    int programs[SIDE_COUNT]; /* owned descriptors, -1: none */
};

struct probe {
    struct jobio_bpf *skel;
    char *folder; /* owned; of this layout's pins; NULL: nothing is pinned */
    bool adopted;
    struct hook_state state[HOOK_COUNT];
    struct probe_hook hooks[HOOK_COUNT];
    struct hook_slots slots[HOOK_COUNT];
    struct ring_buffer *ring;
    void *accounts; /* tsearch tree of struct tally, by step and dev */
    probe_mount_f sighting;
    void *sighting_arg;
};

/* probe_maps.c: hashes as a whole. */

/* One call an element. A non-zero return of `each` ends it and is returned. */
typedef int (*map_each_f)(const void *key, const void *value, void *arg);
int map_each(const struct bpf_map *map, map_each_f each, void *arg, struct error *error);
/* Delete all elements whose key begins with this step number. */
int map_drop_step(const struct bpf_map *map, uint32_t step, struct error *error);
/* Open what an earlier process pinned in the folder. 1: all maps are adopted, 0: none is there, or
 * a remainder, which is removed. */
int maps_adopt(struct jobio_bpf *skel, const char *folder, struct error *error);
int maps_pin(struct jobio_bpf *skel, const char *folder, struct error *error);
/* Remove the folder and its pins. 0 also if there is none. */
int maps_unpin(const char *folder, struct error *error);

/* probe_hooks.c: what the kernel has, and the links. */

/* Look every hook up in the kernel's BTF; what is missing is said in hooks[].why. */
int hooks_resolve(struct probe *probe, struct error *error);
/* Take over the links that are pinned. */
void hooks_adopt(struct probe *probe);
/* Say which programs of `skel` are wanted: all that are resolved and have no link yet. */
void hooks_choose(const struct probe *probe, struct jobio_bpf *skel);
/* Load each wanted hook on its own, and give up those that the kernel refuses. */
void hooks_try(struct probe *probe);
/* Attach what is loaded, and pin it if there is a folder. */
void hooks_attach(struct probe *probe);
void hooks_close(struct probe *probe);

/* probe_account.c: totals. */
void accounts_forget(struct probe *probe, uint32_t step);
void accounts_close(struct probe *probe);
/* The step's longest wait and number of calls at the last reading. */
void accounts_sum(const struct probe *probe, struct probe_step *step);

#endif
