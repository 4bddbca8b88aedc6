/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any JSON document as an indented text for people. */
#ifndef JOBIO_CLI_BASE_OUTLINE_H
#define JOBIO_CLI_BASE_OUTLINE_H

#include <stdio.h>

struct json_object;

/* One line per value, "name: value"; objects and arrays indented below their name, an array of
 * plain values on one line, one of flat objects as a table, if that fits into `columns`. '_' in a
 * name becomes a space, and names that end in a unit (_bytes, _ns, _s, _at) have their values
 * written in it. All text is made safe for a terminal. */
void outline_print(struct json_object *document, unsigned columns, FILE *out);

#endif
