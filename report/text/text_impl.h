/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the short and the full summary and the record have in common. */
#ifndef JOBIO_REPORT_TEXT_TEXT_IMPL_H
#define JOBIO_REPORT_TEXT_TEXT_IMPL_H

#include <stdio.h>

#include "common/job.h"
#include "common/units.h"
#include "report/advice/advice.h"
#include "report/text/text.h"

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
    struct text_style style;
};

/* How wide it may be: that of the style, at least 30; and whether that is less than 80. */
size_t text_columns(const struct text_job *t);
bool text_is_narrow(const struct text_job *t);

/* What a line means, for the eye. */
enum text_paint { TEXT_PLAIN, TEXT_TITLE, TEXT_GOOD, TEXT_HINT, TEXT_BAD };

/* Lines as layout_wrap() writes them, in the style of the job. */
void text_lines(FILE *out, const struct text_job *t, enum text_paint paint, const char *text,
                size_t lines);

/* to += from; peaks by maximum. */
void text_row_add(struct text_row *to, const struct text_row *from);

/* 0 or -ENOMEM. */
int text_job_make(const struct job_account *job, struct text_job *ret);
void text_job_clear(struct text_job *t);

/* The job's waiting % split by this part of all wait, from 0 to 100. */
double text_waiting(const struct text_job *t, uint64_t time_ns);
/* The time of many threads, which may be long: "-", "3.4 ms", "17 min", "27.8 h", "5.1M h". */
const char *text_time(uint64_t ns, char buf[UNITS_SIZE]);
/* "-", "<1%", "37%". */
char *text_waiting_short(const struct text_job *t, uint64_t time_ns, char buf[UNITS_SIZE]);

/* "4711", of a task of an array "4700_3 (4711)". Returns buf. */
#define TEXT_NUMBER 40
char *text_job_number(const struct job_account *job, char buf[TEXT_NUMBER]);
/* "I/O summary: job 4711, ...", one line. */
void text_title(FILE *out, const struct text_job *t);
/* The table's header, and a line for each of the first `limit` rows and one for all others. */
void text_table(FILE *out, const struct text_job *t, size_t limit);
/* What was read and written by mapped files, which is in no column of the table, if it is much.
 * malloc'd; NULL: it is not, or no memory. */
char *text_mapped_line(const struct text_job *t);
/* Neither one thread nor all of them together waited for a 20th of the run time. */
bool text_is_harmless(const struct text_job *t);
/* What I/O cost the job, in at most two lines; nothing where nobody knows. */
void text_verdict(FILE *out, const struct text_job *t);
/* The notes about errors, and all others, as far as they fit in `lines` lines. */
void text_errors(FILE *out, const struct text_job *t, size_t lines);
void text_notes(FILE *out, const struct text_job *t, size_t lines);
/* "complete: ...", or what is missing in words, in at most `lines` lines. */
void text_completeness(FILE *out, const struct text_job *t, size_t lines);
/* The same as one line, malloc'd; NULL: no memory. */
char *text_completeness_line(const struct job_account *job);
/* The verdict as one line, malloc'd; NULL: nothing to say, or no memory. */
char *text_verdict_line(const struct text_job *t);
/* What was asynchronous and how much was in order, of a struct io_account, and what the page cache
 * did, of a struct io_mount: a line behind two spaces, or nothing. */
void text_async_line(FILE *out, const void *account);
void text_order_line(FILE *out, const void *account);
void text_cache_line(FILE *out, const void *mount);
/* A line for each of the first `limit` nodes, and how evenly they share the work; nothing where
 * fewer than `least` are known. */
void text_nodes(FILE *out, const struct text_job *t, size_t least, size_t limit);
/* A line for each of the first `limit` steps; nothing for a job without any. */
void text_steps(FILE *out, const struct text_job *t, size_t limit);
/* The parts of the full summary. */
void text_full(FILE *out, const struct text_job *t);

#endif
