/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of clickhouse.h share. */
#ifndef JOBIO_CLI_SOURCE_CLICKHOUSE_IMPL_H
#define JOBIO_CLI_SOURCE_CLICKHOUSE_IMPL_H

#include "cli/source/clickhouse.h"

struct clickhouse {
    struct settings *settings;
    char *url, *table, *userpwd; /* userpwd NULL: none */
    const char *cluster;         /* NULL: all */
    char own[24];                /* "AND uid = N": jobs of this user only; "": of all */
};

/* A parameter of a statement: what stands for ":name" in it. */
struct clickhouse_value {
    const char *name, *text; /* text is SQL; clickhouse_quote() what is not */
};
/* As a literal of SQL, malloc'd; NULL: no memory. */
char *clickhouse_quote(const char *text);
/* A statement with its values, in which nothing is looked at again; malloc'd, NULL: no memory. */
char *clickhouse_fill(const char *sql, const struct clickhouse_value *values, size_t n);

/* The condition on the cluster, "AND ..." or "" for all; malloc'd, NULL: no memory. */
char *clickhouse_cluster(const struct clickhouse *clickhouse);

int clickhouse_no_memory(struct error *error); /* -ENOMEM */

/* Run a statement that ends in FORMAT JSONEachRow: one call a row. A negative return of `each` ends
 * it and is returned. */
typedef int (*clickhouse_row_f)(struct json_object *row, void *arg, struct error *error);
int clickhouse_ask(struct clickhouse *clickhouse, const char *sql,
                   const struct clickhouse_value *values, size_t n, clickhouse_row_f each,
                   void *arg, struct error *error);
/* All rows of the jobs for which that condition holds, one job after the other: ask_job.sql.
 * `which` NULL: there was no memory for it. */
int clickhouse_ask_jobs(struct clickhouse *clickhouse, const char *which, clickhouse_row_f each,
                        void *arg, struct error *error);

#endif
