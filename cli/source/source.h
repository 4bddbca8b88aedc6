/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where answers come from: jobiod over its socket; root without a running jobiod reads the store;
 * with --store that file is read and nobody is asked; a ClickHouse, if options or jobio.conf want
 * it (cli/source/clickhouse.h). Every answer is JSON.
 */
#ifndef JOBIO_CLI_SOURCE_SOURCE_H
#define JOBIO_CLI_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/cli.h"
#include "cli/base/jobid.h"
#include "collector/store/store.h"
#include "common/error.h"
#include "common/job.h"
#include "common/message.h"

struct json_object;

/* Ask jobiod: `m` is the question (and is overwritten by the answer), timeout_ms holds for each
 * message of the answer. *ret is the whole TEXT, malloc'd. Errors of call(); when no jobiod runs,
 * the text says what to start (source_is_absent). */
int source_ask(const struct cli *cli, struct message *m, unsigned timeout_ms, char **ret,
               struct error *error);
/* The same for an answer that is JSON. */
int source_ask_json(const struct cli *cli, struct message *m, unsigned timeout_ms,
                    struct json_object **ret, struct error *error);
/* True for the errors of source_ask that mean that no jobiod runs. */
bool source_is_absent(int rc);

/* An array of job documents, newest first; empty: no such job, or not for the caller's eyes. The
 * step of `id` is not looked at. flags: REPORT_STEPS, REPORT_TIMELINE (report/json/json.h). */
int source_jobs(const struct cli *cli, const struct jobid *id, bool all, unsigned flags,
                struct json_object **ret, struct error *error);

/* All runs of these numbers, with their steps, in any order; a number that nobody knows is left
 * out. The account is the source's until the call returns. A negative return of `each`, with text,
 * ends it and is returned. */
typedef int (*source_job_f)(const struct job_account *job, void *arg, struct error *error);
int source_numbers(const struct cli *cli, const uint32_t *numbers, size_t n, source_job_f each,
                   void *arg, struct error *error);

/* The tasks of an array and what they did together, in parts, each as in
 * collector/store/array_json.h; without a task: there is no such array, or not for the caller's
 * eyes. A negative return of `each`, with text, ends it and is returned. */
typedef int (*source_part_f)(struct json_object *part, void *arg, struct error *error);
int source_array(const struct cli *cli, uint32_t array, source_part_f each, void *arg,
                 struct error *error);

/* One call a row of the history (collector/store/history_json.h); filter->uid is not used: jobiod
 * knows who asks. A non-zero return of `each` ends it and is returned. -EPROTONOSUPPORT: the jobiod
 * is an older one that does not know all of the filter. */
int source_rows(const struct cli *cli, const struct history_filter *filter, history_f each,
                void *arg, struct error *error);
/* The same as an array. */
int source_history(const struct cli *cli, const struct history_filter *filter,
                   struct json_object **ret, struct error *error);

#endif
