/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two nodes in one process, FIRST and OTHER: each with a real store, writer and peers, on one
 * event loop, with credentials of a real munged that both share. What cannot be done fails the
 * test.
 */
#ifndef JOBIO_TESTS_UNIT_NODE_PAIR_H
#define JOBIO_TESTS_UNIT_NODE_PAIR_H

#include "tests/unit/test.h"

#include <stdbool.h>

#include "collector/peers/peers.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"

/* Addresses, so that they are names that can be asked. */
#define FIRST "127.0.0.1"
#define OTHER "127.0.0.2"
#define NODES FIRST "," OTHER
#define JOB 17
#define STARTED (1790000000ull * 1000000000ull)

struct side {
    const char *node;
    char path[128];
    struct store *store; /* the writer's, while that is there */
    struct writer *writer;
    struct query *query;
    struct peers *peers;
    sd_event_source *sources[2];
    /* What its hooks answer, and what they were asked last. */
    bool busy;
    struct job_account *account; /* borrowed; NULL: nothing was done there */
    enum peers_job_state known;
    unsigned asked;
    struct peers_step step; /* without its nodes */
};
extern struct side first, other;

/* cmocka's: of the group, and of each test. Without munged or root, node_pair_skip() skips. */
int node_pair_begin(void **state);
int node_pair_end(void **state);
int node_pair_setup(void **state);
int node_pair_teardown(void **state);
void node_pair_skip(void);

/* Run the loop until `is` says so. */
void node_pair_until(bool (*is)(void));
/* A number of peers_status(). */
uint64_t node_pair_count(const struct side *side, const char *name);

/* On its store, when the loop runs next: nothing else uses it then. */
void node_pair_stop(struct side *side);
void node_pair_start(struct side *side);

/* Ask FIRST for the job: `steps` as peers_query(). How many nodes beside it have reported. */
unsigned node_pair_ask(const struct peers_step *step);
/* The same with what FIRST has, which it takes over; the answer, job_account_destroy() it. */
struct job_account *node_pair_query(struct job_account *job, const struct peers_step *step);
/* A job that begins at STARTED (first: its first node, NULL: not told), and an ended step of it on
 * that node, of one write of `bytes`; job_account_destroy() it. */
struct job_account *node_pair_job(const struct side *side, const char *first_node, uint32_t step,
                                  uint64_t bytes);
/* Put it into the stopped side's store, and into its outbox for the first node. */
void node_pair_put(struct side *side, const struct job_account *job);
/* Until nothing waits in the outbox of OTHER: sent, or refused. */
void node_pair_send(void);
/* The newest job in the store of that side, NULL: it has none. job_account_destroy() it. */
struct job_account *node_pair_stored(const struct side *side);

#endif
