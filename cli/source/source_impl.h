/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of source.h share. */
#ifndef JOBIO_CLI_SOURCE_SOURCE_IMPL_H
#define JOBIO_CLI_SOURCE_SOURCE_IMPL_H

#include "cli/source/source.h"

/* For a message of the answer: jobiod begins a question within 5 s and answers it in 5 more, or
 * says that it cannot. */
#define SOURCE_MS 15000

/* The store of --store, or this node's. */
int source_open_store(const struct cli *cli, struct store **ret, struct error *error);
/* rc: of the question to jobiod. That it does not run is no error for root, who can read the store;
 * says so. */
bool source_may_read_store(const struct cli *cli, int rc);

#endif
