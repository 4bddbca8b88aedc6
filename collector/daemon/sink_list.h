/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where jobiod sends data, in words. */
#ifndef JOBIO_COLLECTOR_DAEMON_SINK_LIST_H
#define JOBIO_COLLECTOR_DAEMON_SINK_LIST_H

#include "settings/settings.h"

/* "sinks: ...; peers: ..."; malloc'd. NULL: out of memory. */
char *sink_list(const struct settings *settings);

#endif
