/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job by node: the sums of each, and how evenly they share the work. Pure functions. */
#ifndef JOBIO_REPORT_NODES_H
#define JOBIO_REPORT_NODES_H

#include <stddef.h>

#include "common/job.h"

struct node_sum {
    const char *node; /* the job's */
    struct io_sum reads, writes, meta, all;
    uint64_t longest_wait_ns;
};

/* The sums of each node over its steps, in the order in which they come, malloc'd; needs the steps of
 * the job. 0 or -ENOMEM. */
int nodes_sum(const struct job_account *job, struct node_sum **ret, size_t *n);

enum node_measure { NODE_READ_BYTES, NODE_WRITE_BYTES, NODE_META_REQUESTS, NODE_WAIT_NS };
#define NODE_MEASURES 4
/* "read_bytes"... */
const char *node_measure_name(enum node_measure measure);
/* The largest over the mean of `total` nodes, of which n did something: 1 is even; as many as there are
 * nodes: one did all. 0: there are fewer than two nodes, or nothing was done. */
double nodes_imbalance(const struct node_sum *nodes, size_t n, size_t total,
                       enum node_measure measure);

#endif
