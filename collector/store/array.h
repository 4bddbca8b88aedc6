/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job array: a row for each of its tasks, and the sum of all. */
#ifndef JOBIO_COLLECTOR_STORE_ARRAY_H
#define JOBIO_COLLECTOR_STORE_ARRAY_H

#include <stdbool.h>

#include "collector/store/store.h"

/* The row of the history for a task. Its texts are those of the account. */
struct history_row array_row(const struct job_account *task);

/* The sum of all tasks: their mounts, elapsed times and waits. */
struct array_sum {
    struct job_account *job; /* owned */
    bool nodes_unknown;      /* for at least one task */
};
int array_sum_create(struct array_sum *ret); /* 0 or -ENOMEM */
void array_sum_clear(struct array_sum *sum);
/* Add a task, or the sum of several tasks. Returns 0 or -ENOMEM. */
int array_sum_add(struct array_sum *sum, const struct job_account *job);

/* Receives an array: each task once, in their order, and one or several sums, which together are
 * the sum of all tasks. Rows and accounts are valid until the call returns. A negative return, with
 * text, stops the reading and is returned. */
struct array_reader {
    int (*task)(const struct history_row *row, void *arg, struct error *error);
    int (*sum)(const struct job_account *sum, void *arg, struct error *error);
    void *arg;
};

#endif
