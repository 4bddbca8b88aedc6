/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of the terminal behind stdout. */
#ifndef JOBIO_CLI_BASE_TERMINAL_H
#define JOBIO_CLI_BASE_TERMINAL_H

#include <stdbool.h>

#define TERMINAL_COLUMNS_MIN 20
#define TERMINAL_COLUMNS_DEFAULT 80

/* stdout is a terminal, also if a pager was started (cli/base/pager.h). */
bool terminal_is(void);

/* How many columns a line may have: COLUMNS if that is a number, else the terminal's width, else
 * 80; at least 20. */
unsigned terminal_columns(void);
/* The same for text that is wrapped: 0 (no limit) if stdout is not a terminal and COLUMNS is not
 * set, because a file or another program needs complete lines. */
unsigned terminal_bound(void);
/* The terminal's lines; 0: none, or not known. */
unsigned terminal_lines(void);

/* The locale is UTF-8 (nl_langinfo(CODESET)); cli_main() sets the locale. */
bool terminal_utf8(void);

/* TERM is not set, or "dumb": the terminal can only show lines. */
bool terminal_is_dumb(void);

/* Whether to use colour: stdout is a terminal that is not dumb, and NO_COLOR is not set (or
 * empty). */
bool terminal_colour(void);

/* Keep what the functions above return although stdout is replaced, for example by a pager. */
void terminal_keep(void);

#endif
