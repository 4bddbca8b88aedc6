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

/* The same as text, without a newline, ten times as fast. Bytes that are not UTF-8 are copied. */
void history_row_write(const struct history_row *row, FILE *out);

/* Maximum number of rows of an answer over the socket; some 60 MB of text. */
#define HISTORY_ROWS_MAX 100000

/* Up to `max` rows as the text of a JSON array, malloc'd. *cut: the filter selects more rows.
 * Errors as of store_history(). */
int history_answer(struct store *reader, const struct history_filter *filter, uint32_t max,
                   char **ret, bool *cut, struct error *error);

/* Read such a row. `row_document` owns the strings. Missing strings are NULL, missing numbers 0,
 * and unknown fields are ignored. -EBADMSG with text if it is not a row. */
int history_row_parse(struct json_object *row_document, struct history_row *ret,
                      struct error *error);

#endif
