/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last two readings of a node, which `jobio top` shows. */
#ifndef JOBIO_CLI_TOP_WATCH_H
#define JOBIO_CLI_TOP_WATCH_H

#include "cli/base/cli.h"
#include "cli/top/table.h"
#include "common/error.h"

struct top_watch {
    const struct cli *cli;
    bool services;                    /* count services, too */
    struct top_reading *before, *now; /* owned */
    struct top_frame frame;           /* made of these two */
};

/* Query jobiod for the next reading. 1: the frame is new; 0: the frame is unchanged, because this
 * was the first reading or nothing has changed. Errors of jobiod_top(), or -ENOTSUP: services are
 * requested but not counted; the frame is unchanged. */
int top_watch_read(struct top_watch *watch, unsigned timeout_ms, struct error *error);
void top_watch_clear(struct top_watch *watch);

#endif
