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

/* Print one line with the verdict, and below it, indented, one line for each cause that needs more
 * words. Members that an older jobiod does not send are taken as in order. All text is made safe
 * for a terminal. jobio(1) has the table of the causes. */
enum verdict status_verdict_print(struct json_object *document, FILE *out);

#endif
