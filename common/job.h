/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of a job: who it is, how complete the account is, and its mounts and steps. This is
 * what the collector builds, what the store keeps, and what every report is made from.
 */
#ifndef JOBIO_COMMON_JOB_H
#define JOBIO_COMMON_JOB_H

#include "common/account.h"

/* Slurm's step ids (slurm.h) that are no numbers. */
#define STEP_EXTERN 0xfffffffcu
#define STEP_BATCH 0xfffffffbu
#define STEP_INTERACTIVE 0xfffffffau
#define STEP_FOLDED 0xffffffefu /* ours: the sum of the steps beyond the limit of a job */
#define HET_NONE 0xfffffffeu    /* NO_VAL: no component of a heterogeneous job */

/* Why an account is not whole. `count` is in events, steps, bytes... as the cause says. */
struct incomplete {
    char *cause;    /* owned: "map-full", "node-not-heard", "began-untracked", ... */
    uint64_t count; /* how often */
    uint64_t ops;   /* bit 1 << io_op: the operations it touches; 0: all */
};

struct completeness {
    uint64_t lost; /* events seen but not accounted */
    struct incomplete *items;
    size_t n;
};

enum step_state { STEP_RUNNING, STEP_ENDED, STEP_VANISHED /* closed by jobiod without an END */ };

struct job_key {
    char *cluster; /* owned */
    uint32_t jobid;
    uint32_t restart;
};

/* One step on one node. */
struct step_account {
    uint32_t het; /* HET_NONE or the component */
    uint32_t step;
    char *node;            /* owned */
    uint64_t tagged_at_ns; /* the node's real time at the tag */
    uint64_t elapsed_ns;   /* by CLOCK_BOOTTIME */
    enum step_state state;
    uint32_t folded;          /* STEP_FOLDED: how many steps are in it, else 0 */
    uint64_t longest_wait_ns; /* wait of the thread that waited longest; threads that ran one after
                                 the other count as one */
    struct completeness completeness;
    struct io_mounts mounts;
};

/* What one node did, as far as nodes are compared. */
struct node_account {
    char *node; /* owned */
    struct io_sum reads, writes, meta, all;
    uint64_t longest_wait_ns;
    struct io_sum *look_ups; /* owned; opens and stats on each of the job's first n_mounts mounts */
    size_t n_mounts;
};

struct job_account {
    struct job_key key;
    uint32_t uid;
    char *user, *account, *partition; /* owned; NULL: not known */
    char *name;                       /* owned; untrusted text */
    uint32_t array_job, array_task;   /* the array that it is a task of; array_job 0: of none */
    char *first_node; /* owned; where its account of all nodes comes together; NULL: here, or not
                         known */
    bool ended;
    uint64_t start_ns, end_ns; /* real time; end_ns 0 while it runs */
    uint64_t elapsed_ns;
    uint32_t nodes_expected, nodes_reported;
    struct completeness completeness; /* of all its steps and of the job itself */
    uint64_t longest_wait_ns;         /* the worst thread of the worst node */
    struct io_mounts mounts;          /* the sum over steps and nodes */
    struct step_account *steps;       /* owned; may be empty if nobody asked for them */
    size_t n_steps;
    uint32_t more_steps;        /* of this node, that are not among them */
    struct node_account *nodes; /* owned; in place of the steps, where they are not at hand */
    size_t n_nodes;
    /* `jobio run` only: */
    char **command; /* owned, NULL-terminated; NULL for a Slurm job */
    int exit_status;
    uint64_t unsupported;  /* bit 1 << io_op: operations that this node cannot count */
    uint64_t ns_per_event; /* what counting a call costs on this node; 0: not known */
};

/* "batch", "extern", "interactive", "folded", "0", "17". buf holds 16 bytes. Returns buf. */
char *step_format(uint32_t step, char buf[16]);
/* The reverse; 0 or -EINVAL. */
int step_parse(const char *text, uint32_t *ret);
/* "running", "ended", "vanished". */
const char *step_state_name(enum step_state state);
int step_state_parse(const char *text); /* the state or -EINVAL */

/* Add `count` to the cause (one entry a cause; ops are united). 0 or -ENOMEM. As everywhere in the
 * account, a sum that does not fit stays at UINT64_MAX. */
int completeness_add(struct completeness *c, const char *cause, uint64_t count, uint64_t ops);
int completeness_merge(struct completeness *to, const struct completeness *from);
void completeness_clear(struct completeness *c);
/* Nothing lost, no cause, and every expected node reported; false while nodes_expected is 0, not
 * known. */
bool job_is_complete(const struct job_account *job);

/* A cause of this text and the reason: nothing was counted, if only for a part of the time. */
#define CAUSE_NOT_COUNTED "not counted: "
/* That cause if nothing was counted at all: then no number of the job's means anything. Else NULL.
 */
const char *job_not_counted(const struct job_account *job);

/* What of the run time went to waiting: the longest wait, at most the elapsed time, which a step of
 * another node may outlast. */
uint64_t job_wait_ns(const struct job_account *job);

/* The calls that were counted: what the accounting cost is this times ns_per_event. */
uint64_t job_events(const struct job_account *job);

/* Fold a step into the job's sums (mounts, completeness, longest wait), without keeping it. */
int job_account_add_step(struct job_account *job, const struct step_account *step);
void step_account_clear(struct step_account *step);
struct job_account *job_account_create(void); /* empty; NULL: no memory */
void job_account_destroy(struct job_account *job);

#endif
