/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accounts of a node as Prometheus text (0.0.4): one Pushgateway group, a textfile, /metrics. */
#ifndef JOBIO_REPORT_PROMETHEUS_H
#define JOBIO_REPORT_PROMETHEUS_H

#include <stdbool.h>

#include "common/job.h"

struct prometheus_node {
    const char *cluster, *instance;
    const struct io_mounts *totals;         /* jobio_node_*: finished and running steps */
    const struct job_account *const *jobs;  /* running, and ended ones still in the window */
    size_t n_jobs;
    bool users; /* user and account in jobio_job_info */
    /* metrics about jobio itself */
    uint64_t lost;
    const char *version;
};

/* The body, malloc'd, ends in a newline; NULL: no memory. Metric names, labels, the folding of
 * private mounts by type, and the 32-name limit: the first names of `totals`, then of the jobs, keep
 * theirs. Label values are sanitized and escaped; runs of one job number are one job. */
char *report_prometheus(const struct prometheus_node *node);

#endif
