/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real clickhouse-server on loopback with a configuration, ports and a directory of its own. */
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
/* Its directory, its configuration (user "default" from here, user "writer" with password "w"); it
 * does not run yet. */
void clickhouse_make(struct clickhouse *server);
/* The memory of a question, before it is started; 0: any. */
void clickhouse_limit(const struct clickhouse *server, unsigned long bytes);
/* Start it and wait until it answers. */
void clickhouse_start(struct clickhouse *server);
/* As a power failure would. Nothing if it does not run. */
void clickhouse_kill(struct clickhouse *server);
void clickhouse_remove(struct clickhouse *server);

/* The answer to one statement, malloc'd; fails the test if it is no 200. */
char *clickhouse_ask(const struct clickhouse *server, const char *sql);
void clickhouse_do(const struct clickhouse *server, const char *sql);
/* All statements of a file below sql/clickhouse of the source. */
void clickhouse_run(const struct clickhouse *server, const char *file);
/* A database jobio with its table and views, and nothing in them. */
void clickhouse_reset(const struct clickhouse *server);

#endif
