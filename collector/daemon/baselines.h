/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cache of the baselines of this node's mounts, because a report has no time to query the store.
 */
#ifndef JOBIO_COLLECTOR_DAEMON_BASELINES_H
#define JOBIO_COLLECTOR_DAEMON_BASELINES_H

#include <systemd/sd-event.h>

#include "common/account.h"
#include "common/error.h"

struct baselines;
struct query;

/* The query must outlive it; it is destroyed after the query's last result. */
int baselines_create(struct baselines **ret, sd_event *loop, struct query *query,
                     struct error *error);
void baselines_destroy(struct baselines *baselines); /* accepts NULL */
/* Set the `baseline` of these mounts. */
void baselines_fill(const struct baselines *baselines, struct io_mounts *mounts);

#endif
