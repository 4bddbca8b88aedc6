/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two readings of a node, one after the other: what `jobio top` shows. */
#ifndef JOBIO_CLI_TOP_WATCH_H
#define JOBIO_CLI_TOP_WATCH_H

#include "cli/base/cli.h"
#include "cli/top/table.h"
#include "common/error.h"

struct top_watch {
    const struct cli *cli;
    bool services;                    /* these, too */
    struct top_reading *before, *now; /* owned */
    struct top_frame frame;           /* of these two */
};

/* Ask jobiod for the next reading. 1: the frame is new; 0: there is none yet, because this was the
 * first reading, or it has not changed; errors of jobiod_top, -ENOTSUP: services are wanted
 * and not counted: the frame stays as it is. */
int top_watch_read(struct top_watch *watch, unsigned timeout_ms, struct error *error);
void top_watch_clear(struct top_watch *watch);

#endif
