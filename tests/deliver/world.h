/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What surrounds delivery in its tests: an event loop, accounts of jobs, a store for what it keeps,
 * and a clock for acknowledgements that can be moved. The gateways are real (gateway.h) or say that
 * they are fakes (fake_http.h).
 */
#ifndef JOBIO_TESTS_WORLD_H
#define JOBIO_TESTS_WORLD_H

#include <stdbool.h>

#include "collector/deliver/node_queue.h"
#include "collector/store/store.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

#define WORLD_JOBS 64
#define WORLD_URLS 3

struct world {
    sd_event *loop;
    struct node_queue *deliver;
    struct node_queue_options options; /* short times; change them before world_open() */
    const char *urls[WORLD_URLS];
    struct io_mounts totals;
    struct job_account *jobs[WORLD_JOBS];
    size_t n_jobs;
    bool hold;   /* leave questions open: world_answer() answers */
    bool refuse; /* answer that the accounts cannot be had */
    unsigned collects;
    char store_dir[32];
    struct store *store;
    char said[16384];
    uint64_t longest_ns; /* dispatch of the loop */
    char retired[1024];  /* what `jobio retire` would print */
    size_t retire_failed;
    bool retire_done;
};

int world_setup(void **state);
int world_teardown(void **state);

/* Open its store once more, as another process would. */
void world_open_store(struct world *world);

/* Make deliver with these URLs (up to a NULL), give it what is kept, start it. */
void world_open(struct world *world, const char *url, ...) __attribute__((sentinel));
/* As a kill would end it. */
void world_close(struct world *world);

/* A running job that wrote `bytes` in `requests` requests and read the double; it is in the node's
 * totals as well. */
struct job_account *world_job(struct world *world, uint32_t jobid, uint64_t requests,
                              uint64_t bytes);
/* How many texts deliver has in the store. */
size_t world_kept(const struct world *world);
/* It ends: first what deliver keeps, then the account. */
void world_end(struct world *world, struct job_account *job);
void world_answer(struct world *world);

/* Move the clock of the acknowledgements. */
void world_pass(uint64_t ns);

/* Run the loop until the condition holds; fail after 15 s. */
#define world_until(world, condition)                                                 \
    do {                                                                              \
        uint64_t until_end_ = world_now() + 15 * S;                                   \
        while (!(condition)) {                                                        \
            if (world_now() > until_end_)                                             \
                fail_msg("not within 15 s: %s; said: %s", #condition, (world)->said); \
            world_step(world, 20 * MS);                                               \
        }                                                                             \
    } while (0)
/* Run the loop for a time: only to show that something does not happen. */
void world_run(struct world *world, uint64_t ns);
void world_step(struct world *world, uint64_t max_ns);
uint64_t world_now(void); /* CLOCK_MONOTONIC */

/* Of the target's status. */
uint64_t world_number(const struct world *world, size_t target, const char *field);
const char *world_state(const struct world *world, size_t target);
bool world_error_has(const struct world *world, size_t target, const char *text);

void world_retire(struct world *world);

#endif
