/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the history sink: one for each mount of a finished step on a node (a single one with
 * an empty mount if the step used none). The rows of a step repeat the columns of the step and of
 * its job. doc/history.md describes the columns.
 */
#ifndef JOBIO_REPORT_ROWS_ROWS_H
#define JOBIO_REPORT_ROWS_ROWS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/job.h"

struct json_object;

/* The formats, and their words in jobio.conf.
 * SINK_CLICKHOUSE: JSONEachRow; the operations, classes and the time line in arrays.
 * SINK_BULK: Elasticsearch's _bulk; the operations and classes in objects, a line of action before
 * each row. */
#define SINK_FORMATS(FORMAT)              \
    FORMAT(SINK_CLICKHOUSE, "clickhouse") \
    FORMAT(SINK_BULK, "bulk")

#define SINK_FORMAT_ENUM(format, word) format,
enum sink_format { SINK_FORMATS(SINK_FORMAT_ENUM) };
#undef SINK_FORMAT_ENUM

/* "clickhouse, bulk" */
#define SINK_FORMAT_WORD(format, word) ", " word
#define SINK_FORMAT_WORDS (&(SINK_FORMATS(SINK_FORMAT_WORD))[2])

/* The format of a word, or -EINVAL. */
int sink_format_parse(const char *text);
const char *sink_format_name(enum sink_format format);

/* A row without its operations, classes and time line. Strings are borrowed; NULL is written as
 * "". */
struct sink_row {
    const char *cluster, *node, *mount, *fstype, *source;
    uint32_t jobid, restart, het, step;
    uint64_t tagged_at_ns, version;
    bool private, labelled;
    const char *user, *account, *partition, *name;
    uint32_t array_job, array_task;           /* array_job 0: not an array */
    const char *job_incomplete, *unsupported; /* JSON, as in the store */
    uint32_t uid, nodes_expected;
    bool job_ended;
    const char *slurm_state; /* "": not known */
    uint32_t exit_code, exit_signal;
    bool exit_known;
    uint64_t start_ns, end_ns, job_elapsed_ns, job_longest_wait_ns, job_lost, ns_per_event;
    const char *step_name, *state, *incomplete;
    uint32_t folded;
    uint64_t elapsed_ns, longest_wait_ns, lost;
    const char *mpi_incomplete; /* as in the store: "": not counted; "[]": nothing is missing */
    struct io_users users[IO_USER_KINDS];
    bool rpc_counted, rpc_incomplete, rpc_shared_at_most;
    bool block_counted, block_incomplete, block_shared_at_most; /* of the step */
    struct io_sums sums;
    struct io_cache cache;
};

struct sink_row_options {
    enum sink_format format;
    const char *index;  /* bulk: _index of the rows; NULL: the one of the URL */
    const char *action; /* bulk: "index" (the newest version wins) or "create" (the first) */
};

/* Write the rows of the first step of the job, one line per row (bulk: two). `version` must grow
 * whenever the step is written again. *rows: number of rows. 0 or -ENOMEM. */
int sink_row_write(FILE *out, const struct job_account *job, uint64_t version,
                   const struct sink_row_options *options, unsigned *rows);

/* The operations, classes and the time line of a row. */
struct sink_io {
    struct io_account io;
    struct io_peak step_peaks[IO_OP_COUNT], job_peaks[IO_OP_COUNT];
    struct timeline timeline;
    struct mpi_account *mpi;     /* owned; NULL: not counted */
    struct rpc_account *rpc;     /* owned; NULL: not NFS, or not counted */
    struct block_account *block; /* owned; NULL: not counted */
};
void sink_io_clear(struct sink_io *io);

/* Read a row of ClickHouse. Strings belong to the document; missing columns are 0 or "". `io` must
 * be empty; clear it even after a failure. -EBADMSG with text, -ENOMEM. */
int sink_row_parse(struct json_object *document, struct sink_row *ret, struct sink_io *io,
                   struct error *error);

/* The original text of an escaped one from a sink; it belongs to `value`. NULL for null. */
const char *sink_text_parse(struct json_object *value);

#endif
