/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of the command: results on stdout, one line per error on stderr. */
#ifndef JOBIO_CLI_BASE_OUTPUT_H
#define JOBIO_CLI_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"

struct json_object;
struct tree;

/* Set the stream for which text is made from now on: if it is a terminal that is not UTF-8, names
 * become ASCII (utf8_sanitize_to_ascii()), and JSON has escapes. */
void output_set_stream(FILE *out);
/* Whether text is for a document, a file or another machine, which keep all letters. */
void output_is_document(bool yes);

/* One line on stderr, "jobio: ...". Made safe for a terminal. */
void output_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write text to stdout that is already safe for a terminal. */
void output_text(const char *text);

/* A document on one line with a newline, malloc'd: as json-c writes it, but what a terminal could
 * take for a command (DEL, C1, invalid UTF-8) is a \u escape. NULL: out of memory. */
char *output_json_text(struct json_object *document);
/* Write it to stdout. */
void output_json(struct json_object *document);
/* output_json() of a document that it releases. -ENOMEM: the document is NULL or incomplete, and
 * nothing was printed. */
int output_json_and_release(struct json_object *document);
int output_tree(const struct tree *tree, struct json_object *document);
/* Write text to stdout that is JSON already, with those escapes and without a newline. */
void output_json_raw(const char *text);

/* Write `text` to a file, all of it or nothing: a new file replaces the old one. Anything but a
 * regular file (a pipe, a symbolic link...) is written to directly; "-" is stdout. A negative errno
 * with text. */
int output_file(const char *path, const char *text, struct error *error);
/* Test early whether output_file() could write this file. */
int output_file_check(const char *path, struct error *error);

/* Flush stdout at the end, and wait for a pager. Returns `status`, or CLI_FAILED if the output
 * could not be written; a reader that exited early is not a failure. */
int output_finish(int status);

#endif
