/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many processes and threads read and wrote on a mount. */
#ifndef JOBIO_COMMON_USERS_H
#define JOBIO_COMMON_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io_op.h"

/* Those that made at least one request of IO_READS or IO_WRITES. If `processes` is 0, the number is
 * unknown, or there was no such request. */
struct io_users {
    uint64_t processes;
    uint64_t threads;
    bool at_least; /* the numbers are lower bounds */
};

/* The same numbers, and whether there were requests of this kind at all. */
struct io_usage {
    struct io_users users;
    bool any;
};

/* "readers", "writers". */
const char *io_user_kind_name(enum io_user_kind kind);
/* The operations of a kind (bit 1 << io_op). */
uint64_t io_user_kind_ops(enum io_user_kind kind);

/* The sum for processes of different steps or nodes, which differ. If one of the two is unknown,
 * the sum is a lower bound. */
struct io_users io_users_add(const struct io_usage *a, const struct io_usage *b);
/* The same for two super blocks of one step, whose processes may be the same: the larger number, a
 * lower bound. */
struct io_users io_users_merge(const struct io_usage *a, const struct io_usage *b);

#endif
