/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries to jobiod over its socket. Its answers are JSON, which is parsed here. */
#ifndef JOBIO_CLI_SOURCE_JOBIOD_H
#define JOBIO_CLI_SOURCE_JOBIOD_H

#include <stdbool.h>

#include "cli/base/cli.h"
#include "cli/base/jobid.h"
#include "cli/source/source.h"
#include "report/top/top.h"

struct json_object;

/* jobiod as a source. If jobiod is not running, root reads the store of this node instead if there
 * is one; otherwise the ClickHouse of jobio.conf answers, if it names one that this user may query,
 * else the jobiod of [ask]. All are reported on stderr. `cli` must outlive it. */
int jobiod_source_open(const struct cli *cli, struct source **ret, struct error *error);

/* True for the errors that mean that jobiod is not running. */
bool jobiod_is_absent(int rc);

/* Queries that only jobiod can answer. Errors of call() (common/call.h); the text says what to do
 * if jobiod is not running. */

/* A document for people; jobiod defines its members (json_object_put it). */
int jobiod_status(const struct cli *cli, struct json_object **ret, struct error *error);
/* The current reading; free it with top_reading_destroy(). */
int jobiod_top(const struct cli *cli, bool services, unsigned timeout_ms, struct top_reading **ret,
               struct error *error);
/* The trace of a job or step on this node as a document: format "otlp" or "chrome"; NULL: otlp.
 * *ret is malloc'd. */
int jobiod_trace(const struct cli *cli, const struct jobid *id, const char *format, char **ret,
                 struct error *error);
/* Delete what this node has pushed. *ret is a line for each target, malloc'd; "": there is none. */
int jobiod_retire(const struct cli *cli, char **ret, struct error *error);
/* Start counting the calling process and its children as a run; *ret is its number. strict: fail if
 * this jobiod counts nothing, or uses a backend that its settings name. */
int jobiod_run_start(const struct cli *cli, const char *command, bool strict, uint64_t *ret,
                     struct error *error);
/* End it, ago_ns after the end of its command. *ret is its account; free it with
 * job_account_destroy(). */
int jobiod_run_end(const struct cli *cli, uint64_t run, uint64_t ago_ns, struct job_account **ret,
                   struct error *error);

#endif
