/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for a poison row: a step for which a target does not refuse a request but answers 500
 * or hangs up each time, so that everything behind it would wait for ever. A request that failed
 * often is made smaller until one step is alone. That step is held back while others are tried; it
 * is a poison row once it has failed again and again while those behind it were taken. As long as
 * the target takes nothing, no step is one. No clock and no I/O in here.
 */
#ifndef JOBIO_COLLECTOR_DELIVER_POISON_H
#define JOBIO_COLLECTOR_DELIVER_POISON_H

#include <stdbool.h>

#include "collector/deliver/answer.h"
#include "collector/deliver/step_batch.h"

/* Failures in a row before a request is made smaller. */
#define POISON_TRIES 5
/* A step that has failed so often, with something else taken after each failure, is a poison row. A
 * target so busy that it fails every second request at random is misjudged for one step in 256. */
#define POISON_FAILURES 8
/* Steps that are held back at a time. */
#define POISON_HELD 16

struct poison_suspect {
    int64_t id; /* in the outbox */
    unsigned failures;
    bool failed; /* since something was taken last */
    char why[ANSWER_WHY_MAX];
};

struct poison_search {
    unsigned tries;                          /* failures in a row */
    size_t cap;                              /* steps that a request may have; 0: no search */
    struct poison_suspect held[POISON_HELD]; /* ascending */
    size_t n_held;
};

/* How many of the first of these may go in one request: at least 1. */
size_t poison_size(const struct poison_search *search, const struct step_item *items, size_t n);

/* A request with these failed. *smaller: the next request is a different one, so it need not wait
 * as long as for a target that is down. Returns the id behind which to read next. */
int64_t poison_failed(struct poison_search *search, const struct step_item *items, size_t n,
                      const char *why, bool *smaller);
/* All of these were taken. */
void poison_passed(struct poison_search *search, const struct step_item *items, size_t n);
/* This one failed in an answer that took others. */
void poison_count(struct poison_search *search, int64_t id, const char *why);

/* The next poison row, which is no longer held back; false: none. */
bool poison_next(struct poison_search *search, struct poison_suspect *ret);
/* What was read behind `after`; held steps that should be there, and are not, are forgotten. */
void poison_looked(struct poison_search *search, int64_t after, const struct step_batch *batch);

#endif
