/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that users chose: names of jobs, mounts and files, in any bytes. */
#ifndef JOBIO_COMMON_UTF8_H
#define JOBIO_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at `text`. Returns its length in bytes; 0 for what is not UTF-8. */
size_t utf8_decode(const char *text, uint32_t *ret);
/* The length of the text if it is at most `max` bytes, else where to cut it: not within a UTF-8
 * sequence. For "%.*s". */
int utf8_fit(const char *text, size_t max);
/* What may move the cursor, change the terminal or turn the direction of a line. */
bool utf8_is_control(uint32_t code);

/* A copy of untrusted text that is safe on a terminal and in a file: control characters (C0, DEL,
 * C1, and those that turn the direction of a line) and invalid UTF-8 become '?'. malloc'd, NULL: no
 * memory. */
char *utf8_sanitize(const char *text);
/* Whether from now on all that is not ASCII becomes '?' there: for a terminal that is not UTF-8, to
 * which a byte in the middle of a letter may be C1. */
void utf8_sanitize_to_ascii(bool yes);
/* The same for a writer that escapes C0 itself, such as JSON: tabs, newlines... stay. */
char *utf8_clean(const char *text);
/* The same with "\xNN" for each byte of what is not wanted, so that different texts stay different;
 * where a text has such a "\xNN" itself, its backslash is escaped, too. */
char *utf8_escape(const char *text);
/* The reverse, in place. */
void utf8_unescape(char *text);

#endif
