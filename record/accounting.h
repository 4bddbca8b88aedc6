/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's accounting: the ended jobs in it and their AdminComment. Every call asks slurmdbd and
 * waits for it as long as libslurm does: the program needs a time limit of its own. */
#ifndef JOBIO_RECORD_ACCOUNTING_H
#define JOBIO_RECORD_ACCOUNTING_H

#include "common/error.h"
#include "record/ended_jobs.h"

struct accounting;

/* cluster: as slurmdbd knows it. slurm_init must have been called. -ENOTCONN. */
int accounting_open(struct accounting **ret, const char *cluster, struct error *error);
void accounting_close(struct accounting *accounting); /* NULL is fine */

/* Of slurmctld, malloc'd; NULL and the error: -ENOTCONN. */
char *accounting_cluster(struct error *error);

/* Add the runs that ended from `since` to `until` (seconds). Few at a time are asked for, so that
 * neither slurmdbd nor this program ever holds them all: those that `wanted` (ended_wants_record
 * with what is known so far) refuses are dropped. */
int accounting_list(struct accounting *accounting, int64_t since, int64_t until,
                    bool (*wanted)(const struct ended_job *job, void *arg), void *arg,
                    struct ended_jobs *ret, struct error *error);

/* A job as people write it: 12, 12_3 (a task of an array), 12+1 (part of a heterogeneous job). */
struct accounting_id {
    uint32_t jobid;
    uint32_t task, offset; /* ENDED_NONE: not said */
};

/* -EINVAL with text. */
int accounting_parse_id(const char *text, struct accounting_id *ret, struct error *error);
/* What to look the job up by. */
struct accounting_id accounting_id_of(const struct ended_job *job);
/* Add all runs of these jobs that the accounting has, whether they have ended or not. */
int accounting_find(struct accounting *accounting, const struct accounting_id *ids, size_t n,
                    struct ended_jobs *ret, struct error *error);

/* Put `record` into the comments of those jobs that have one, and commit. A job that cannot be
 * changed, or not alone, is left as it is, and its record is dropped: `say` gets a line. */
int accounting_write(struct accounting *accounting, struct ended_jobs *jobs,
                     void (*say)(const char *line), struct error *error);

#endif
