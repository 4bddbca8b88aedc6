/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many processes and threads read and wrote on a mount. Users are these, not uids. */
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

/* "readers", "writers". */
const char *io_user_kind_name(enum io_user_kind kind);

/* The sums for processes of different steps or nodes, which differ: to += from, for each kind.
 * If one of the two is unknown, the sum is a lower bound. ops: the operations that have requests
 * (bit 1 << io_op), in the account of `to` and in that of `from`. */
void io_users_add(struct io_users to[IO_USER_KINDS], uint64_t ops,
                  const struct io_users from[IO_USER_KINDS], uint64_t from_ops);
/* The same for two super blocks of one step, whose processes may be the same: the larger number, a
 * lower bound. */
void io_users_merge(struct io_users to[IO_USER_KINDS], uint64_t ops,
                    const struct io_users from[IO_USER_KINDS], uint64_t from_ops);

#endif
