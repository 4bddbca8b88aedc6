/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to jobiod that never cost more than a deadline, and none at all while it is known to be
 * hung. */
#ifndef JOBIO_PLUGIN_CLIENT_H
#define JOBIO_PLUGIN_CLIENT_H

#include <sys/types.h>

#include "common/message.h"
#include "plugin/settings.h"

/* As call(), with the patience of the settings; -EHOSTDOWN: it was not asked, because a hook met a
 * deadline a short while ago. */
int client_ask(const struct settings *settings, struct message *m, unsigned timeout_ms,
               struct error *error);

/* Ask, mark or not, and put the parts of TEXT together. A text that does not fit is cut behind a
 * line. Returns its length. `deadline_ns` is of CLOCK_MONOTONIC. */
ssize_t client_ask_text(const struct settings *settings, struct message *m, uint64_t deadline_ns,
                        char *ret, size_t size, struct error *error);

#endif
