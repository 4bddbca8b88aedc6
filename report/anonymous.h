/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of people, jobs and machines taken out of a document that leaves the site. */
#ifndef JOBIO_REPORT_ANONYMOUS_H
#define JOBIO_REPORT_ANONYMOUS_H

struct json_object;
struct anonymous;

/* What stands for a name is "user1", "user2"..., the same for the same name as long as it lives. */
struct anonymous *anonymous_create(void);            /* NULL: no memory */
void anonymous_destroy(struct anonymous *anonymous); /* NULL is fine */

/* Learn a name of that kind ("user", "account", "name", "cluster", "node") that may be in texts.
 * NULL and "" are fine. 0 or -ENOMEM. */
int anonymous_learn(struct anonymous *anonymous, const char *kind, const char *name);

/* Replace in the document, in place: the members user, account, name, cluster, node, partition,
 * source and link, jobid and array_jobid (by 1, 2...), uid (by 65534), start_s and end_s (the first start
 * becomes 1980), and in its texts (mount, summary, text, cause, missing, command) the names that are
 * known, where they are words. 0 or -ENOMEM. */
int anonymous_apply(struct anonymous *anonymous, struct json_object *document);

#endif
