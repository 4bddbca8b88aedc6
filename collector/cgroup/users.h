/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of users, for jobs whose prolog has told none. The name service may hang: it is asked on a
 * thread that nobody ever waits for, not even at the end of the process.
 */
#ifndef JOBIO_COLLECTOR_CGROUP_USERS_H
#define JOBIO_COLLECTOR_CGROUP_USERS_H

#include <sys/types.h>

#include "common/error.h"

struct names;

/* On that thread: the malloc'd name, NULL: none. */
typedef char *(*names_ask_f)(uid_t uid);

/* ask NULL: getpwuid_r. */
int names_create(struct names **ret, names_ask_f ask, struct error *error);
/* Does not wait for an answer that is under way. NULL is fine. */
void names_destroy(struct names *names);

/* At once: the name, malloc'd, or NULL if it is not known (yet: then the service is asked, and a
 * later call may know it). */
char *names_find(struct names *names, uid_t uid);

#endif
