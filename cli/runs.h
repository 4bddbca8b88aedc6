/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of a job name: what the history has of them, and what each did by mount. */
#ifndef JOBIO_CLI_RUNS_H
#define JOBIO_CLI_RUNS_H

#include "cli/base/cli.h"
#include "cli/base/jobid.h"
#include "collector/store/store.h"
#include "common/error.h"
#include "common/job.h"
#include "report/compare/profile.h"

struct json_object;

struct run {
    struct history_row row; /* its texts belong to `rows` */
    struct profile profile;
};
struct runs {
    struct run *items; /* owned; oldest first */
    size_t n;
    struct json_object *rows; /* owned */
};

/* The newest `limit` jobs of that name that ended and began before `before_ns` (0: now). user: a
 * name or a number, or NULL for all whom the caller may see. since_ns 0: ever. */
struct runs_wanted {
    const char *name, *user;
    uint64_t since_ns, before_ns;
    uint32_t limit;
};
int runs_get(const struct cli *cli, const struct runs_wanted *wanted, struct runs *ret,
             struct error *error);
void runs_clear(struct runs *runs);

/* The newest run of a job: its document (json_object_put it) and its account (destroy it). -ENOENT
 * with text: nobody knows it, or not for the caller's eyes. */
int runs_job(const struct cli *cli, const struct jobid *id, struct json_object **document,
             struct job_account **job, struct error *error);

/* "123", "120_3" of a task of an array, "123 r1" of the first restart. Returns buf. */
char *runs_label(uint32_t jobid, uint32_t array_job, uint32_t array_task, uint32_t restart,
                 char buf[JOBID_TEXT]);

#endif
