/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of NFS requests (RPCs) on a mount. Sums saturate at UINT64_MAX. */
#ifndef JOBIO_COMMON_RPC_H
#define JOBIO_COMMON_RPC_H

#include <stdbool.h>
#include <stdint.h>

#include "common/rpc_class.h"

#define RPC_SUM_MEMBER(member) uint64_t member;
struct rpc_counter {
    RPC_SUMS(RPC_SUM_MEMBER)
};
#undef RPC_SUM_MEMBER

struct rpc_account {
    bool known;                              /* false: just reserved */
    struct rpc_counter own[RPC_CLASS_COUNT]; /* submitted by the tasks of the step */
    /* Submitted by kernel threads, for any process that uses the mount, while the step was running:
     * mostly writeback. */
    struct rpc_counter shared[RPC_CLASS_COUNT];
    bool incomplete;     /* some requests are missing */
    bool shared_at_most; /* steps that ran at the same time may have counted the same ones */
};

/* "read", ... */
const char *rpc_class_name(enum rpc_class class);
int rpc_class_parse(const char *name); /* the class or -EINVAL */
/* The class of a procedure, by the kernel's name for it ("GETATTR"). */
enum rpc_class rpc_class_of(const char *procedure);

bool rpc_counter_is_empty(const struct rpc_counter *counter);
void rpc_counter_add(struct rpc_counter *to, const struct rpc_counter *from);
/* The sum over all classes of `own` or `shared`. */
struct rpc_counter rpc_classes_sum(const struct rpc_counter classes[RPC_CLASS_COUNT]);

/* Create *to if it is NULL and `from` is not. 0 or -ENOMEM. */
int rpc_account_reserve(struct rpc_account **to, const struct rpc_account *from);
/* The sum for different steps, nodes or super blocks: to += from. Either may be NULL: not counted,
 * which makes the sum incomplete if that side has requests. Call rpc_account_reserve() before. */
void rpc_account_add(struct rpc_account *to, bool to_has_requests, const struct rpc_account *from,
                     bool from_has_requests);

#endif
