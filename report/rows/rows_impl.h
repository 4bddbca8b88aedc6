/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of the history sink as tables, for both directions. */
#ifndef JOBIO_REPORT_ROWS_ROWS_IMPL_H
#define JOBIO_REPORT_ROWS_ROWS_IMPL_H

#include <stddef.h>
#include <string.h>

#include "report/rows/rows.h"

enum sink_column_type {
    SINK_TEXT,
    SINK_U32,
    SINK_U64,
    SINK_BOOL, /* 0 or 1 */
};

struct sink_column {
    const char *name;
    enum sink_column_type type;
    size_t offset; /* in struct sink_row */
};
#define SINK_COLUMNS 59
extern const struct sink_column sink_columns[SINK_COLUMNS];

/* The numbers of an operation: of its counter, or of a peak. */
struct sink_op_values {
    const struct io_counter *counter;
    const struct io_peak *step_peak, *job_peak;
};
struct sink_op_column {
    const char *name;     /* a column of ClickHouse is op_NAME */
    size_t whose, offset; /* in struct sink_op_values, and in what that points to */
};
/* Copied, because a compiler may take it that nobody reads pointers as others than they are. */
static inline void *sink_op_of(const struct sink_op_values *values, size_t offset)
{
    void *pointer;

    memcpy(&pointer, (const char *)values + offset, sizeof(pointer));
    return pointer;
}
#define SINK_OP_COLUMNS 12
extern const struct sink_op_column sink_op_columns[SINK_OP_COLUMNS];

struct sink_histogram {
    const char *name;
    size_t offset; /* in struct io_counter */
};
#define SINK_HISTOGRAMS 2
extern const struct sink_histogram sink_histograms[SINK_HISTOGRAMS];

#endif
