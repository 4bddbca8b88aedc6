/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jobiod --check-config`: what a start with these settings would do, without side effects. */
#ifndef JOBIO_COLLECTOR_DAEMON_CONFIG_CHECK_H
#define JOBIO_COLLECTOR_DAEMON_CONFIG_CHECK_H

#include <stdio.h>

#include "collector/daemon/daemon.h"
#include "settings/settings.h"

/* Call `problem` for each setting that jobiod cannot use, and for an unusable store. The text
 * starts with "FILE:LINE: " if a setting is the cause. Returns 0 if there is none. */
int config_check(const struct settings *settings, const struct daemon_options *options,
                 settings_problem_f problem, void *arg);
/* Print what jobiod would do: settings that are not defaults, backend, store, sinks, peers. */
void config_describe(FILE *out, const struct settings *settings,
                     const struct daemon_options *options);

#endif
