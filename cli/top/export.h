/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jobio top` for programs: the I/O between two readings, exact and as rates. */
#ifndef JOBIO_CLI_TOP_EXPORT_H
#define JOBIO_CLI_TOP_EXPORT_H

#include <stdio.h>

#include "cli/top/table.h"

struct json_object;

/* One document; its rows are those of the view. NULL: out of memory. */
struct json_object *top_export_json(const struct top_frame *frame, const struct top_view *view);

/* The header, and one line per row. */
void top_export_csv_names(FILE *out);
void top_export_csv(FILE *out, const struct top_frame *frame, const struct top_view *view);

#endif
