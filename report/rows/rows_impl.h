/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of the history sink as tables, for writing and reading. */
#ifndef JOBIO_REPORT_ROWS_ROWS_IMPL_H
#define JOBIO_REPORT_ROWS_ROWS_IMPL_H

#include <stddef.h>

#include "report/rows/rows.h"

struct tree;

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
/* The columns of the job and the step. Those of io_sum_columns and io_cache_columns follow. */
#define SINK_COLUMNS 54
extern const struct sink_column sink_columns[SINK_COLUMNS];

/* The peaks of an operation: of the step, and of the whole job. Column op_NAME in ClickHouse. */
enum sink_peak_of { SINK_PEAK_STEP, SINK_PEAK_JOB, SINK_PEAK_COUNT };
struct sink_peak {
    const char *name;
    enum sink_peak_of of;
    size_t offset; /* in struct io_peak */
};
#define SINK_PEAKS 4
extern const struct sink_peak sink_peaks[SINK_PEAKS];

/* The store and the sinks have signed 64-bit numbers. */
struct json_object *rows_number_json(uint64_t number);
/* Without the zeros at the end. */
struct json_object *rows_histogram_json(struct tree *tree, const uint64_t buckets[IO_BUCKETS]);
/* NULL is an empty one. 0 or -EBADMSG. */
int rows_histogram_parse(struct json_object *value, uint64_t buckets[IO_BUCKETS]);

/* Columns for the classes that have calls or requests. Either account may be NULL. */
void rows_put_mpi(struct tree *tree, struct json_object *root, enum sink_format format,
                  const struct mpi_account *account);
void rows_put_rpc(struct tree *tree, struct json_object *root, enum sink_format format,
                  const struct rpc_account *account);
void rows_put_block(struct tree *tree, struct json_object *root, enum sink_format format,
                    const struct block_account *account);
/* Fill the counters of an empty account. 0, -EBADMSG or -ENOMEM. */
int rows_parse_mpi(struct json_object *document, struct mpi_account *account);
int rows_parse_rpc(struct json_object *document, struct rpc_account *account);
int rows_parse_block(struct json_object *document, struct block_account *account);

#endif
