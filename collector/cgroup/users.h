/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of users, for jobs whose prolog has not reported one. The name service may hang, so it is
 * called on a thread that is never waited for, not even at the end of the process.
 */
#ifndef JOBIO_COLLECTOR_CGROUP_USERS_H
#define JOBIO_COLLECTOR_CGROUP_USERS_H

#include <sys/types.h>

#include "common/error.h"

struct users;

/* Called on that thread. Returns the malloc'd name; NULL: none. */
typedef char *(*users_lookup_f)(uid_t uid);

/* look_up NULL: getpwuid_r. */
int users_create(struct users **ret, users_lookup_f look_up, struct error *error);
/* Does not wait for a running lookup. NULL is fine. */
void users_destroy(struct users *users);

/* Never blocks. The name, malloc'd; NULL if it is not known yet: then the lookup starts, and a
 * later call may return it. */
char *users_find_name(struct users *users, uid_t uid);

#endif
