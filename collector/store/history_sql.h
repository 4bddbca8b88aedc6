/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translates a filter of the history into statements: the texts of sql/history, with parameters
 * such that an index serves them. */
#ifndef JOBIO_COLLECTOR_STORE_HISTORY_SQL_H
#define JOBIO_COLLECTOR_STORE_HISTORY_SQL_H

#include "collector/store/store_impl.h"

/* A list as a bound value: a single word as is, so that an index can return it in order; several
 * words as JSON. */
struct choice {
    char *text;
    size_t n;
};

enum { BY_USER, BY_UID, BY_ACCOUNT, BY_PARTITION, BY_NAME, CHOICES };

struct history_sql {
    const struct history_filter *filter;
    struct choice by[CHOICES];
    char *mounts; /* JSON; NULL: all */
    size_t n_mounts;
    char *nodes, *numbers, *tasks; /* JSON; NULL: all. tasks: [[array, first, last],...] */
    uint64_t longest_ns;           /* upper bound of the elapsed time of ended jobs */
    uint64_t first_ns, since_ns, until_ns;
};

/* Fill *ret, which must be zeroed; `filter` must outlive it. Clear it even after an error.
 * -EINVAL: a malformed list. */
int history_sql_init(struct store *store, const struct history_filter *filter,
                     struct history_sql *ret, struct error *error);
void history_sql_clear(struct history_sql *sql);

/* Prepare a text of sql/history and bind its parameters; those that the filter does not set stay
 * unbound. The caller finalizes the statement before it clears `sql`. */
int history_sql_prepare(struct store *store, const char *text, const struct history_sql *sql,
                        sqlite3_stmt **ret, struct error *error);
/* Rebind a parameter. Does nothing if the statement has no parameter of that name. */
void history_sql_bind(sqlite3_stmt *statement, const char *name, uint64_t value);

/* The caller aggregates and sorts the rows; those of a job, one per mount, are adjacent. */
bool history_sql_is_table(const struct history_filter *filter);

#endif
