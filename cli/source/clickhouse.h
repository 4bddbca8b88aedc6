/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history of all nodes, asked from the ClickHouse that [history] of jobio.conf names. Who may
 * ask is settled there: the password is in a file that not everybody can read.
 */
#ifndef JOBIO_CLI_SOURCE_CLICKHOUSE_H
#define JOBIO_CLI_SOURCE_CLICKHOUSE_H

#include "cli/base/cli.h"
#include "cli/base/jobid.h"
#include "collector/store/store.h"
#include "common/error.h"

struct clickhouse;
struct json_object;
typedef int (*clickhouse_job_f)(const struct job_account *job, void *arg, struct error *error);

/* Whether the options, or else jobio.conf, want it: 1 and what to ask it with, or 0: ask the store,
 * also where only the configuration wants it and its password is not for this user. Errors with
 * text. */
int clickhouse_open(const struct cli *cli, struct clickhouse **ret, struct error *error);
void clickhouse_close(struct clickhouse *clickhouse); /* NULL is fine */

/* As store_jobs() or, of a task, store_task_jobs(), and as source_history(), from what has been
 * delivered: finished steps. -EIO: it cannot be asked, or said no. */
int clickhouse_jobs(struct clickhouse *clickhouse, const struct jobid *id, bool all,
                    struct job_account ***ret, struct error *error);
/* As source_numbers(). */
int clickhouse_numbers(struct clickhouse *clickhouse, const uint32_t *numbers, size_t n,
                       clickhouse_job_f each, void *arg, struct error *error);
int clickhouse_history(struct clickhouse *clickhouse, const struct history_filter *filter,
                       struct json_object **ret, struct error *error);

/* The tasks of an array. To read them is as store_array(), but at least ARRAY_TASKS_MAX tasks and
 * one more, if there are so many; what `each` returns below 0 must be -ENOMEM, and `from` never
 * goes back. The clickhouse must stay. */
struct clickhouse_array;
int clickhouse_array_open(struct clickhouse *clickhouse, uint32_t number,
                          struct clickhouse_array **ret, struct error *error);
void clickhouse_array_close(struct clickhouse_array *array); /* NULL is fine */
int clickhouse_array_read(struct clickhouse_array *array, uint32_t from, store_job_f each,
                          void *arg, struct error *error);

#endif
