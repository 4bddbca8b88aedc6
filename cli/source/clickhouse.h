/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ClickHouse of [history] of jobio.conf as a source: finished steps of all nodes. Its
 * credentials decide who may query it: they are in a file that not everybody can read.
 */
#ifndef JOBIO_CLI_SOURCE_CLICKHOUSE_H
#define JOBIO_CLI_SOURCE_CLICKHOUSE_H

#include "cli/base/cli.h"
#include "cli/source/source.h"

/* 1: the options, or else jobio.conf, select it. 0: they do not, or only jobio.conf does and this
 * user may not read its password; *ret is untouched. Errors with text. Its calls fail with -EIO if
 * ClickHouse does not answer or refuses. */
int clickhouse_source_open(const struct cli *cli, struct source **ret, struct error *error);

/* For a machine without jobiod, if the options select no source. 1: jobio.conf names a ClickHouse
 * that this user may query; *url is its URL, valid as long as the source. 0: it does not. Errors
 * with text. */
int clickhouse_source_find(const struct cli *cli, struct source **ret, const char **url,
                           struct error *error);

#endif
