/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the terminal that stdout leads to can show. */
#ifndef JOBIO_CLI_BASE_TERMINAL_H
#define JOBIO_CLI_BASE_TERMINAL_H

#include <stdbool.h>

#define TERMINAL_COLUMNS_MIN 20
#define TERMINAL_COLUMNS_DEFAULT 80

/* stdout is a terminal. A pager that was started for it (cli/base/pager.h) changes nothing. */
bool terminal_is(void);

/* How many columns a line may have: COLUMNS if that is a number, else the terminal's width, else
 * 80; at least 20. */
unsigned terminal_columns(void);
/* The same for text that flows: 0, not to be bound, where stdout is no terminal and COLUMNS is not
 * set, because a file or another program wants whole lines. */
unsigned terminal_bound(void);
/* The terminal's lines; 0: none, or not known. */
unsigned terminal_lines(void);

/* The locale is UTF-8 (nl_langinfo(CODESET)); cli_main() has set it. */
bool terminal_utf8(void);

/* TERM is not set, or "dumb": lines are all that it can show. */
bool terminal_is_dumb(void);

/* Colour is wanted: stdout is a terminal that is not dumb, NO_COLOR is not set (or empty). */
bool terminal_colour(void);

/* stdout becomes something else that is shown on the terminal, such as a pager: keep what was asked
 * for until now. */
void terminal_keep(void);

#endif
