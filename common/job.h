/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of a job: who it is, how complete the account is, and its mounts and steps. The
 * collector builds it, the store keeps it, and every report is made from it.
 */
#ifndef JOBIO_COMMON_JOB_H
#define JOBIO_COMMON_JOB_H

#include "common/account.h"
#include "common/block.h"
#include "common/completeness.h"
#include "common/mpi.h"
#include "common/mpi_parts.h"
#include "common/slurm_state.h"
#include "common/stack.h"

/* Special step ids of Slurm (slurm.h). */
#define STEP_EXTERN 0xfffffffcu
#define STEP_BATCH 0xfffffffbu
#define STEP_INTERACTIVE 0xfffffffau
#define STEP_FOLDED 0xffffffefu /* jobio only: the sum of the steps beyond the limit per job */
#define HET_NONE 0xfffffffeu    /* NO_VAL: not a heterogeneous job */

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
    uint64_t longest_wait_ns; /* wait of the thread that waited longest; threads that ran one
                                 after the other count as one */
    struct completeness completeness;
    struct io_mounts mounts;
    struct mpi_account *mpi;      /* owned; NULL: not counted */
    struct block_account *block;  /* the same */
    struct stack_profile *stacks; /* owned; NULL: not recorded, or not known yet */
};

/* Sums of one node, for the comparison of nodes. */
struct node_account {
    char *node;                 /* owned */
    struct io_sums sums, shown; /* io_account_sums(), io_account_shown() */
    uint64_t longest_wait_ns;
    struct io_sum *look_ups; /* owned; opens and stats on each of the job's first n_mounts mounts */
    size_t n_mounts;
};

struct job_account {
    struct job_key key;
    uint32_t uid;
    char *user, *account, *partition; /* owned; NULL: unknown */
    char *name;                       /* owned; untrusted text */
    uint32_t array_job, array_task;   /* the job array of this task; array_job 0: not an array */
    char *first_node; /* owned; the node that collects the accounts of all nodes; NULL: this
                         one, or unknown */
    bool ended;
    struct slurm_end slurm;    /* of an ended job, once it is known */
    uint64_t start_ns, end_ns; /* real time; end_ns 0 while it runs */
    uint64_t elapsed_ns;
    uint32_t nodes_expected, nodes_reported;
    struct completeness completeness; /* of all its steps and of the job itself */
    uint64_t longest_wait_ns;         /* the worst thread of the worst node */
    struct io_mounts mounts;          /* the sum over steps and nodes */
    struct step_account *steps;       /* owned; empty if not requested */
    size_t n_steps;
    uint32_t more_steps;        /* steps of this node that are not in `steps` */
    struct node_account *nodes; /* owned; used instead of steps that are not available */
    size_t n_nodes;
    /* `jobio run` only: */
    char **command; /* owned, NULL-terminated; NULL for a Slurm job */
    int exit_status;
    uint64_t unsupported;  /* bit 1 << io_op: operations that this node cannot count */
    uint64_t ns_per_event; /* cost of counting a read of the page cache on this node; 0: unknown */
    struct mpi_account *mpi;      /* owned; NULL: not counted */
    struct mpi_parts mpi_parts;   /* of the steps that were added */
    struct block_account *block;  /* owned; NULL: not counted */
    struct stack_profile *stacks; /* owned; of the steps that have one; NULL: none has */
    /* `jobio run` only: what it recorded of single calls, for own_cost_of(). */
    uint64_t spans_taken, stacks_taken;
};

/* "batch", "extern", "interactive", "folded", "0", "17". Returns buf. */
char *step_format(uint32_t step, char buf[16]);
/* The reverse; 0 or -EINVAL. */
int step_parse(const char *text, uint32_t *ret);
/* "running", "ended", "vanished". */
const char *step_state_name(enum step_state state);
int step_state_parse(const char *text); /* the state or -EINVAL */

/* No event is lost, and no cause is listed. */
bool step_is_complete(const struct step_account *step);
/* Every expected node has reported. False while nodes_expected is unknown (0). */
bool job_has_all_nodes(const struct job_account *job);
/* The account of each expected node is there and complete. */
bool job_is_complete(const struct job_account *job);
/* Each expected node is there, and nothing is missing from its MPI-IO, which was counted. */
bool job_mpi_is_complete(const struct job_account *job);

/* It called MPI-IO, as far as that was counted, or calls may be missing: full reports show it. */
bool job_has_mpi(const struct job_account *job);

/* Prefix of a cause, followed by the reason: nothing was counted for all or part of the time. */
#define CAUSE_NOT_COUNTED "not counted: "
/* That cause if nothing was counted at all, so that all numbers of the job are meaningless; else
 * NULL. */
const char *job_not_counted(const struct job_account *job);

/* The longest wait, limited to the elapsed time (a step of another node may end later). */
uint64_t job_wait_ns(const struct job_account *job);

/* Whether waiting for I/O cost the job so much that its owner should know what for: 5 % of the run
 * time of a job of at least a minute; a third of the time and a second of a shorter one. */
bool job_lost_time(const struct job_account *job);

/* Whether its owner should know what the job did with MPI-IO, too: all processes together spent as
 * much time in it, and either the job waited that much for I/O, or one process did in MPI-IO. How
 * long the slowest process was in MPI-IO is not known: only if it surely was as long. */
bool job_lost_mpi_time(const struct job_account *job);

/* Number of counted calls. Times ns_per_event, it is the least that the accounting cost:
 * own_cost_of() has an estimate. */
uint64_t job_events(const struct job_account *job);

/* Add a step to the sums of the job (mounts, completeness, longest wait, MPI, block requests,
 * stacks); does not keep the step. 0 or -ENOMEM. */
int job_account_add_step(struct job_account *job, const struct step_account *step);
/* Add to what is missing of the job's MPI-IO that nodes did not count it in a step that other nodes
 * counted, such as nodes with an older jobiod. Call it once, when all steps were added. 0 or
 * -ENOMEM. */
int job_account_check_mpi(struct job_account *job);
void step_account_clear(struct step_account *step);
struct job_account *job_account_create(void); /* empty; NULL on out-of-memory */
void job_account_destroy(struct job_account *job);

#endif
