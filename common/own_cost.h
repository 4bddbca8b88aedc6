/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counting cost a job, estimated from its account. The unit is the cost of a counted read of
 * the page cache, which the self-test of each node measures (job_account.ns_per_event). What the
 * other events cost in this unit hardly depends on the machine, because most of it is how many
 * programs run; it depends on the backend.
 */
#ifndef JOBIO_COMMON_OWN_COST_H
#define JOBIO_COMMON_OWN_COST_H

#include <stdint.h>

struct job_account;

/* CPU time, programs that are attached but do not count included; 0: unknown. The account does not
 * have all events that cost time. `low` has only those that are in it; `high` assumes as many reads
 * and writes of pipes, sockets and devices as of files, and with system calls as many other calls.
 * NFS requests, calls of MPI-IO, block requests, and spans and stacks that `jobio run` recorded
 * have ranges of their own. Traces of jobiod are not included. It is not a bound: see
 * doc/performance.md. */
struct own_cost {
    uint64_t low_ns, high_ns;
};
struct own_cost own_cost_of(const struct job_account *job);

#endif
