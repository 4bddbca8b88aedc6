/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the NFS client: shared by the files that load the programs and read their
 * counters. */
#ifndef JOBIO_COLLECTOR_PROBE_RPC_IMPL_H
#define JOBIO_COLLECTOR_PROBE_RPC_IMPL_H

#include "bpf/rpc_records.h"
#include "collector/probe/probe_impl.h"
#include "bpf/rpc.skel.h"

#define RPC_LINKS 7

/* An element of `rpc_shared`. */
struct rpc_element {
    struct rpc_counter_key key;
    struct rpc_counter_value value;
};

struct rpc_elements {
    struct rpc_element *items;
    size_t n, room;
};

/* An element of `rpc_clients`. */
struct rpc_client {
    uint64_t address;
    struct rpc_client_record record;
};

/* A step whose requests are counted. */
struct rpc_step {
    uint32_t step;
    bool late;                  /* rpc_step_record.late */
    bool unresolved;            /* at this reading: the file system of a request is not known */
    uint64_t lost;              /* rpc_lost when it started */
    struct rpc_elements before; /* the shared counters when it started */
};

struct rpc_probe {
    struct rpc_bpf *skel;
    struct bpf_link *links[RPC_LINKS];
    size_t n_links;
    struct bpf_program *programs[RPC_LINKS];
    int program_fds[RPC_LINKS]; /* of `programs`, or of those that are adopted: owned */
    bool adopted;               /* an earlier process has attached the programs */
    bool pinned;                /* a later process takes them over */
    void *steps;                /* tsearch tree of struct rpc_step, by step */
    /* At this reading: */
    struct rpc_elements shared;
    struct rpc_client *clients;
    size_t n_clients, clients_room;
};

#define RPC_PINS "rpc_"

/* rpc_steps.c */

/* Make room for one more item. 0 or -ENOMEM. */
int rpc_grow(void **items, size_t n, size_t *room, size_t size);
/* NULL: there is none. */
const struct rpc_element *rpc_find_element(const struct rpc_elements *in,
                                           const struct rpc_counter_key *key);
int rpc_read_shared(const struct probe *probe, struct rpc_elements *ret, struct error *error);

/* NULL: there is none. */
struct rpc_step *rpc_steps_find(const struct rpc_probe *rpc, uint32_t step);
/* Count the step from now on, also in a later process; late: rpc_step_record.late. NULL on
 * out-of-memory. */
struct rpc_step *rpc_steps_add(const struct probe *probe, uint32_t step, bool late);
/* In this process. */
void rpc_steps_forget(struct rpc_probe *rpc, uint32_t step);
void rpc_steps_clear(struct rpc_probe *rpc);
/* Add the steps of an earlier process. 0 or -errno. */
int rpc_steps_load(struct rpc_probe *rpc, const struct probe *probe, struct error *error);

/* rpc_hooks.c */

/* Take over what an earlier process has pinned. Returns 1, or 0 if there is nothing. */
int rpc_hooks_adopt(struct rpc_probe *rpc, const struct probe *probe, struct error *error);
/* Load and attach the programs, and pin them if the probe is pinned and the kernel can do it.
 * -ENOTSUP or another errno: the requests cannot be counted on this kernel; nothing is attached. */
int rpc_hooks_open(struct rpc_probe *rpc, const struct probe *probe, struct error *error);
void rpc_hooks_close(struct rpc_probe *rpc);
/* Number of requests without room in the maps, and of those that the kernel did not report because
 * it had preempted the same program. Compare it with an earlier one. */
uint64_t rpc_lost(const struct probe *probe);

#endif
