/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of report_prometheus(). */
#ifndef JOBIO_REPORT_PROMETHEUS_PROMETHEUS_IMPL_H
#define JOBIO_REPORT_PROMETHEUS_PROMETHEUS_IMPL_H

#include <stdint.h>
#include <stdio.h>

#include "report/prometheus/prometheus.h"

/* Everything with the same labels, added up. The mounts are named by their labels. */
struct group {
    const struct job_account *job; /* the newest run of this number; NULL: the node's totals */
    uint64_t elapsed_ns;           /* of all runs of this number */
    bool missed;                   /* something of one of the runs is missing */
    struct io_mounts mounts;
};

struct page {
    FILE *out;
    char *where; /* owned: cluster="...",instance="..." */
    const struct prometheus_node *node;
    struct prometheus_names own, *names; /* the node's, or our own */
    struct group totals;
    struct group *jobs; /* owned */
    size_t n_jobs;
};

/* Write # HELP and # TYPE. */
void page_family(struct page *page, const char *name, const char *type, const char *help);
/* The value of a label, sanitized and escaped; malloc'd, NULL: out of memory. */
char *page_escape(const char *value);
/* Write ,name="value", escaped. 0 or -ENOMEM. */
int page_label(FILE *out, const char *name, const char *value);
void page_u64(FILE *out, uint64_t value); /* and a newline */
void page_seconds(FILE *out, uint64_t ns);

/* The families with one sample per job, without mounts. 0 or -ENOMEM. */
int page_jobs(struct page *page);

#endif
