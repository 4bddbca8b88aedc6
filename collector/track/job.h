/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs of this node and their steps: state and lookup, no I/O. */
#ifndef JOBIO_COLLECTOR_TRACK_JOB_H
#define JOBIO_COLLECTOR_TRACK_JOB_H

#include "collector/sample/meter.h"
#include "collector/track/ended_steps.h"
#include "collector/track/step.h"

struct tracker;

/* Further steps of a job on a node are aggregated into one row. */
#define TRACKER_STEPS_PER_JOB 1000

/* Times are CLOCK_BOOTTIME. */
struct job {
    struct tracker *tracker;
    struct job_account *sum;    /* owned: who it is, and the sum over its ended steps */
    struct step_account folded; /* the sum of the steps beyond the limit; folded 0: none */
    uint64_t start_boot_ns, last_end_boot_ns, over_boot_ns;
    struct step **steps; /* owned: running, or not yet in the store */
    size_t n_steps;
    struct ended_steps ended;
    uint32_t n_rows; /* steps with a row of their own, ever */
    struct meter *meter;
    char *first_node; /* owned; NULL: this node, or not known */
    char *nodes; /* owned: all names, separated by commas; NULL: only this node, or not known */
    bool had_last_step;      /* an extern or batch step: no step comes after it */
    bool epilog_ran;         /* steps may still have processes */
    bool over;               /* no step runs, and none will come */
    bool over_saving;        /* the row that ends the job is with the writer */
    bool over_saved;         /* and in the store */
    bool described;          /* its file in jobs/ has been read */
    bool folded_saving;      /* the row of the aggregated steps is with the writer */
    bool provisional_saving; /* a provisional row is with the writer */
    uint64_t rows_read_ns;   /* the reading that its last provisional rows show */
    bool backlog_due;        /* steps from before the first node was known must be queued for it */
    unsigned n_saving;       /* requests with the writer */
};

/* All 0: empty. */
struct jobs {
    struct job **items; /* owned */
    size_t n;
};

/* The run of the job that is not over; NULL: there is none. */
struct job *jobs_find(struct jobs *jobs, uint32_t jobid, uint32_t restart);
/* The running step with these ids, else one that is not in the store yet, also of jobs that are
 * over; NULL: none. */
struct step *jobs_find_step(struct jobs *jobs, const struct step_ids *ids);
/* Add a job that starts at account->start_ns. Takes `account` over on success. NULL: out of
 * memory. */
struct job *jobs_add(struct jobs *jobs, struct job_account *account, uint64_t interval_ns);
/* Remove and free the job with its steps. */
void jobs_remove(struct jobs *jobs, struct job *job);

/* As jobs_find_step(), of this job. */
struct step *job_find_step(struct job *job, uint32_t het, uint32_t step);
/* The job has or had this step. */
void job_note_step(struct job *job, uint32_t step);
/* Takes the tag over on success. NULL: out of memory. */
struct step *job_add_step(struct job *job, struct tag *tag);
/* Remove and free the step. */
void job_remove_step(struct step *step);

#endif
