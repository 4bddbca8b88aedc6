/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store that feeds a real ClickHouse (feed.h, clickhouse.h). */
#ifndef JOBIO_TESTS_HISTORY_RIG_H
#define JOBIO_TESTS_HISTORY_RIG_H

#include "tests/deliver/clickhouse.h"
#include "tests/deliver/feed.h"

extern struct clickhouse rig_server;

/* Of a group of tests: the server. */
int rig_start(void **state);
int rig_remove(void **state);
/* Of a test: an empty database in it, and a store. */
int rig_setup(void **state);
#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, feed_teardown)

/* What the server answers. */
void rig_assert_answer(const char *sql, const char *want);
/* Into the store: a job that was requeued, and another holder of its number; with a loss, and what
 * it could not count. */
void rig_put_odd_jobs(void);

#endif
