/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of a job, from the environment that slurmd gives to its prolog. */
#ifndef JOBIO_PLUGIN_NODES_H
#define JOBIO_PLUGIN_NODES_H

#include "common/message.h"

/* Put NODE, GATHER (the first node of the job, where its batch script runs and its account comes
 * together) and NODELIST (all of them, with commas). Lists are read by the
 * functions of the Slurm program that has loaded us. -ENOENT: it has none, or there is no list;
 * -EMSGSIZE: too many nodes for a message; then GATHER is there without NODELIST. */
int nodes_put(struct message *m, const char *node);

#endif
