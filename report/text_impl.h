/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the short and the full summary and the record have in common. */
#ifndef JOBIO_REPORT_TEXT_IMPL_H
#define JOBIO_REPORT_TEXT_IMPL_H

#include <stdio.h>

#include "common/job.h"
#include "common/units.h"

#define TEXT_COLUMNS 80

/* A mount with its sums, worked out once. */
struct text_row {
    const struct io_mount *mount;
    struct io_sum reads, writes, meta, all;
    uint64_t read_peak, write_peak; /* bytes/s; 0: not known */
    uint64_t sizes[IO_BUCKETS];     /* of reads and writes */
};

/* The job, its mounts in the order of the summary, and their sums. */
struct text_job {
    const struct job_account *job;
    struct text_row *rows; /* owned */
    size_t n;
    struct text_row total;
    uint64_t wait_ns; /* of the longest thread, at most the elapsed time */
};

/* to += from; peaks by maximum. */
void text_row_add(struct text_row *to, const struct text_row *from);

/* 0 or -ENOMEM. */
int text_job_make(const struct job_account *job, struct text_job *ret);
void text_job_clear(struct text_job *t);

/* The job's waiting % split by this part of all wait, from 0 to 100. */
double text_waiting(const struct text_job *t, uint64_t time_ns);
/* "-", "<1%", "37%". */
char *text_waiting_short(const struct text_job *t, uint64_t time_ns, char buf[UNITS_SIZE]);
/* A bucket's upper bound in a narrow column: "-" for none, "64K", ">1G". */
char *text_size(uint64_t bound, char buf[UNITS_SIZE]);

/* "I/O summary: job 4711, ...", one line. */
void text_title(FILE *out, const struct text_job *t);
/* The table's header, and a line for each of the first `limit` rows and one for all others. */
void text_table(FILE *out, const struct text_job *t, size_t limit);
/* "complete: ...", or what is missing in words, in at most `lines` lines. */
void text_completeness(FILE *out, const struct job_account *job, size_t lines);
/* A line for each of the first `limit` steps; nothing for a job without any. */
void text_steps(FILE *out, const struct job_account *job, size_t limit);
/* The parts of the full summary. */
void text_full(FILE *out, const struct text_job *t);

#endif
