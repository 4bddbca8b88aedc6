/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts that do not work, although they are configured. jobiod counts without them, and its status
 * and its metrics report them. */
#ifndef JOBIO_COLLECTOR_DAEMON_DEGRADED_H
#define JOBIO_COLLECTOR_DAEMON_DEGRADED_H

#include "common/error.h"

struct json_object;
struct tree;

enum degraded_part { DEGRADED_PEERS, DEGRADED_METRICS, DEGRADED_PUSH, DEGRADED_PARTS };

/* All 0: everything works. */
struct degraded {
    struct error why[DEGRADED_PARTS];
};

/* The name of the part, as in jobio.conf. */
const char *degraded_name(enum degraded_part part);
/* Note and log that the part does not work; NULL: it works again. */
void degraded_set(struct degraded *degraded, enum degraded_part part, const struct error *why);
/* An object with the reason for each such part; NULL: all work, or out of memory
 * (noted in the tree). The caller puts it. */
struct json_object *degraded_json(struct tree *tree, const struct degraded *degraded);

#endif
