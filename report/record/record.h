/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compact summary that Slurm keeps with the job: IO1:{...} in AdminComment. */
#ifndef JOBIO_REPORT_RECORD_RECORD_H
#define JOBIO_REPORT_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job.h"

#define RECORD_MAX 2048

/* `IO1:{...}` of at most RECORD_MAX bytes, the smallest mounts aggregated in `rest`; malloc'd,
 * NULL: out of memory. The peaks of `rest` are lower bounds: the larger of the mounts' own peaks
 * and the mean of their sum. mpi: with the reads and writes of MPI-IO, if they were counted. */
char *report_record(const struct job_account *job, bool mpi);

/* `comment` (may be NULL) with its IO1:{...} replaced by `record`, or with the record appended
 * after a space; everything else stays byte for byte. malloc'd. */
char *record_merge(const char *comment, const char *record);

/* The head of a record. restart: how often the job had been requeued; 0 if not given. */
struct record_head {
    bool complete;
    uint64_t nodes, nodes_expected;
    uint64_t restart;
};

/* Read the head of the record in `comment` (may be NULL). false: there is no record. */
bool record_head(const char *comment, struct record_head *ret);

/* A record for a job without an account: `why` instead of mounts. malloc'd. */
char *record_without_account(const struct record_head *head, uint64_t elapsed_s, const char *why);

/* The JSON object of the record in `comment`, malloc'd; NULL: no record, or out of memory. */
char *record_object(const char *comment);

/* The record as a table of at most 80 columns, sanitized. malloc'd; NULL: no record, or out of
 * memory. */
char *record_text(const char *comment);

#endif
