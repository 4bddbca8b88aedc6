/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of clickhouse.h. */
#ifndef JOBIO_CLI_SOURCE_CLICKHOUSE_IMPL_H
#define JOBIO_CLI_SOURCE_CLICKHOUSE_IMPL_H

#include "cli/source/clickhouse.h"

struct json_object;
struct settings;

struct clickhouse {
    struct source source;
    struct settings *settings;   /* owned */
    char *url, *table, *userpwd; /* owned; userpwd NULL: none */
    const char *cluster;         /* NULL: all */
    char own[24];                /* "AND uid = N": jobs of this user only; "": of all users */
};

/* A parameter of a statement: replaces ":name". */
struct clickhouse_value {
    const char *name, *text; /* text is SQL; use clickhouse_quote() for anything else */
};
/* An SQL literal, malloc'd; NULL: out of memory. */
char *clickhouse_quote(const char *text);
/* A statement with its values, which are not expanded again; malloc'd, NULL: out of memory. */
char *clickhouse_fill(const char *sql, const struct clickhouse_value *values, size_t n);

/* The condition on the cluster, "AND ..." or "" for all; malloc'd, NULL: out of memory. */
char *clickhouse_cluster(const struct clickhouse *clickhouse);

int clickhouse_no_memory(struct error *error); /* -ENOMEM */

/* Run a statement that ends in FORMAT JSONEachRow: one call per row. A negative return of `each`
 * stops it and is returned. */
typedef int (*clickhouse_row_f)(struct json_object *row, void *arg, struct error *error);
int clickhouse_ask(struct clickhouse *clickhouse, const char *sql,
                   const struct clickhouse_value *values, size_t n, clickhouse_row_f each,
                   void *arg, struct error *error);
/* Read all rows of the jobs that match the condition, one job after the other: ask_job.sql. `which`
 * NULL: -ENOMEM. */
int clickhouse_ask_jobs(struct clickhouse *clickhouse, const char *which, clickhouse_row_f each,
                        void *arg, struct error *error);

/* The functions of struct source_ops. */
int clickhouse_jobs(struct source *source, const struct jobid *id, bool all, unsigned parts,
                    struct job_account ***ret, struct error *error);
int clickhouse_numbers(struct source *source, const uint32_t *numbers, size_t n, source_job_f each,
                       void *arg, struct error *error);
int clickhouse_history(struct source *source, const struct history_filter *filter, history_f each,
                       void *arg, struct error *error);
int clickhouse_array(struct source *source, uint32_t array, const struct array_reader *reader,
                     struct error *error);

#endif
