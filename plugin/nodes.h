/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of a job or a step, from a hostlist of Slurm. */
#ifndef JOBIO_PLUGIN_NODES_H
#define JOBIO_PLUGIN_NODES_H

#include "common/message.h"

/* The names must fit into a message next to the other fields. */
#define NODES_MAX (MESSAGE_MAX - 4096)

/* Expand a hostlist such as "n[1-4,7]" into names separated by commas, with the functions of the
 * Slurm program that loaded the plugin. -ENOENT: it has none, or the list is empty or not as
 * Slurm writes it; -EMSGSIZE: too many names. */
int nodes_expand(const char *from, char ret[NODES_MAX]);

/* Put NODE, GATHER (the first node of the job, which runs its batch script and gathers its account)
 * and NODELIST (all nodes) into the message. They are read from the hostlist `list`; NULL: that in
 * the environment of the prolog. -ENOENT and -EMSGSIZE as above; with too many names, GATHER is put
 * without NODELIST. */
int nodes_put(struct message *m, const char *node, const char *list);

#endif
