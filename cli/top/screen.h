/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jobio top` on a terminal, with keys. */
#ifndef JOBIO_CLI_TOP_SCREEN_H
#define JOBIO_CLI_TOP_SCREEN_H

#include "cli/top/watch.h"

/* Run until `count` frames were shown (0: no limit), the user quits, or a signal arrives; restores
 * the terminal. Returns the exit status. */
int top_screen_run(struct top_watch *watch, const struct top_view *view, uint64_t interval_ns,
                   uint32_t count);

/* The versions of ncurses: of its headers, and of the library. */
const char *top_screen_built(void);
const char *top_screen_running(void);

#endif
