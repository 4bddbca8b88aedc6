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

/* Only these calls cost the same whatever the program: reads and writes differ in size. */
struct io_sum nodes_look_ups(const struct io_account *io);

/* Remember what a node did, once its mounts are in the sums of the job. 0 or -ENOMEM. */
int nodes_add(struct job_account *job, const char *node, const struct io_mounts *mounts,
              uint64_t longest_wait_ns);

/* The sums of each node, by name, malloc'd; of the job's nodes if it has them, else over its steps.
 * 0 or -ENOMEM. */
int nodes_sum(const struct job_account *job, struct node_sum **ret, size_t *n);

enum node_measure { NODE_READ_BYTES, NODE_WRITE_BYTES, NODE_META_REQUESTS, NODE_WAIT_NS };
#define NODE_MEASURES 4
/* "read_bytes"... */
const char *node_measure_name(enum node_measure measure);
/* The largest over the mean of `total` nodes, of which n did something: 1 is even; as many as there
 * are nodes: one did all. 0: there are fewer than two nodes, or nothing was done. */
double nodes_imbalance(const struct node_sum *nodes, size_t n, size_t total,
                       enum node_measure measure);

#endif
