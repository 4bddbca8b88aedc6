/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One Slurm step on this node: its tag, its number in the maps, and how far it has come. */
#ifndef JOBIO_COLLECTOR_TRACK_STEP_H
#define JOBIO_COLLECTOR_TRACK_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/track/tag.h"
#include "common/job.h"

struct job;

enum step_phase {
    PHASE_RUNNING,
    PHASE_ENDED,    /* its last reading is due */
    PHASE_UNSAVED,  /* its account has yet to be handed to the writer */
    PHASE_SAVING,   /* the writer has its account */
    PHASE_SAVED,    /* the store has its account: its counters and files can go */
    PHASE_DROPPING, /* a thread waits until no program adds to its counters */
};

struct step_ids {
    uint32_t jobid, restart, het, step;
};

struct step {
    struct job *job;
    struct tag tag;  /* owned */
    uint32_t number; /* in the maps */
    enum step_phase phase;
    bool beyond_limit;           /* it has no row of its own, see TRACKER_STEPS_PER_JOB */
    unsigned empty_ticks;        /* ticks in a row without any process */
    bool unconfirmed;            /* tagged late; the plugin may have put it into the map in time */
    bool has_row;                /* the writer has had a row of it */
    bool tasks_ended;            /* its last task on this node */
    bool summed;                 /* its account is in the job's sum */
    bool trace_partial;          /* its trace does not start with the step */
    enum step_state end_state;   /* STEP_ENDED or STEP_VANISHED; from PHASE_ENDED on */
    uint64_t ended_boot_ns;      /* CLOCK_BOOTTIME; 0: not reported */
    uint64_t idle_since_ns;      /* CLOCK_BOOTTIME; it did nothing after this */
    struct step_account account; /* from PHASE_UNSAVED on */
    /* Owned; what earlier jobiods counted, and what was missed. NULL: nothing. */
    struct mpi_account *mpi_before;
    struct block_account *block_before;
};

/* Takes the tag over on success. NULL: out of memory. */
struct step *step_create(struct tag *tag);
void step_destroy(struct step *step);

/* Its account is not final yet. */
static inline bool step_is_open(const struct step *step)
{
    return step->phase == PHASE_RUNNING || step->phase == PHASE_ENDED;
}

/* The store has its account. */
static inline bool step_is_stored(const struct step *step)
{
    return step->phase == PHASE_SAVED || step->phase == PHASE_DROPPING;
}

struct step_ids step_ids(const struct step *step);

/* Deep copy. 0 or -ENOMEM. */
int step_account_copy(const struct step_account *from, struct step_account *ret);

#endif
