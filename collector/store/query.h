/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries of the store, on a thread and a read-only connection of their own, so that none delays a
 * tag or a write. At most QUERY_MAX are queued, and QUERY_EACH per user; users take turns. Each
 * query has a time limit to start, and the same again to finish. Long and short queries use
 * different threads.
 */
#ifndef JOBIO_COLLECTOR_STORE_QUERY_H
#define JOBIO_COLLECTOR_STORE_QUERY_H

#include <stddef.h>
#include <sys/types.h>

#include "collector/store/store.h"

#define QUERY_MAX 64
#define QUERY_EACH 16

struct query;

struct query_options {
    const char *path;  /* of the store */
    const char *name;  /* of the thread, at most 15 bytes; NULL: "jobiod-query" */
    unsigned limit_ms; /* time limit of a query to start, and again to finish; 0: 5 s each */
    unsigned idle_ms;  /* close an idle connection after this, to free its memory; 0: never */
};

/* On the query's thread; the store is read-only and its calls fail with -ETIMEDOUT when the time
 * is up. No other code may touch `arg` before `done`. */
typedef int (*query_run_f)(struct store *reader, void *arg, struct error *error);
/* Called once per query, on the thread that calls query_dispatch. Must free `arg` if necessary. */
typedef void (*query_done_f)(int result, const struct error *error, void *arg);

/* The store is opened at the first query, and again after a failure, so it need not exist yet. */
int query_create(struct query **ret, const struct query_options *options, struct error *error);
/* Destroy it before the writer, whose close then cleans up. Interrupts the running query and
 * dispatches every outcome, -ECANCELED for queued queries. Accepts NULL. */
void query_destroy(struct query *query);

/* Submit a query of jobiod itself. -EBUSY: QUERY_MAX are queued; the caller keeps `arg`. */
int query_submit(struct query *query, query_run_f run, query_done_f done, void *arg);
/* Submit a query of a user. -EBUSY also if the user has QUERY_EACH queued. */
int query_submit_for(struct query *query, uid_t uid, query_run_f run, query_done_f done, void *arg);

/* Readable (POLLIN) when outcomes are pending; query_dispatch calls their query_done_f and returns
 * their number. */
int query_fd(const struct query *query);
size_t query_dispatch(struct query *query);

struct query_stats {
    size_t waiting; /* including the running one */
    uint64_t refused;
};
void query_stats(struct query *query, struct query_stats *ret);

#endif
