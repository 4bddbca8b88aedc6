/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobio.conf says of the tracker. */
#ifndef JOBIO_COLLECTOR_DAEMON_TRACKER_SETTINGS_H
#define JOBIO_COLLECTOR_DAEMON_TRACKER_SETTINGS_H

#include "collector/track/options.h"
#include "settings/settings.h"

/* Set the options that come from settings. The settings must outlive the tracker. */
void tracker_settings_apply(const struct settings *settings, struct tracker_options *options);

#endif
