/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a node counts, from jobiod's status document. */
#ifndef JOBIO_CLI_STATUS_VERDICT_H
#define JOBIO_CLI_STATUS_VERDICT_H

#include <stdio.h>

struct json_object;

/* The exit statuses of `jobio status`, those of a monitoring plugin. */
enum verdict {
    VERDICT_OK = 0,
    VERDICT_DEGRADED = 1,
    VERDICT_NOT_COUNTING = 2,
    VERDICT_UNKNOWN = 3, /* the state cannot be read, or the command line is invalid */
};

/* "OK", "DEGRADED", "NOT COUNTING", "UNKNOWN". */
const char *status_verdict_name(enum verdict verdict);

/* Judge a document. *line: what a line says after the verdict. *details: the lines below it, one
 * for each cause that needs more words. Both malloc'd, NULL on out-of-memory, and safe for a
 * terminal. Members that an older jobiod does not send are taken as in order. jobio(1) has the
 * table of the causes. */
enum verdict status_verdict_get(struct json_object *document, char **line, char **details);
/* Print one line with the verdict, and the details below it, indented. */
enum verdict status_verdict_print(struct json_object *document, FILE *out);

#endif
