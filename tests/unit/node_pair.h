/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two nodes in one process, FIRST and OTHER: each with a real store, writer and peers, on one
 * event loop, with credentials of a real munged that both share. Failures fail the test.
 */
#ifndef JOBIO_TESTS_UNIT_NODE_PAIR_H
#define JOBIO_TESTS_UNIT_NODE_PAIR_H

#include "tests/unit/test.h"

#include <stdbool.h>

#include "collector/peers/peers.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"

/* Addresses as names, so that they need no name service. */
#define FIRST "127.0.0.1"
#define OTHER "127.0.0.2"
#define NODES FIRST "," OTHER
#define JOB 17
#define STARTED (1790000000ull * 1000000000ull)

struct side {
    const char *node;
    char path[128];
    struct store *store; /* owned by the writer, while there is one */
    struct writer *writer;
    struct query *query;
    struct peers *peers;
    sd_event_source *sources[2];
    /* What the hooks answer, and their last arguments. */
    bool busy;
    struct job_account *account; /* borrowed; NULL: the job did nothing there */
    enum peers_job_state known;
    const char *name;               /* in messages; NULL: `node`, as in its store */
    bool stranger;                  /* the other node is not a node of the job */
    enum peers_member member;       /* unless `stranger` */
    bool learning;                  /* Slurm is being asked */
    enum origins_mode check_origin; /* applies when it is started, as do the next two */
    uint64_t late_ns, answers_ns;   /* 0: the defaults */
    unsigned asked;
    struct peers_step step; /* without its nodes */
};
extern struct side first, other;

/* For cmocka: of the group, and of each test. Without munged or root, node_pair_skip() skips. */
int node_pair_begin(void **state);
int node_pair_end(void **state);
int node_pair_setup(void **state);
int node_pair_teardown(void **state);
void node_pair_skip(void);

/* Restart munged: it puts this address into credentials; NULL: its choice. */
void node_pair_set_origin(const char *origin);

/* Run the loop until `is` returns true. */
void node_pair_until(bool (*is)(void));
/* A number of peers_status(). */
uint64_t node_pair_count(const struct side *side, const char *name);

/* Stop everything that uses the store of the node, and start it again. */
void node_pair_stop(struct side *side);
void node_pair_start(struct side *side);

/* For programs that query FIRST; a request whose NAME is this has an answer of a megabyte. */
#define NODE_PAIR_LONG "long"
const char *node_pair_munge_socket(void);
unsigned node_pair_port(void);

/* Let FIRST query the job, like peers_query(). Returns how many other nodes have reported. */
unsigned node_pair_count_answers(const struct peers_step *step);
/* The same with the account of FIRST, of which it takes ownership. Returns the sum of all accounts;
 * free it with job_account_destroy(). */
struct job_account *node_pair_query(struct job_account *job, const struct peers_step *step);
/* A job that starts at STARTED (first_node NULL: unknown) with an ended step on that node that has
 * one write of `bytes`; free it with job_account_destroy(). */
struct job_account *node_pair_job(const struct side *side, const char *first_node, uint32_t step,
                                  uint64_t bytes);
/* Put the job into the store of the stopped node; on OTHER, queue its steps for FIRST. */
void node_pair_put(struct side *side, const struct job_account *job);
/* Run until the outbox of OTHER is empty: everything is sent or refused. */
void node_pair_send(void);
/* The newest job in the store of the node; NULL: none. Free it with job_account_destroy(). */
struct job_account *node_pair_stored(const struct side *side);

#endif
