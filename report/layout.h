/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text in columns of a terminal. */
#ifndef JOBIO_REPORT_LAYOUT_H
#define JOBIO_REPORT_LAYOUT_H

#include <stddef.h>
#include <stdio.h>

/* How many columns a text takes, of which utf8_sanitize made sure that it is UTF-8. East Asian and
 * other wide characters count two, also where a terminal shows them narrow. */
size_t layout_width(const char *text);

/* A sanitized copy of untrusted text in at most `columns`, with a '~' for what was cut from its
 * middle, or from its end. malloc'd, NULL: no memory. */
char *layout_fit(const char *text, size_t columns);
char *layout_cut(const char *text, size_t columns);

/* Write the text, padded with spaces to `columns`. */
void layout_left(FILE *out, const char *text, size_t columns);
void layout_right(FILE *out, const char *text, size_t columns);

/* Write `text` in lines of at most `columns`, broken at spaces, further lines behind `indent`
 * spaces. At most `lines` of them: what does not fit ends in "...". */
void layout_wrap(FILE *out, const char *text, size_t columns, size_t indent, size_t lines);

#endif
