/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jobiod --detach`: the end of counting. */
#ifndef JOBIO_COLLECTOR_DAEMON_DETACH_H
#define JOBIO_COLLECTOR_DAEMON_DETACH_H

#include <stdio.h>

#include "collector/daemon/daemon.h"

/* Remove the programs, maps and links of this instance, the file that announces them to the plugin,
 * and its empty cgroups, and print what was removed. Safe to repeat. -EBUSY: a jobiod runs. */
int detach_instance(const struct daemon_options *options, FILE *out, struct error *error);

#endif
