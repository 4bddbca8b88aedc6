/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of ended jobs and the rules of the backlog: which runs want a record, and what to do
 * with the answers of their nodes. Pure functions. */
#ifndef JOBIO_RECORD_ENDED_JOBS_H
#define JOBIO_RECORD_ENDED_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENDED_NONE UINT32_MAX

enum ended_answer {
    ANSWER_NONE,    /* the node was not reached, or its answer is invalid */
    ANSWER_UNKNOWN, /* the node has no such job */
    ANSWER_RUNS,    /* the node has a record, but has not noticed the end of the job */
    ANSWER_ENDED
};

enum ended_verdict {
    VERDICT_LATER, /* the job stays in the backlog */
    VERDICT_WRITE, /* write job->record, which is the node's */
    VERDICT_MARK,  /* write job->record, which only has the reason why there is no account */
    VERDICT_KEEP   /* nothing to do */
};

/* One run of a job: a row of Slurm's accounting. Times are seconds since 1970. */
struct ended_job {
    uint32_t jobid, uid;
    uint32_t array_job, array_task; /* array_task ENDED_NONE: not an array */
    uint32_t het_job, het_offset;   /* het_offset ENDED_NONE: not a heterogeneous job */
    uint32_t state;
    uint32_t restart; /* number of requeues before this run */
    bool restart_known;
    bool resized;               /* the job continued with another size */
    int64_t submit, start, end; /* end 0: not ended */
    uint32_t nodes;
    char *host;    /* owned; the node of the batch script; NULL: it never ran */
    char *comment; /* owned */
    enum ended_verdict verdict;
    char *record; /* owned; to be written; NULL: nothing */
};

struct ended_jobs {
    struct ended_job *items;
    size_t n;
};

/* Frees what it owns. */
void ended_job_clear(struct ended_job *job);
/* Takes ownership of the contents of *job, also on failure. -ENOMEM. */
int ended_jobs_add(struct ended_jobs *jobs, struct ended_job *job);
/* Frees the contents. `jobs` must not be NULL. */
void ended_jobs_clear(struct ended_jobs *jobs);
/* Sort by job and submission. Slurm before 23.11 does not provide `restart`: then it is the number
 * of earlier rows of the same job, so all rows of a job must be in the list. */
void ended_jobs_sort(struct ended_jobs *jobs);

/* The rows of a listing so far, for Slurm before 23.11. */
struct ended_seen {
    int64_t since; /* no run ended before is listed */
    void *jobids;  /* tsearch tree of numbers */
};
void ended_seen_clear(struct ended_seen *seen);
/* Note a row of the listing. Returns whether it may not be the first run of its job: its restart is
 * not known, and another row of the job was listed already, or may have ended too early for the
 * listing. Without memory it may be, too. */
bool ended_seen_add(struct ended_seen *seen, const struct ended_job *job);

/* Ages in seconds since the end of the job. */
struct ended_rules {
    int64_t now;
    int64_t unknown; /* from then on a job that is unknown to its node gets a mark */
    int64_t give_up; /* from then on a job without an answer gets a mark, and the record of a node
                        that has not noticed the end of the job is written */
};

/* The run has ended, had a node, and has no record, or that of another run, or one that lacks nodes
 * that may still report. */
bool ended_wants_record(const struct ended_job *job, const struct ended_rules *rules);
/* It has a record of this run, which may lack nodes. */
bool ended_has_record(const struct ended_job *job);
/* The comment makes job->record unnecessary: it has a complete record of this run, or any record of
 * this run if job->record is a mark. */
bool ended_is_settled(const struct ended_job *job);

/* Set verdict and record from the answer of the node; `record` is NULL if it has none. -ENOMEM. */
int ended_judge(struct ended_job *job, enum ended_answer answer, const char *record,
                const struct ended_rules *rules);

#endif
