/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store that is delivered to a real ClickHouse (feed.h, clickhouse.h). */
#ifndef JOBIO_TESTS_HISTORY_RIG_H
#define JOBIO_TESTS_HISTORY_RIG_H

#include "tests/deliver/clickhouse.h"
#include "tests/deliver/feed.h"

extern struct clickhouse rig_server;

/* Group setup and teardown: the server. */
int rig_start(void **state);
int rig_remove(void **state);
/* Test setup and teardown: an empty database and a store. */
int rig_setup(void **state);
#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, feed_teardown)

/* Compare the server's answer. */
void rig_assert_answer(const char *sql, const char *want);
/* Store a job that was requeued, and another job with the same number; with a loss and unsupported
 * operations. */
void rig_put_odd_jobs(void);

/* Store how Slurm ended the job, and queue a row of it. */
void rig_put_state(uint32_t jobid, enum slurm_state state);
/* Make the table that of the first release, without the columns of newer ones. */
void rig_make_old_table(void);

#endif
