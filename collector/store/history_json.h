/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of `jobio history` as JSON: the answer of jobiod and the output of the command. */
#ifndef JOBIO_COLLECTOR_STORE_HISTORY_JSON_H
#define JOBIO_COLLECTOR_STORE_HISTORY_JSON_H

#include <stdio.h>

#include "collector/store/history.h"
#include "collector/store/store.h"
#include "common/error.h"

struct json_object;

/* One row as an object, owned by the caller. NULL on out-of-memory. Unknown names are omitted.
 * Fields: doc/protocol.md. */
struct json_object *history_row_json(const struct history_row *row);

/* The same as text, without a newline, ten times as fast. Strings are as they are, but for what
 * JSON escapes: bytes that are no UTF-8 stay. */
void history_row_write(const struct history_row *row, FILE *out);

/* Maximum number of rows of an answer over the socket; some 60 MB of text. */
#define HISTORY_ROWS_MAX 100000

/* The rows as the text of a JSON array, malloc'd, at most `max` of them; *cut: there were more that
 * the filter's own limit would have let through. Errors of store_history(). */
int history_answer(struct store *reader, const struct history_filter *filter, uint32_t max,
                   char **ret, bool *cut, struct error *error);

/* The reverse. Strings belong to `row_document`, absent ones are NULL, absent numbers 0; unknown
 * fields are ignored. -EBADMSG with text if it is not a row. */
int history_row_parse(struct json_object *row_document, struct history_row *ret,
                      struct error *error);

#endif
