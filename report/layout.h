/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text fitted into the columns of a terminal. */
#ifndef JOBIO_REPORT_LAYOUT_H
#define JOBIO_REPORT_LAYOUT_H

#include <stddef.h>
#include <stdio.h>

/* The terminal columns of a text, which must be valid UTF-8 (utf8_sanitize). East Asian and other
 * wide characters count as two, even if the terminal shows them narrow. */
size_t layout_width(const char *text);

/* A sanitized copy of untrusted text in at most `columns`. What does not fit is replaced by a '~':
 * in the middle (layout_fit) or at the end (layout_cut). malloc'd, NULL: out of memory. */
char *layout_fit(const char *text, size_t columns);
char *layout_cut(const char *text, size_t columns);

/* Write the text, padded with spaces to `columns`. */
void layout_left(FILE *out, const char *text, size_t columns);
void layout_right(FILE *out, const char *text, size_t columns);

/* Write `text` in lines of at most `columns`, broken at spaces; further lines are indented by
 * `indent`. At most `lines` lines: a text that does not fit ends in "...". */
void layout_wrap(FILE *out, const char *text, size_t columns, size_t indent, size_t lines);

#endif
