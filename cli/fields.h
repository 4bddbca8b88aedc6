/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of `jobio history`, in the manner of sacct. */
#ifndef JOBIO_CLI_FIELDS_H
#define JOBIO_CLI_FIELDS_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/store.h"
#include "common/error.h"

#define FIELDS_MAX 64
#define FIELDS_DEFAULT "JobID,User,JobName,Elapsed,Read,Write,Meta,Waiting,Exact"

struct field;

/* One column of a table: which field, how wide, and where its text stands. */
struct column {
    const struct field *field;
    unsigned width;
    bool left;
};

struct columns {
    struct column items[FIELDS_MAX];
    size_t n;
};

/* "JobID,Read%12,JobName%-20": names in any case, %N for another width, %-N to the left. -EINVAL
 * with text. */
int columns_parse(const char *list, struct columns *ret, struct error *error);

/* The header and the dashes under it (aligned), or the header alone (parsable). */
void columns_header(const struct columns *columns, bool parsable, FILE *out);
/* One row. Aligned: numbers as people read them, texts cut to the width with a '+' (numbers never
 * are). Parsable: exact numbers between '|'. Untrusted text is made safe. 0 or -ENOMEM. */
int columns_row(const struct columns *columns, const struct history_row *row, bool parsable,
                FILE *out);

/* One line a field, for --helpformat. */
void fields_list(FILE *out);

#endif
