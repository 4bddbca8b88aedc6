/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobiod: creates all parts and connects them on one event loop. */
#ifndef JOBIO_COLLECTOR_DAEMON_DAEMON_H
#define JOBIO_COLLECTOR_DAEMON_DAEMON_H

#include <stdbool.h>

#include "settings/settings.h"
#include "common/error.h"

struct cluster;
struct daemon;

struct daemon_options {
    const char *runtime_dir;       /* "/run/jobio" */
    const char *state_dir;         /* "/var/lib/jobio" */
    const char *pin_dir;           /* NULL: derived from the runtime directory */
    const struct cluster *cluster; /* of settings->cluster; NULL: from the settings */
};

/* Set everything up, adopt the steps of an earlier process, and listen at the socket. SIGTERM,
 * SIGINT and SIGCHLD must be blocked. The settings and the cluster must outlive it. -EBUSY: another
 * jobiod serves this runtime directory. -ENOTRECOVERABLE: an admin must change the settings or
 * repair the store first. */
int daemon_create(struct daemon **ret, const struct daemon_options *options,
                  const struct settings *settings, struct error *error);
/* Run until SIGTERM or SIGINT. */
int daemon_run(struct daemon *daemon, struct error *error);
/* The pinned programs continue to count. Accepts NULL. */
void daemon_destroy(struct daemon *daemon);

#endif
