/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by step_queue.c (when to read and send) and step_verdicts.c (what answers mean for the
 * steps that were sent). */
#ifndef JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_IMPL_H
#define JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_IMPL_H

#include "collector/deliver/poison.h"
#include "collector/deliver/step_queue.h"

/* Steps that the target refused before it has taken any: it may be at fault itself. */
#define STEP_QUEUE_REFUSED 32
/* So many refusals in a row, without anything taken in between, are believed. */
#define STEP_QUEUE_BELIEVED 10

struct step_refused {
    int64_t id;
    char why[ANSWER_WHY_MAX];
};

struct step_range {
    size_t first, last; /* [first, last) of the batch */
};
/* A batch of 2^16 steps, halved to the end, leaves a range at each level. */
#define STEP_QUEUE_RANGES 40

struct step_queue {
    struct target target;
    struct step_queue_hooks hooks;
    struct step_queue_options options; /* its strings are owned by the target, or gone */
    struct step_format format;
    struct http_client *client; /* owned, or NULL */
    bool started, reading;
    bool dirty;    /* something was queued since the last look */
    bool rewind;   /* the next look starts at the first step */
    int64_t after; /* all up to this one are settled, or held back */
    struct step_batch *batch;
    struct step_range ranges[STEP_QUEUE_RANGES]; /* still to be sent, the next one last */
    size_t n_ranges;
    struct step_range range; /* under way */
    bool taken;              /* the target has taken something of this batch */
    struct step_refused refused[STEP_QUEUE_REFUSED]; /* not yet put aside */
    size_t n_refused;
    size_t refusals_in_a_row;
    struct poison_search search;
    struct step_limits limits; /* what the store reads in time */
    struct step_limits look;   /* of the look under way */
    uint64_t steps, rows, refusals;
    uint64_t answered_ns, answers_since_ns; /* CLOCK_BOOTTIME; 0: never */
    struct answer_verdict too_late;         /* on a step for which the target is late */
};

/* Settle what was sent. Returns true if the next range of the batch is to be sent; false if the
 * batch was given up, to be read again later. */
bool step_verdicts_settle(struct step_queue *queue, const struct target_result *result);
/* All of the batch was sent. Returns false if its rest was given up. */
bool step_verdicts_finish(struct step_queue *queue);

#endif
