/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of users, for jobs whose prolog has not reported one. The name service may hang, so it is
 * called on a thread that is never waited for, not even at the end of the process.
 */
#ifndef JOBIO_COLLECTOR_CGROUP_USERS_H
#define JOBIO_COLLECTOR_CGROUP_USERS_H

#include <sys/types.h>

#include "common/error.h"

struct names;

/* Called on that thread. Returns the malloc'd name; NULL: none. */
typedef char *(*names_lookup_f)(uid_t uid);

/* look_up NULL: getpwuid_r. */
int names_create(struct names **ret, names_lookup_f look_up, struct error *error);
/* Does not wait for a running lookup. NULL is fine. */
void names_destroy(struct names *names);

/* Never blocks. The name, malloc'd; NULL if it is not known yet: then the lookup starts, and a
 * later call may return it. */
char *names_find(struct names *names, uid_t uid);

#endif
