/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracker's insides, shared by the files that it is made of. */
#ifndef JOBIO_COLLECTOR_TRACK_TRACKER_IMPL_H
#define JOBIO_COLLECTOR_TRACK_TRACKER_IMPL_H

#include "collector/sample/meter.h"
#include "collector/track/tracker.h"

struct marks;
struct names;

enum tracked_state {
    TRACKED_RUNNING,
    TRACKED_ENDED,   /* its last reading is due */
    TRACKED_UNSAVED, /* its account waits for the writer */
    TRACKED_SAVING,  /* the writer has it */
    TRACKED_SAVED,   /* it is in the store: its counters and files can go */
};

struct tracked_step {
    struct tracked_job *job;
    struct tag tag;
    uint32_t number; /* in the maps */
    enum tracked_state state;
    bool folds;             /* one of those beyond the limit */
    unsigned deserted;      /* ticks in a row without any process */
    bool doubtful;          /* tagged late, and not yet known whether the plugin did it itself */
    bool handed;            /* the writer has had a row of it */
    bool tasks_ended;       /* its last task on this node */
    bool summed;            /* its account is in the job's sum */
    enum step_state how;    /* it ended */
    uint64_t ended_boot_ns; /* 0: nobody has said when */
    uint64_t quiet_ns;      /* it did nothing after this */
    struct step_account account; /* once it has ended */
};

struct tracked_job {
    struct tracker *tracker;
    struct job_account *sum;    /* who it is, and the sum over its ended steps */
    struct completeness own;    /* what is missing for the job itself */
    struct step_account folded; /* the sum of the steps beyond the limit; folded 0: none */
    uint64_t start_boot_ns, last_end_boot_ns, over_boot_ns;
    struct tracked_step **steps; /* running, or not yet in the store */
    size_t n_steps;
    struct step_account *ended; /* sums of steps that the store has */
    size_t n_ended;
    uint32_t n_rows; /* steps with a row of their own, ever */
    struct meter *meter;
    char *gatherer; /* the first node of the job, if it is another one; else NULL */
    char *nodes;    /* if there are others than this one: all names, with commas between */
    bool had_extern;
    bool ending;        /* the epilog came; steps may still have processes */
    bool over;          /* no step runs, none will come */
    bool over_saving;   /* the row that says so is with the writer */
    bool over_saved;    /* and in the store */
    bool described;     /* its file in jobs/ has been read */
    bool folding;       /* the row of the folded steps is with the writer */
    bool provisional;   /* a provisional row is with the writer */
    uint64_t handed_ns; /* the reading (pass_at_ns) of the last one */
    unsigned n_saving;  /* requests with the writer */
};

/* The last steps whose rows are safe: an END that comes late is none of a step that nobody knows,
 * and a TAG that comes late is none of a step that begins. */
#define RECENT_STEPS 256

struct step_ids {
    uint32_t jobid, restart, het, step;
};

struct recent_step {
    struct step_ids ids;
    uint64_t tagged_at_ns;
};

struct tracker {
    char *cluster, *node;
    uint64_t interval_ns;
    int steps_fd, jobs_fd;
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
    struct names *names; /* of users that no prolog has told */
    struct writer *writer;
    struct tracker_hooks hooks;
    const char *const *sinks;
    bool peers;
    struct tracked_job **jobs;
    size_t n_jobs;
    struct io_mounts totals; /* of ended steps */
    struct tracker_stats stats;
    struct recent_step recent[RECENT_STEPS];
    size_t n_recent;                   /* ever */
    uint64_t pass_at_ns, pass_cost_ns; /* the last reading of all steps */
    uint64_t drop_gap_ns, dropped_ns;  /* the last time that counters were forgotten; 0: never */
    uint64_t rows_ns, rows_at_ns; /* the reading of which all jobs are to have provisional rows */
    bool littered;                /* a step was dropped after the last sweep of the maps */
    unsigned unswept;             /* ticks since then */
    uint64_t jobs_swept_ns;       /* the last time that files in jobs/ were looked at */
    struct marks *marks;          /* of folded steps whose counters have yet to go */
    char *missed;                 /* sampler_missed() as the writer got it last */
};

void tracker_say(struct tracker *tracker, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- tracker.c -----------------------------------------------------------------------------------
 */
/* Read all steps now. */
int tracker_pass(struct tracker *tracker, bool tick, struct error *error);
/* Follow a step that is counted; takes the tag over on success. */
int tracked_follow(struct tracker *tracker, struct tag *tag, uint32_t number,
                   const struct step_account *before, struct tracked_step **ret,
                   struct error *error);
/* The same step again, running or ended: nothing is to be done, unless it has another cgroup by
 * now: then the earlier one is closed. */
bool tracked_is_tagged(struct tracker *tracker, const struct tag *tag);

/* --- stepfiles.c ---------------------------------------------------------------------------------
 */
/* Look at all files in steps/, as tracker_file(). */
void tracked_scan_files(struct tracker *tracker);
/* Now and then: remove the files in jobs/ whose run has been over for a while. */
void tracked_sweep_jobs(struct tracker *tracker);
/* When (CLOCK_BOOTTIME) its plugin lets the user's code begin, answered or not. */
uint64_t tracked_deadline(const struct tag *tag);
/* A step that was not in the maps when we came to put it there, after its deadline: if its plugin
 * has done so before the user's code began, its file says DIRECT=1, now or in a moment. Later, or
 * if this is the end of the step, its account says "began-untracked". */
void tracked_doubt(struct tracked_step *step);
void tracked_resolve_doubt(struct tracked_step *step, bool at_end);

/* --- tracked.c: the lists ------------------------------------------------------------------------
 */
struct tracked_job *tracked_find_job(struct tracker *tracker, uint32_t jobid, uint32_t restart);
/* Find it or make it; started by the tag. NULL: no memory. */
struct tracked_job *tracked_get_job(struct tracker *tracker, const struct tag *tag);
/* A job that the store had; takes `account` over. NULL: no memory. */
struct tracked_job *tracked_load_job(struct tracker *tracker, struct job_account *account);
void tracked_remove_job(struct tracked_job *job);
/* The one that runs, if there is one; else one whose row is not safe yet. */
struct tracked_step *tracked_find_step(struct tracked_job *job, uint32_t het, uint32_t step);
/* The same, also of jobs that are over. */
struct tracked_step *tracked_find_any(struct tracker *tracker, const struct step_ids *ids);
/* Takes the tag over on success. NULL: no memory. */
struct tracked_step *tracked_add_step(struct tracked_job *job, struct tag *tag);
void tracked_remove_step(struct tracked_step *step);
/* The account of the job as of the last reading: its sum and what runs (in `steps`, too). */
struct job_account *tracked_snapshot(struct tracked_job *job);
/* The row of the job alone: as the snapshot, without steps and their completeness. */
struct job_account *tracked_row(struct tracked_job *job);
/* Not all that it did is in its account yet. */
static inline bool tracked_is_open(const struct tracked_step *step)
{
    return step->state == TRACKED_RUNNING || step->state == TRACKED_ENDED;
}
/* The account of one step as of now: running, or as it ended. */
int tracked_account(const struct tracked_step *step, struct step_account *ret);
int tracked_meter(struct tracked_job *job, uint64_t now_ns, bool tick);
/* Learn account and partition from jobs/, if nobody has told them; and the nodes. */
void tracked_describe(struct tracked_job *job);
void tracked_learn_nodes(struct tracked_job *job);
/* Remove the job's file in jobs/, unless a later run of the job has one there already. */
void tracked_forget_file(struct tracker *tracker, uint32_t jobid, uint32_t restart);
/* Read a step file; *ended_boot is 0 without an .end file. */
int tracked_read_file(struct tracker *tracker, const char *name, struct tag *ret,
                      uint64_t *ended_boot, struct error *error);
/* Keep a file that nobody can read out of the way, for a look at it. */
void tracked_reject_file(struct tracker *tracker, const char *name);
/* Sum as metrics need it: private mounts by type. */
int tracked_add_totals(struct io_mounts *totals, const struct io_mounts *mounts);

/* --- closing.c: ends -----------------------------------------------------------------------------
 */
/* The step has ended (at_boot_ns 0: just now). Its account follows with the next
 * tracked_close(). */
void tracked_end(struct tracked_step *step, enum step_state state, uint64_t at_boot_ns);
/* Of all steps that have ended: read for the last time, sum, hand to the writer. However many they
 * are, that is one pass over the maps, and none if the last one began after they had ended. */
int tracked_close(struct tracker *tracker, struct error *error);
/* If its last step is closed: end the job. */
void tracked_finish_job(struct tracked_job *job);

/* --- ended.c: what a summary says of steps that the store has ------------------------------------
 */
/* The step is about to be removed: keep its sum. */
void tracked_remember(const struct tracked_step *step);
void tracked_forget_ended(struct tracked_job *job);
/* Add these steps to the account's, in the order of their tags; each has one mount without a name.
 * 0 or -ENOMEM. */
int tracked_list_ended(const struct tracked_job *job, struct job_account *account);

/* --- saving.c: rows ------------------------------------------------------------------------------
 */
/* Hand what is not saved to the writer; what the writer cannot take now stays for the next call. */
void tracked_save(struct tracked_job *job);
/* The sink that is the job's first node, malloc'd; *ret is NULL if that is this node or not
 * known. */
int tracked_peer_sink(const struct tracked_job *job, char **ret);
/* If it is time, or a step has no row yet. */
void tracked_save_provisional(struct tracked_job *job);
/* What the programs have missed so far, for the process after this one: once a tick, behind the
 * rows that already say so. */
#define MISSED_KEY "missed"
void tracked_save_missed(struct tracker *tracker);
/* True if a step was folded into its job's last row before the process died. */
bool tracked_was_folded(struct store *store, const struct tag *tag);
/* At the start, when no file and no counter of these steps is left: forget that they were
 * folded. */
int tracked_sweep_marks(struct store *store, struct error *error);
/* Forget the counters and files of the steps that are in the store, all in one pass over the maps.
 * Unless `now`, while the writer has more of them they wait for each other, and not sooner than the
 * gap after the last time: then it returns how long to wait, else 0. */
uint64_t tracked_drop_saved(struct tracker *tracker, bool now);
void tracked_free_marks(struct tracker *tracker);

#endif
