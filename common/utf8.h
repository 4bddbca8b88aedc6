/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Untrusted text: names of jobs, mounts and files may contain any bytes. */
#ifndef JOBIO_COMMON_UTF8_H
#define JOBIO_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decode the code point at `text`. Returns its length in bytes; 0 if it is not valid UTF-8. */
size_t utf8_decode(const char *text, uint32_t *ret);
/* The length of the text if it is at most `max` bytes, else where to cut it: not within a UTF-8
 * sequence. For "%.*s". */
int utf8_fit(const char *text, size_t max);
/* Control characters (C0, DEL, C1) and those that change the direction of text. */
bool utf8_is_control(uint32_t code);

/* Returns a copy that is safe on a terminal and in a file: control characters and invalid UTF-8
 * become '?'. malloc'd; NULL on out-of-memory. */
char *utf8_sanitize(const char *text);
/* From now on utf8_sanitize() also replaces everything that is not ASCII, or not any more: on a
 * terminal that does not use UTF-8, bytes of a letter may be C1 control characters. */
void utf8_sanitize_to_ascii(bool yes);
/* As utf8_sanitize() for formats that escape C0 themselves, such as JSON: tabs and newlines stay.
 */
char *utf8_clean(const char *text);
/* As utf8_clean(), with "\xNN" for each replaced byte, so that different texts stay different. The
 * backslash of a literal "\xNN" is escaped, too. */
char *utf8_escape(const char *text);
/* Undo utf8_escape(), in place. */
void utf8_unescape(char *text);

#endif
