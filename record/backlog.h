/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the records that jobs lack because Slurm refuses to change a job that ends badly: asks the
 * nodes and puts the answers into the accounting. */
#ifndef JOBIO_RECORD_BACKLOG_H
#define JOBIO_RECORD_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "record/accounting.h"

struct backlog_options {
    const char *cluster; /* of slurm.conf and jobio.conf */
    const char *url;     /* see struct ask_options */
    struct accounting_id *ids;
    size_t n_ids; /* 0: all jobs that ended in the last `since_s` */
    int64_t since_s, unknown_s, give_up_s;
    unsigned passes, parallel;
    uint64_t pause_ns, host_timeout_ns;
    bool dry_run; /* ask, write nothing */
};

struct backlog_counts {
    size_t wanted;  /* jobs without a record, or with one that missed nodes */
    size_t written; /* records of nodes */
    size_t marked;  /* records that say that there is none */
    size_t left;    /* jobs that have none */
};

/* `say` gets a line of text for each thing that went wrong and was gone around. */
int backlog_run(const struct backlog_options *options, struct backlog_counts *ret,
                void (*say)(const char *line), struct error *error);

#endif
