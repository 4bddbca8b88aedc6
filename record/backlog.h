/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes missing job records: Slurm rejects changes of jobs that end abnormally. Queries the nodes
 * of these jobs and writes the answers to the accounting. */
#ifndef JOBIO_RECORD_BACKLOG_H
#define JOBIO_RECORD_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "record/accounting.h"

struct backlog_options {
    const char *cluster; /* of slurm.conf and jobio.conf */
    const char *url;     /* see struct node_query_options */
    struct accounting_id *ids;
    size_t n_ids; /* 0: all jobs that ended in the last `since_s` */
    int64_t since_s, unknown_s, give_up_s;
    unsigned passes, parallel;
    uint64_t pause_ns, host_timeout_ns;
    bool dry_run; /* query the nodes, write nothing */
};

struct backlog_counts {
    size_t wanted;  /* jobs without a record, or with one that lacks nodes */
    size_t written; /* records of nodes */
    size_t marked;  /* records without an account */
    size_t left;    /* jobs that still have no record */
};

/* `print_line` gets a line of text for each failure after which the backlog went on. */
int backlog_run(const struct backlog_options *options, struct backlog_counts *ret,
                void (*print_line)(const char *line), struct error *error);

#endif
