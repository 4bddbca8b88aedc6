/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real clickhouse-server on loopback with its own configuration, ports and directory. */
#ifndef JOBIO_TESTS_CLICKHOUSE_H
#define JOBIO_TESTS_CLICKHOUSE_H

#include <stdbool.h>
#include <sys/types.h>

struct clickhouse {
    pid_t pid; /* 0: not running */
    int port;
    char url[64];
    char directory[64];
};

bool clickhouse_installed(void);
/* Make its directory and configuration (user "default" from localhost, user "writer" with password
 * "w"). It does not run yet. */
void clickhouse_make(struct clickhouse *server);
/* Memory limit of a query, to be set before the start; 0: none. */
void clickhouse_limit(const struct clickhouse *server, unsigned long bytes);
/* Start it and wait until it answers. */
void clickhouse_start(struct clickhouse *server);
/* Kill it, as a power failure would. Does nothing if it does not run. */
void clickhouse_kill(struct clickhouse *server);
void clickhouse_remove(struct clickhouse *server);

/* The answer to one statement, malloc'd; fails the test if the status is not 200. */
char *clickhouse_ask(const struct clickhouse *server, const char *sql);
void clickhouse_do(const struct clickhouse *server, const char *sql);
/* The text of a file in sql/clickhouse without comment lines, malloc'd. */
char *clickhouse_sql(const char *file);
/* Run all statements of a file in sql/clickhouse. */
void clickhouse_run(const struct clickhouse *server, const char *file);
/* Make the database jobio with its empty table and views. */
void clickhouse_reset(const struct clickhouse *server);

#endif
