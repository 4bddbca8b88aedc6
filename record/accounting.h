/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's accounting: its ended jobs and their AdminComment. The functions query slurmdbd and wait
 * as long as libslurm does: the program needs its own time limit. */
#ifndef JOBIO_RECORD_ACCOUNTING_H
#define JOBIO_RECORD_ACCOUNTING_H

#include "common/error.h"
#include "record/ended_jobs.h"

struct accounting;

/* cluster: its name in slurmdbd. Call slurm_init first. -ENOTCONN. */
int accounting_open(struct accounting **ret, const char *cluster, struct error *error);
void accounting_close(struct accounting *accounting); /* NULL is fine */

/* Returns the name of the cluster from slurmctld, malloc'd; NULL with text on failure. */
char *accounting_cluster(struct error *error);

/* Add the runs that ended from `since` to `until` (seconds) and for which `wanted` is true. Queries
 * slices of time, so that neither slurmdbd nor this program holds all runs at once. */
int accounting_list(struct accounting *accounting, int64_t since, int64_t until,
                    bool (*wanted)(const struct ended_job *job, void *arg), void *arg,
                    struct ended_jobs *ret, struct error *error);

/* A job ID: 12, 12_3 (a task of an array) or 12+1 (a component of a heterogeneous job). */
struct accounting_id {
    uint32_t jobid;
    uint32_t task, offset; /* ENDED_NONE: not given */
};

/* -EINVAL with text. */
int accounting_parse_id(const char *text, struct accounting_id *ret, struct error *error);
/* The ID with which accounting_find finds the job. */
struct accounting_id accounting_id_of(const struct ended_job *job);
/* Add all runs of these jobs, whether they have ended or not. */
int accounting_find(struct accounting *accounting, const struct accounting_id *ids, size_t n,
                    struct ended_jobs *ret, struct error *error);

/* For all jobs with a `record`: put it into the comment, and commit. If a job cannot be changed, or
 * the change would affect other jobs, its record is dropped and `print_line` is called. */
int accounting_write(struct accounting *accounting, struct ended_jobs *jobs,
                     void (*print_line)(const char *line), struct error *error);

#endif
