/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store file as a source, without asking jobiod. */
#ifndef JOBIO_CLI_SOURCE_NODE_STORE_H
#define JOBIO_CLI_SOURCE_NODE_STORE_H

#include "cli/source/source.h"

/* The store of jobiod on this node. */
#define NODE_STORE_PATH JOBIO_STATEDIR "/jobio.db"

int store_source_open(const char *path, struct source **ret, struct error *error);

#endif
