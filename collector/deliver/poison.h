/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which step a sink keeps failing for: it does not refuse it, it answers 500 or hangs up each time,
 * so that all that waits behind would wait for ever. A request that failed often is made smaller
 * until one step is alone; that one is held back while others are tried, and it is guilty once it
 * has failed again and again while those behind it were taken. A sink that takes nothing finds
 * nobody guilty. No clock and no I/O in here.
 */
#ifndef JOBIO_COLLECTOR_DELIVER_POISON_H
#define JOBIO_COLLECTOR_DELIVER_POISON_H

#include <stdbool.h>

#include "collector/deliver/answer.h"
#include "collector/deliver/step_batch.h"

/* Failures in a row before a request is made smaller. */
#define SINK_TRIES 5
/* Failures of a step, something else taken after each, that are believed. A sink so busy that it
 * fails for every second request whatever is in it is wrong about one step in 256. */
#define SINK_STRIKES 8
/* Steps that are held back at a time. */
#define SINK_HELD 16

struct sink_held {
    int64_t id; /* in the outbox */
    unsigned strikes;
    bool failed; /* since something was taken last */
    char why[SINK_WHY_MAX];
};

struct sink_search {
    unsigned tries;                   /* failures in a row */
    size_t cap;                       /* steps that a request may have; 0: no search */
    struct sink_held held[SINK_HELD]; /* ascending */
    size_t n_held;
};

/* How many of the first of these may go in one request: at least 1. */
size_t sink_search_size(const struct sink_search *search, const struct sink_item *items, size_t n);

/* A request with these failed. *smaller: the next one asks for something else, so it need not wait
 * as long as for a sink that is down. Returns the id behind which the next look begins. */
int64_t sink_search_failed(struct sink_search *search, const struct sink_item *items, size_t n,
                           const char *why, bool *smaller);
/* All of these were taken. */
void sink_search_passed(struct sink_search *search, const struct sink_item *items, size_t n);
/* This one failed in an answer that took others. */
void sink_search_strike(struct sink_search *search, int64_t id, const char *why);

/* The next guilty one, which is held no more; false: none. */
bool sink_search_guilty(struct sink_search *search, struct sink_held *ret);
/* What a look behind `after` has found; held ones that should be there, and are not, are gone. */
void sink_search_looked(struct sink_search *search, int64_t after, const struct sink_batch *batch);

#endif
