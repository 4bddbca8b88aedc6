/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of the cluster: from jobio.conf, else from Slurm. */
#ifndef JOBIO_COLLECTOR_DAEMON_CLUSTER_H
#define JOBIO_COLLECTOR_DAEMON_CLUSTER_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "common/error.h"
#include "settings/settings.h"

struct cluster {
    char *name;        /* owned */
    char source[4160]; /* where it was found, for people */
    bool provisional;  /* nothing names it: it is the default, until slurm.conf exists */
};
void cluster_clear(struct cluster *cluster);

/* In this order: `cluster` in jobio.conf; ClusterName in the file $SLURM_CONF, in
 * /etc/slurm/slurm.conf, in the copies that slurmd fetches if it is configless; the name that was
 * used last on this node (a file in the state directory), because these copies do not exist before
 * slurmd runs; else the default. -ENOMEM. */
int cluster_find(struct cluster *ret, const struct settings *settings, const char *state_dir,
                 struct error *error);
/* Remember the name for the next start, unless it is provisional. Failures are logged. */
void cluster_keep(const struct cluster *cluster, const char *state_dir);
/* ClusterName of a slurm.conf and the files that it includes, in lower case as Slurm uses it;
 * malloc'd. NULL: none. */
char *cluster_of_file(const char *path);

/* While the name is provisional: look for it every second, and end the loop when it is known, so
 * that systemd starts jobiod anew. slurmd fetches its configuration before the first job. *ret
 * stays NULL if the name is known. */
int cluster_watch(sd_event_source **ret, sd_event *loop, const struct cluster *cluster,
                  struct error *error);

#endif
