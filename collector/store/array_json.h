/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job array as JSON: written by jobiod, read by the command. */
#ifndef JOBIO_COLLECTOR_STORE_ARRAY_JSON_H
#define JOBIO_COLLECTOR_STORE_ARRAY_JSON_H

#include <stdbool.h>

#include "collector/store/array.h"
#include "collector/store/store.h"

struct json_object;

/* An answer has at most this many tasks, so that it takes a few MiB and a fraction of a second;
 * fewer if their steps used many mounts. */
#define ARRAY_TASKS_MAX 1000

/* {"tasks":[rows of the history, by task],"sum":a job document,"next":N} as text, malloc'd: the
 * tasks from number `from` on, up to the limit of an answer, and their sum. *more, and "next", are
 * set if there are more tasks, from N on. uid UINT32_MAX: any user. No task: there is no such
 * array, or this user may not see it. */
int array_answer(struct store *reader, uint32_t array, uint32_t uid, uint32_t from, char **ret,
                 bool *more, struct error *error);

/* Read such an answer. *next is 0 if it was the last one; `from` is the requested task number.
 * Errors of `reader`; -EBADMSG with text. */
int array_answer_parse(struct json_object *answer, uint32_t from, const struct array_reader *reader,
                       uint32_t *next, struct error *error);

#endif
