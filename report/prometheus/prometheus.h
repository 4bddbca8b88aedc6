/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accounts of a node as Prometheus text (0.0.4): one Pushgateway group, a textfile, /metrics.
 */
#ifndef JOBIO_REPORT_PROMETHEUS_PROMETHEUS_H
#define JOBIO_REPORT_PROMETHEUS_PROMETHEUS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/job.h"

/* The mount points that are labels, sanitized, in order of appearance. Keep them from one body to
 * the next, so that the counters of a mount do not move to another label. */
#define PROMETHEUS_NAMES_MAX 32
struct prometheus_names {
    char *items[PROMETHEUS_NAMES_MAX]; /* owned */
    size_t n;
};
void prometheus_names_clear(struct prometheus_names *names);
/* Find or add the name. Returns its index, PROMETHEUS_NAMES_MAX if there is no room, or -ENOMEM. */
int prometheus_names_get(struct prometheus_names *names, const char *name);

/* A metric about jobio itself. */
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
    struct prometheus_names
        *names; /* from earlier bodies; new ones are added. NULL: only for this body */
    bool users; /* put user and account into jobio_job_info */
    /* metrics about jobio itself */
    uint64_t lost;
    const char *version;
    const char *plugin; /* the version of the plugin; NULL or "": unknown, no metric */
    const struct prometheus_family *families; /* written last; left out without samples */
    size_t n_families;
};

/* The body: malloc'd, ends in a newline; NULL on out-of-memory. Private mounts are aggregated by
 * file system type as "(private)". At most 32 mount points are labels: those in `names`, then the
 * first ones with a request in `totals`, then those of the jobs; the others are "(other)". Label
 * values are sanitized and escaped. Runs of the same job number are one job. */
char *report_prometheus(const struct prometheus_node *node);

#endif
