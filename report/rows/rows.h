/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the history sink gets: a row for each mount of a finished step on a node (one with an empty
 * mount for a step that touched none). Rows of one step repeat what is known of the step and of its
 * job. doc/history.md has the columns.
 */
#ifndef JOBIO_REPORT_ROWS_ROWS_H
#define JOBIO_REPORT_ROWS_ROWS_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/job.h"

struct json_object;

enum sink_format {
    SINK_CLICKHOUSE, /* JSONEachRow: the operations, and the time line, in arrays */
    SINK_BULK, /* Elasticsearch's _bulk: the operations in objects, a line of action before each
                * row */
};

/* "clickhouse", "bulk"; the format or -EINVAL. */
int sink_format_parse(const char *text);
const char *sink_format_name(enum sink_format format);

/* All but the operations and the time line. Strings are borrowed; NULL is written as an empty one.
 */
struct sink_row {
    const char *cluster, *node, *mount, *fstype, *source;
    uint32_t jobid, restart, het, step;
    uint64_t tagged_at_ns, version;
    bool private, labelled;
    const char *user, *account, *partition, *name;
    uint32_t array_job, array_task;           /* array_job 0: a task of no array */
    const char *job_incomplete, *unsupported; /* JSON, as the store keeps it */
    uint32_t uid, nodes_expected;
    bool job_ended;
    uint64_t start_ns, end_ns, job_elapsed_ns, job_longest_wait_ns, job_lost, ns_per_event;
    const char *step_name, *state, *incomplete;
    uint32_t folded;
    uint64_t elapsed_ns, longest_wait_ns, lost;
    struct io_sums sums;
    struct io_cache cache;
};

struct sink_row_options {
    enum sink_format format;
    const char *index;  /* bulk: the _index of the rows; NULL: that of the URL */
    const char *action; /* bulk: "index" (the newest version wins) or "create" (the first) */
};

/* Write the rows of the job's one step, a line each (bulk: two). `version` grows whenever the step
 * is written anew. *rows: how many. 0 or -ENOMEM. */
int sink_row_write(FILE *out, const struct job_account *job, uint64_t version,
                   const struct sink_row_options *options, unsigned *rows);

/* What a row has of its mount beyond the sums. */
struct sink_io {
    struct io_account io;
    struct io_peak step_peaks[IO_OP_COUNT], job_peaks[IO_OP_COUNT];
    struct timeline timeline;
};
void sink_io_clear(struct sink_io *io);

/* The reverse, for a row as ClickHouse gives it. Strings belong to the document; what is absent is
 * 0 or "". Fills `io`, too, which is empty before; clear it also when this fails. -EBADMSG with
 * text, -ENOMEM. */
int sink_row_parse(struct json_object *document, struct sink_row *ret, struct sink_io *io,
                   struct error *error);

/* A text of a sink as it was before it was sent; it belongs to `value`. NULL for null. */
const char *sink_text_parse(struct json_object *value);

#endif
