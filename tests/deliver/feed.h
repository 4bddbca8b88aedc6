/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The environment of a history sink in its tests: an event loop, and the store with its outbox,
 * which the sink queries directly. The databases are real (clickhouse.h) or fakes (fake_http.h).
 */
#ifndef JOBIO_TESTS_FEED_H
#define JOBIO_TESTS_FEED_H

#include <stdbool.h>

#include "collector/deliver/kinds.h"
#include "collector/deliver/step_queue.h"
#include "collector/store/store.h"
#include "tests/unit/store_data.h" /* the store is `opened` */

struct feed {
    sd_event *loop;
    struct step_queue *sink;
    struct step_queue_options options; /* short times; change them before feed_open() */
    unsigned reads, delivered, refused;
    unsigned slow_rows; /* reading more rows takes too long; 0: no limit */
    size_t largest;     /* batch, in bytes */
    char why[512];      /* of the last refusal */
    char said[8192];
};
extern struct feed feed;

int feed_setup(void **state);
int feed_teardown(void **state);

/* Make and start the sink; end it as a kill would. */
void feed_open(const char *url);
void feed_close(void);

/* Store and queue one step of a job on two mounts, with `scale` reads of 4096 bytes on one of them.
 * user NULL: alice. */
void feed_put(uint32_t jobid, uint32_t step, uint64_t scale, const char *user);
/* End the job. */
void feed_end(uint32_t jobid);

/* Run the loop until the condition holds; fail after a minute. */
#define feed_until(condition)                                                         \
    do {                                                                              \
        uint64_t until_end_ = feed_now() + 60 * SECOND;                               \
        while (!(condition)) {                                                        \
            if (feed_now() > until_end_)                                              \
                fail_msg("not within a minute: %s; said: %s", #condition, feed.said); \
            feed_step();                                                              \
        }                                                                             \
    } while (0)
void feed_step(void);
uint64_t feed_now(void);

struct outbox_stats feed_stats(void);
/* A number of the sink's status. */
uint64_t feed_number(const char *field);
const char *feed_text(const char *field);
/* The uncompressed body of a request, malloc'd. */
char *feed_gunzip(const char *body, size_t size);
/* Query the store; malloc'd text: rows of '|'-separated columns. */
char *feed_sql(const char *sql);

#endif
