/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of a job or a step, from a list of Slurm's. */
#ifndef JOBIO_PLUGIN_NODES_H
#define JOBIO_PLUGIN_NODES_H

#include "common/message.h"

/* Room for names that fit into a message beside all else. */
#define NODES_MAX (MESSAGE_MAX - 4096)

/* The names of a list such as "n[1-4,7]", with commas between. Lists are read by the functions of
 * the Slurm program that has loaded us. -ENOENT: it has none, or the list is empty; -EMSGSIZE: too
 * many. */
int nodes_expand(const char *from, char ret[NODES_MAX]);

/* From `list`, or from the environment of the prolog if that is NULL: put NODE, GATHER (the first
 * node of the job, where its batch script runs and its account comes together) and NODELIST (all of
 * them). -ENOENT and -EMSGSIZE as above; with too many, GATHER is there without NODELIST. */
int nodes_put(struct message *m, const char *node, const char *list);

#endif
