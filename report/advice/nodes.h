/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the nodes of a job, for rules. The job must have its nodes or its steps. */
#ifndef JOBIO_REPORT_ADVICE_NODES_H
#define JOBIO_REPORT_ADVICE_NODES_H

#include "common/job.h"

struct advice_slowest {
    const char *node; /* owned by the job; "": none stands out, or unknown */
    double factor;    /* how many times the median */
};

/* The node whose opens and stats on the mount took longest on average, among at least three that
 * made a hundred of them there. 0 or -ENOMEM. */
int advice_slowest_node(const struct job_account *job, const struct io_mount *mount,
                        struct advice_slowest *ret);

/* The wait of the node that waited most, of all its threads, over the mean of the nodes; 0: there
 * are fewer than two, or it is unknown. 0 or -ENOMEM. */
int advice_evenness(const struct job_account *job, double *ret);

#endif
