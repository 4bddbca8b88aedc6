/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job array: what jobiod answers, and what the command reads from a store itself. */
#ifndef JOBIO_COLLECTOR_STORE_ARRAY_JSON_H
#define JOBIO_COLLECTOR_STORE_ARRAY_JSON_H

#include <stdbool.h>

#include "collector/store/store.h"

/* Tasks in one answer at most, so that one takes some MiB and a part of a second: fewer, if their
 * steps worked on many mounts. */
#define ARRAY_TASKS_MAX 1000

/* Tasks together: the mounts of all, and their run times and waits added up. */
struct array_sum {
    struct job_account *job; /* owned */
    bool nodes_unknown;      /* of one of them */
};
int array_sum_create(struct array_sum *ret); /* 0 or -ENOMEM */
void array_sum_clear(struct array_sum *sum);
/* One more: a task, or what is the sum of some. 0 or -ENOMEM. */
int array_sum_add(struct array_sum *sum, const struct job_account *job);

/* {"tasks":[rows of the history, by task],"sum":a job document,"next":N} as text, malloc'd: tasks
 * from `from` on, as many as are in an answer, and their sum; *more, and "next", if there are
 * others from task N on. uid UINT32_MAX: whoever's it is. No task: nobody, or not this user, has
 * such an array. */
int array_answer(struct store *reader, uint32_t array, uint32_t uid, uint32_t from, char **ret,
                 bool *more, struct error *error);
/* The same of tasks that come from elsewhere, in their order from `from` on: one call of `each` a
 * task, until one does not return 0. */
typedef int (*array_source_f)(void *source, uint32_t from, store_job_f each, void *arg,
                              struct error *error);
int array_answer_of(array_source_f tasks, void *source, uint32_t from, char **ret, bool *more,
                    struct error *error);

#endif
