/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history of all nodes, asked from the ClickHouse that [history] of jobio.conf names. Who may
 * ask is settled there: the password is in a file that not everybody can read.
 */
#ifndef JOBIO_CLI_CLICKHOUSE_H
#define JOBIO_CLI_CLICKHOUSE_H

#include "cli/cli.h"
#include "cli/jobid.h"
#include "collector/store.h"
#include "common/error.h"

struct clickhouse;
struct json_object;

/* Whether the options, or else jobio.conf, want it: 1 and what to ask it with, or 0: ask the store,
 * also where only the configuration wants it and its password is not for this user. Errors with
 * text. */
int clickhouse_open(const struct cli *cli, struct clickhouse **ret, struct error *error);
void clickhouse_close(struct clickhouse *clickhouse); /* NULL is fine */

/* As store_jobs() or, of a task, store_task_jobs(), and as source_history(), from what has been
 * delivered: finished steps. -EIO: it cannot be asked, or said no. */
int clickhouse_jobs(struct clickhouse *clickhouse, const struct jobid *id, bool all,
                    struct job_account ***ret, struct error *error);
int clickhouse_history(struct clickhouse *clickhouse, const struct history_filter *filter,
                       struct json_object **ret, struct error *error);
/* As store_array(), but at least ARRAY_TASKS_MAX tasks and one more, if there are so many; what
 * `each` returns below 0 must be -ENOMEM. */
int clickhouse_array(struct clickhouse *clickhouse, uint32_t array, uint32_t from, store_job_f each,
                     void *arg, struct error *error);

#endif
