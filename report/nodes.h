/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of a job by node, and how evenly the nodes share the work. Pure functions. */
#ifndef JOBIO_REPORT_NODES_H
#define JOBIO_REPORT_NODES_H

#include <stddef.h>

#include "common/job.h"

struct node_sum {
    const char *node;           /* borrowed from the job */
    struct io_sums sums, shown; /* io_account_sums(), io_account_shown() */
    uint64_t longest_wait_ns;
};

/* The sum of opens and stats. Their cost does not depend on a size, as that of reads and writes
 * does, so it can be compared between nodes. */
struct io_sum nodes_look_ups(const struct io_account *io);

/* Append a node to job->nodes. Its mounts must already be in the sums of the job. 0 or -ENOMEM. */
int nodes_add(struct job_account *job, const char *node, const struct io_mounts *mounts,
              uint64_t longest_wait_ns);

/* The sums of each node, sorted by name, malloc'd: from job->nodes if there are any, else from the
 * steps. 0 or -ENOMEM. */
int nodes_sum(const struct job_account *job, struct node_sum **ret, size_t *n);

enum node_measure { NODE_READ_BYTES, NODE_WRITE_BYTES, NODE_META_REQUESTS, NODE_WAIT_NS };
#define NODE_MEASURES 4
/* "read_bytes", ... */
const char *node_measure_name(enum node_measure measure);
/* The maximum over the mean of `total` nodes, of which n are in the list: 1 means even, `total`
 * means that one node did everything. 0 if there are fewer than two nodes or nothing was done. */
double nodes_imbalance(const struct node_sum *nodes, size_t n, size_t total,
                       enum node_measure measure);

#endif
