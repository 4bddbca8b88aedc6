/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source of finished and running jobs: jobiod, the node's store or ClickHouse. All of them hand
 * out the structs of common/job.h and collector/store/store.h; JSON is read at their border only.
 * source_open() (cli/source/open.h) chooses one.
 */
#ifndef JOBIO_CLI_SOURCE_SOURCE_H
#define JOBIO_CLI_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/jobid.h"
#include "collector/store/array.h"
#include "collector/store/store.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/job.h"

/* Parts of an account that are large, and only there if requested. */
enum {
    SOURCE_STEPS = 1 << 0,
    SOURCE_TIMELINES = 1 << 1,
    SOURCE_STACKS = 1 << 2,
};

/* The account is valid until the call returns. A negative return, with text, stops the reading and
 * is returned. */
typedef int (*source_job_f)(const struct job_account *job, void *arg, struct error *error);

struct source;

/* Implemented by each kind of source; the functions below describe the calls. */
struct source_ops {
    int (*jobs)(struct source *source, const struct jobid *id, bool all, unsigned parts,
                struct job_account ***ret, struct error *error);
    int (*numbers)(struct source *source, const uint32_t *numbers, size_t n, source_job_f each,
                   void *arg, struct error *error);
    int (*history)(struct source *source, const struct history_filter *filter, history_f each,
                   void *arg, struct error *error);
    int (*array)(struct source *source, uint32_t array, const struct array_reader *reader,
                 struct error *error);
    void (*close)(struct source *source);
};

/* The first member of each implementation. */
struct source {
    const struct source_ops *ops;
    bool elsewhere; /* jobiod is not running here, and the last answer is from another host */
};

void source_close(struct source *source); /* NULL is fine */
DEFINE_CLEANUP(struct source, source_close)

/* The runs of a job, newest first; only the newest unless `all`. An array that ends in NULL, free
 * it with store_jobs_free(); empty: there is no such job, or the user may not see it. The step of
 * `id` is ignored. */
int source_jobs(struct source *source, const struct jobid *id, bool all, unsigned parts,
                struct job_account ***ret, struct error *error);
/* The newest run; free it with job_account_destroy(). -ENOENT with text: there is none. */
int source_job(struct source *source, const struct jobid *id, unsigned parts,
               struct job_account **ret, struct error *error);

/* All runs of these jobs, with their steps, in any order. Unknown numbers are skipped. */
int source_numbers(struct source *source, const uint32_t *numbers, size_t n, source_job_f each,
                   void *arg, struct error *error);

/* One call per row, in the order of the filter. filter->uid is ignored: the source knows its user.
 * A non-zero return of `each` stops it and is returned. -EPROTONOSUPPORT: the running jobiod is too
 * old for this filter. */
int source_history(struct source *source, const struct history_filter *filter, history_f each,
                   void *arg, struct error *error);

/* The tasks of an array and their sum. No task: there is no such array, or the user may not see
 * it. */
int source_array(struct source *source, uint32_t array, const struct array_reader *reader,
                 struct error *error);

#endif
