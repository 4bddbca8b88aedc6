/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of the command: answers on stdout, one line per error on stderr. */
#ifndef JOBIO_CLI_BASE_OUTPUT_H
#define JOBIO_CLI_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"

struct json_object;
struct tree;

/* Text that is made from now on is for that stream: if it is a terminal that is not UTF-8, names
 * are made ASCII (utf8_sanitize_to_ascii()), and JSON has escapes. */
void output_goes_to(FILE *out);
/* Or is it for a document, a file or another machine, which keep all letters? */
void output_is_document(bool yes);

/* One line on stderr, "jobio: ...". Made safe for a terminal. */
void output_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text that is already safe for a terminal, as it is, to stdout. */
void output_text(const char *text);

/* A document on one line, malloc'd, with a newline: as json-c writes it, with what a terminal could
 * take for a command (DEL, C1, bytes that are no UTF-8) as \u escapes. NULL: no memory. */
char *output_json_text(struct json_object *document);
/* The same to stdout. */
void output_json(struct json_object *document);
/* The same of a document that was made just now, which it releases. -ENOMEM: it is NULL, or not
 * whole, and nothing was said. */
int output_made(struct json_object *document);
int output_tree(const struct tree *tree, struct json_object *document);
/* Text that is JSON already to stdout, with those escapes and without a newline. */
void output_json_raw(const char *text);

/* Write `text` to a file, which then has all of it, or is as it was: a new file takes the place of
 * an old one. What is no file (a pipe, a symbolic link...) is written to as it is; "-" is stdout. A
 * negative errno with text. */
int output_file(const char *path, const char *text, struct error *error);
/* Test early whether output_file() could write this file. */
int output_file_check(const char *path, struct error *error);

/* Flush stdout at the end, and wait for a pager. `status`, or CLI_FAILED when the output could not
 * be written; a reader that exited early is not a failure. */
int output_finish(int status);

#endif
