/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the NFS client: shared by the two files that load the programs and read their
 * counters. */
#ifndef JOBIO_COLLECTOR_PROBE_RPC_IMPL_H
#define JOBIO_COLLECTOR_PROBE_RPC_IMPL_H

#include "bpf/rpc_records.h"
#include "collector/probe/probe_impl.h"
#include "bpf/rpc.skel.h"

#define RPC_LINKS 8

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
    bool late;                  /* it was running when the programs were attached */
    bool unresolved;            /* at this reading: the file system of a request is not known */
    uint64_t lost;              /* rpc_lost when it started */
    struct rpc_elements before; /* the shared counters when it started */
};

struct rpc_probe {
    struct rpc_bpf *skel;
    struct bpf_link *links[RPC_LINKS];
    size_t n_links;
    void *steps; /* tsearch tree of struct rpc_step, by step */
    /* At this reading: */
    struct rpc_elements shared;
    struct rpc_client *clients;
    size_t n_clients, clients_room;
};

/* rpc_hooks.c */

/* -ENOTSUP or another errno: the requests cannot be counted on this kernel; nothing is attached. */
int rpc_hooks_open(struct rpc_probe *rpc, const struct probe *probe, struct error *error);
void rpc_hooks_close(struct rpc_probe *rpc);

#endif
