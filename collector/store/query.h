/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the store: on a thread and a read-only connection of their own, so that none delays
 * a tag or a write. At most QUERY_MAX wait, and of one user QUERY_EACH; users take turns. Each has
 * a time limit to be begun, and the same again to be answered. What may take long is asked of
 * another one than what is short.
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
    unsigned limit_ms; /* time for one question to be begun, and to be answered; 0: 5 s each */
    unsigned idle_ms;  /* after which the connection is given up, with its memory; 0: never */
};

/* On the query's thread; the store is read-only and its calls fail with -ETIMEDOUT when the time
 * is up. `arg` must not be touched by anyone else before `done`. */
typedef int (*query_run_f)(struct store *reader, void *arg, struct error *error);
/* On the thread that calls query_dispatch, once a question. Frees `arg` if that is due. */
typedef void (*query_done_f)(int result, const struct error *error, void *arg);

/* The store is opened at the first question and again after a failure, so it need not be there
 * yet. */
int query_create(struct query **ret, const struct query_options *options, struct error *error);
/* Before the writer, whose close then tidies up. Interrupts what runs and dispatches every outcome,
 * -ECANCELED for what still waited. NULL is fine. */
void query_destroy(struct query *query);

/* jobiod's own question. -EBUSY: QUERY_MAX wait already; nothing is taken over. */
int query_submit(struct query *query, query_run_f run, query_done_f done, void *arg);
/* A user's. -EBUSY also for more than QUERY_EACH. */
int query_submit_for(struct query *query, uid_t uid, query_run_f run, query_done_f done, void *arg);

/* Readable (POLLIN) when outcomes wait; query_dispatch calls their query_done_f and returns how
 * many. */
int query_fd(const struct query *query);
size_t query_dispatch(struct query *query);

struct query_stats {
    size_t waiting; /* the one that is being answered, too */
    uint64_t refused;
};
void query_stats(struct query *query, struct query_stats *ret);

#endif
