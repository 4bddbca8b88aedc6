/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command says: answers on stdout, one line an error on stderr. */
#ifndef JOBIO_CLI_OUTPUT_H
#define JOBIO_CLI_OUTPUT_H

struct json_object;

/* One line on stderr, "jobio: ...". Made safe for a terminal. */
void output_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text that is already safe for a terminal, as it is, to stdout. */
void output_text(const char *text);

/* A document on one line, malloc'd, with a newline: as json-c writes it, with what a terminal could
 * take for a command (DEL, C1, bytes that are no UTF-8) as \u escapes. NULL: no memory. */
char *output_json_text(struct json_object *document);
/* The same to stdout. */
void output_json(struct json_object *document);

/* Flush stdout at the end. `status`, or CLI_FAILED when the output could not be written; a reader
 * that went away is no failure. */
int output_finish(int status);

#endif
