/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the short and the full summary share. */
#ifndef JOBIO_REPORT_TEXT_TEXT_IMPL_H
#define JOBIO_REPORT_TEXT_TEXT_IMPL_H

#include <stdio.h>

#include "common/job.h"
#include "common/units.h"
#include "report/summary/summary.h"
#include "report/text/text.h"

#define TEXT_COLUMNS 80

/* A summary that is being written. */
struct text {
    struct io_summary s;
    struct text_style style;
};

/* How wide it may be: that of the style, at least 30; and whether that is less than 80. */
size_t text_columns(const struct text *t);
bool text_is_narrow(const struct text *t);

/* The kind of a line, which selects its colour. */
enum text_paint { TEXT_PLAIN, TEXT_TITLE, TEXT_GOOD, TEXT_HINT, TEXT_BAD };

/* Lines as layout_wrap() writes them, in the style of the job. */
void text_lines(FILE *out, const struct text *t, enum text_paint paint, const char *text,
                size_t lines);

/* "-", "<1%", "37%". */
char *text_waiting_short(const struct text *t, uint64_t time_ns, char buf[UNITS_SIZE]);

/* How many lines a text has; 0 for NULL. */
size_t text_count_lines(const char *text);
/* "4711 of ada, ended": the job, its user if known, and its state; malloc'd. NULL: out of memory.
 */
char *text_who(const struct job_account *job);
/* "I/O summary: job 4711 of ada, ended, ...", one line. */
void text_title(FILE *out, const struct text *t);
/* The table's header, and a line for each of the first `limit` rows and one for all others. */
void text_table(FILE *out, const struct text *t, size_t limit);
/* What I/O cost the job, in at most two lines; nothing if it is unknown. */
void text_verdict(FILE *out, const struct text *t);
/* The notes about errors, and all others, as far as they fit in `lines` lines. */
void text_errors(FILE *out, const struct text *t, size_t lines);
void text_notes(FILE *out, const struct text *t, size_t lines);
/* "complete: ...", or what is missing in words, in at most `lines` lines. */
void text_completeness(FILE *out, const struct text *t, size_t lines);
/* A line for each of the first `limit` nodes, and how evenly they share the work; nothing if fewer
 * than `least` are known. */
void text_nodes(FILE *out, const struct text *t, size_t least, size_t limit);
/* A line for each of the first `limit` steps; nothing for a job without any. */
void text_steps(FILE *out, const struct text *t, size_t limit);
/* What MPI-IO cost the job, in at most `lines` lines; nothing if it is little. */
void text_mpi_cost(FILE *out, const struct text *t, size_t lines);
/* An empty line, and the table of MPI-IO. */
void text_mpi(FILE *out, const struct text *t);
/* An empty line, and the table of block requests; nothing if they were not counted. */
void text_block(FILE *out, const struct text *t);
/* The parts of the full summary. */
void text_full(FILE *out, const struct text *t);

#endif
