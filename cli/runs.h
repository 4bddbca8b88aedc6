/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of a job name: their rows of the history and their profiles. */
#ifndef JOBIO_CLI_RUNS_H
#define JOBIO_CLI_RUNS_H

#include "cli/base/jobid.h"
#include "cli/source/source.h"
#include "common/error.h"
#include "common/job.h"
#include "report/compare/profile.h"

struct run {
    struct history_row row;
    char *texts; /* owned; of the row */
    struct profile profile;
};
struct runs {
    struct run *items; /* owned; oldest first */
    size_t n;
};

/* The newest `limit` jobs of that name that have ended and started before `before_ns` (0: now).
 * user: a name or a number, or NULL for all users that the caller may see. since_ns 0: no limit. */
struct runs_wanted {
    const char *name, *user;
    uint64_t since_ns, before_ns;
    uint32_t limit;
};
int runs_get(struct source *source, const struct runs_wanted *wanted, struct runs *ret,
             struct error *error);
void runs_clear(struct runs *runs);

/* "123", "120_3" for a task of an array, "123 r1" for the first restart. Returns buf. */
char *runs_label(uint32_t jobid, uint32_t array_job, uint32_t array_task, uint32_t restart,
                 char buf[JOBID_TEXT]);

#endif
