/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembles the accounts of jobs, as the store returns them, from rows of ClickHouse. */
#ifndef JOBIO_CLI_SOURCE_CLICKHOUSE_FOUND_H
#define JOBIO_CLI_SOURCE_CLICKHOUSE_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/job.h"

struct json_object;

/* A job that is assembled from rows, with the state of each node. */
struct found_job {
    struct job_account *job;
    void *nodes, *steps; /* trees of struct found_node, struct found_step */
    uint32_t n_nodes;
    struct io_mounts peaks; /* of the job, as reported by the node with the highest */
    uint64_t seen_ns;       /* it existed until then */
    bool ended;             /* a node reported the end */
};
void found_job_clear(struct found_job *f);

struct found_jobs {
    struct found_job *items;
    size_t n;
};
void found_clear(struct found_jobs *found);

/* Add a row. Rows must be in the order of ask_job.sql: only the last job may get more of them. A
 * negative errno with text. */
int found_take(struct found_jobs *found, struct json_object *row, struct error *error);
/* After its last row: completes f->job. -ENOMEM, -EBADMSG. */
int found_finish(struct found_job *f);

/* Jobs as a stream, so that one at a time is in memory: `each` gets a job when all of its rows are
 * read, may take f->job, and returns 0 or a negative errno with text. */
typedef int (*found_job_f)(struct found_job *f, void *arg, struct error *error);
struct found_stream {
    struct found_jobs found; /* the last one may get more rows */
    found_job_f each;
    void *arg;
};
void found_stream_clear(struct found_stream *stream);
/* found_stream_take() is found_take() with the stream as `arg`; call found_stream_end() after the
 * last row. */
int found_stream_take(struct json_object *row, void *arg, struct error *error);
int found_stream_end(struct found_stream *stream, struct error *error);

#endif
