/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The environment of delivery in its tests: an event loop, accounts of jobs, a store for its state,
 * and an adjustable clock for acknowledgements. The gateways are real (gateway.h) or fakes
 * (fake_http.h).
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
    bool hold;   /* do not answer queries; world_answer() does */
    bool refuse; /* answer that there are no accounts */
    unsigned collects;
    char store_dir[32];
    struct store *store;
    char said[16384];
    uint64_t longest_ns; /* longest dispatch of the loop, without the time it waited for a CPU */
    char retired[1024];  /* what `jobio retire` would print */
    size_t retire_failed;
    bool retire_done;
};

int world_setup(void **state);
int world_teardown(void **state);

/* Open its store again, as another process would. */
void world_open_store(struct world *world);

/* Create deliver with these URLs (NULL-terminated), restore its state, and start it. */
void world_open(struct world *world, const char *url, ...) __attribute__((sentinel));
/* End it as a kill would. */
void world_close(struct world *world);

/* A running job that wrote `bytes` in `requests` requests and read twice as much; also in the
 * node's totals. */
struct job_account *world_job(struct world *world, uint32_t jobid, uint64_t requests,
                              uint64_t bytes);
/* The number of state texts of deliver in the store. */
size_t world_kept(const struct world *world);
/* End the job: first the state of deliver, then the account. */
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
/* Run the loop for a time, to show that something does not happen. */
void world_run(struct world *world, uint64_t ns);
void world_step(struct world *world, uint64_t max_ns);
uint64_t world_now(void); /* CLOCK_MONOTONIC */

/* A number of the target's status. */
uint64_t world_number(const struct world *world, size_t target, const char *field);
const char *world_state(const struct world *world, size_t target);
bool world_error_has(const struct world *world, size_t target, const char *text);

void world_retire(struct world *world);

#endif
