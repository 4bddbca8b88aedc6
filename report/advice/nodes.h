/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the nodes of a job, for rules. The job must have its nodes or its steps. */
#ifndef JOBIO_REPORT_ADVICE_NODES_H
#define JOBIO_REPORT_ADVICE_NODES_H

#include "common/job.h"

struct advice_slowest {
    const char *node; /* owned by the job; "": none stands out, or unknown */
    double factor;    /* how many times the median */
};

/* Find the node whose opens and stats on the mount took longest on average, among nodes with at
 * least 100 of them there; none if there are fewer than three such nodes. 0 or -ENOMEM. */
int advice_slowest_node(const struct job_account *job, const struct io_mount *mount,
                        struct advice_slowest *ret);

/* The longest wait of a node (all its threads) over the mean of the nodes; 0: fewer than two nodes,
 * or unknown. 0 or -ENOMEM. */
int advice_evenness(const struct job_account *job, double *ret);
/* The part of the written bytes that one node wrote, from 0 to 1; 0: fewer than two nodes, or
 * unknown. 0 or -ENOMEM. */
int advice_writer(const struct job_account *job, double *ret);

#endif
