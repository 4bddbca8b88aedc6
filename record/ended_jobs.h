/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of the backlog: which runs of jobs want a record, and what to do with what their nodes
 * say. Pure functions. */
#ifndef JOBIO_RECORD_ENDED_JOBS_H
#define JOBIO_RECORD_ENDED_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENDED_NONE UINT32_MAX

enum ended_answer {
    ANSWER_NONE,    /* the node was not reached, or what it said was no answer */
    ANSWER_UNKNOWN, /* it has no such job */
    ANSWER_RUNS,    /* it has the record of a job that goes on for all that it knows */
    ANSWER_ENDED
};

enum ended_verdict {
    VERDICT_LATER, /* it stays in the backlog */
    VERDICT_WRITE, /* job->record is to be written: the node's */
    VERDICT_MARK,  /* job->record is to be written: that there is none */
    VERDICT_KEEP   /* there is nothing to do */
};

/* One run of a job: a row of Slurm's accounting. Times are seconds since 1970. */
struct ended_job {
    uint32_t jobid, uid;
    uint32_t array_job, array_task; /* array_task ENDED_NONE: none of an array */
    uint32_t het_job, het_offset;   /* het_offset ENDED_NONE: none of a heterogeneous job */
    uint32_t state;
    uint32_t restart; /* how often it had been requeued before */
    bool restart_known;
    bool resized;               /* the row of a job that went on with another size */
    int64_t submit, start, end; /* end 0: not yet */
    uint32_t nodes;
    char *host; /* where its batch script ran; NULL: it never ran */
    char *comment;
    enum ended_verdict verdict;
    char *record; /* to be written; NULL: nothing */
};

struct ended_jobs {
    struct ended_job *items;
    size_t n;
};

/* Frees what it owns. */
void ended_job_clear(struct ended_job *job);
/* *job is taken over, also on failure: -ENOMEM. */
int ended_jobs_add(struct ended_jobs *jobs, struct ended_job *job);
/* Frees what is in it; NULL is not fine. */
void ended_jobs_clear(struct ended_jobs *jobs);
/* By job and submission; where Slurm does not say it (before 23.11), restart is counted: the rows
 * before it that belong to the same job. All rows of a job must be there. */
void ended_jobs_order(struct ended_jobs *jobs);

/* Ages in seconds since the end of the job. */
struct ended_rules {
    int64_t now;
    int64_t unknown; /* from then on a job that its node does not know gets a mark */
    int64_t give_up; /* from then on nobody is asked for more, silence gets a mark, and what a node
                        has of a job that runs for all that it knows is written */
};

/* It has ended, ran somewhere, and has no record, or that of another run, or one that misses nodes
 * while they may still come. */
bool ended_wants_record(const struct ended_job *job, const struct ended_rules *rules);
/* It has a record of this run, though nodes may miss. */
bool ended_has_record(const struct ended_job *job);
/* Its comment, read again, has what makes job->record needless: a record of this run in which no
 * node is missing, or any if it was to be a mark. */
bool ended_is_settled(const struct ended_job *job);

/* Sets verdict and record. `record` of the answers that have one, else NULL. -ENOMEM. */
int ended_judge(struct ended_job *job, enum ended_answer answer, const char *record,
                const struct ended_rules *rules);

#endif
