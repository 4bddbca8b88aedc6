/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accounts of a node as Prometheus text (0.0.4): one Pushgateway group, a textfile, /metrics.
 */
#ifndef JOBIO_REPORT_PROMETHEUS_PROMETHEUS_H
#define JOBIO_REPORT_PROMETHEUS_PROMETHEUS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/job.h"

/* The mount points that keep their name as a label, in the order in which they came; sanitized. Who
 * keeps it from body to body keeps counters from moving between names. */
#define PROMETHEUS_NAMES_MAX 32
struct prometheus_names {
    char *items[PROMETHEUS_NAMES_MAX]; /* owned */
    size_t n;
};
void prometheus_names_clear(struct prometheus_names *names);
/* The place of the name, which is taken in if there is room; PROMETHEUS_NAMES_MAX: there is none;
 * -ENOMEM. */
int prometheus_names_get(struct prometheus_names *names, const char *name);

/* One more family about jobio itself, of integers and seconds. */
struct prometheus_sample {
    const char *value; /* of the family's label; sanitized and escaped */
    double number;
};
struct prometheus_family {
    const char *name, *type, *help;
    const char *label; /* NULL: none */
    const struct prometheus_sample *samples;
    size_t n;
};

struct prometheus_node {
    const char *cluster, *instance;
    const struct io_mounts *totals;        /* jobio_node_*: finished and running steps */
    const struct job_account *const *jobs; /* running, and ended ones still in the window */
    size_t n_jobs;
    struct prometheus_names *names; /* of earlier bodies, new ones are added; NULL: of this one */
    bool users;                     /* user and account in jobio_job_info */
    /* metrics about jobio itself */
    uint64_t lost;
    const char *version;
    const struct prometheus_family *families; /* behind the others; without samples: left out */
    size_t n_families;
};

/* The body, malloc'd, ends in a newline; NULL: no memory. Metric names, labels, the folding of
 * private mounts by type, and the 32-name limit: after the names that there are, the first ones of
 * `totals` with a request, then of the jobs, keep theirs. Label values are sanitized and escaped;
 * runs of one job number are one job. */
char *report_prometheus(const struct prometheus_node *node);

#endif
