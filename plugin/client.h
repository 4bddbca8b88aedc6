/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to jobiod with a deadline. While jobiod is marked as down they fail at once. */
#ifndef JOBIO_PLUGIN_CLIENT_H
#define JOBIO_PLUGIN_CLIENT_H

#include <sys/types.h>

#include "common/message.h"
#include "plugin/settings.h"

/* As call(), with the timeout multiplied by the patience of the settings. -EHOSTDOWN: jobiod was
 * not queried, because a request timed out recently. */
int client_ask(const struct settings *settings, struct message *m, unsigned timeout_ms,
               struct error *error);

/* Query jobiod even if it is marked as down, and join the parts of TEXT. A text that does not fit
 * is cut after a complete line. Returns its length. `deadline_ns` is of CLOCK_MONOTONIC. */
ssize_t client_ask_text(const struct settings *settings, struct message *m, uint64_t deadline_ns,
                        char *ret, size_t size, struct error *error);

#endif
