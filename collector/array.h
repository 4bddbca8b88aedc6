/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job array: what jobiod answers, and what the command reads from a store itself. */
#ifndef JOBIO_COLLECTOR_ARRAY_H
#define JOBIO_COLLECTOR_ARRAY_H

#include "collector/store.h"

/* {"tasks":[rows of the history, by task],"sum":a job document} as text, malloc'd: the sum has the
 * mounts of all tasks, and their run times and waits added up. uid UINT32_MAX: whoever's it is. No
 * task: nobody, or not this user, has such an array. */
int array_answer(struct store *reader, uint32_t array, uint32_t uid, char **ret,
                 struct error *error);

#endif
