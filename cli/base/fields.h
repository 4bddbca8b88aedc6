/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of `jobio history`, in the manner of sacct. */
#ifndef JOBIO_CLI_BASE_FIELDS_H
#define JOBIO_CLI_BASE_FIELDS_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/store/store.h"
#include "common/error.h"

#define FIELDS_MAX 64
#define FIELDS_WITH(field) "JobID,User,JobName,Elapsed,Read,Write," field ",Wait,Exact"
#define FIELDS_DEFAULT FIELDS_WITH("Meta")

struct field;

/* One column of a table: its field, width and alignment. */
struct column {
    const struct field *field;
    unsigned width;
    bool left;
};

struct columns {
    struct column items[FIELDS_MAX];
    size_t n;
    unsigned bound; /* aligned: longer lines are wrapped and indented; 0: no limit */
    bool dropped;   /* columns_fit() left "Exact" out */
};

/* How a table is written. Untrusted text is sanitized in each form. */
enum table_form {
    TABLE_ALIGNED,  /* numbers for people; texts are cut to the width and end in a '+' then (numbers
                     * are never cut) */
    TABLE_PARSABLE, /* exact numbers between '|' */
    TABLE_BARS,     /* the same with a '|' at the end of each line */
    TABLE_CSV,      /* RFC 4180, exact numbers; a ' precedes a text that a spreadsheet would take
                     * for a formula */
};

/* "JobID,Read%12,JobName%-20": names in any case, %N for another width, %-N to the left. `groups`:
 * for rows of groups, which have no JobID. -EINVAL with text. */
int columns_parse(const char *list, bool groups, struct columns *ret, struct error *error);
/* All fields that such rows have. */
void columns_all(bool groups, struct columns *ret);
/* Drop less important columns, but never the field `kept` (may be NULL), until a line is at most
 * `bound` characters wide. */
void columns_fit(struct columns *columns, unsigned bound, const char *kept);

/* The header and the dashes under it (aligned), or the header alone. */
void columns_header(const struct columns *columns, enum table_form form, FILE *out);
/* One row. 0 or -ENOMEM. */
int columns_row(const struct columns *columns, const struct history_row *row, enum table_form form,
                FILE *out);

/* One line per field, for --helpformat. */
void fields_list(FILE *out);

/* One field of a CSV; NULL is written as an empty text. 0 or -ENOMEM. */
int csv_text(FILE *out, const char *text);

#endif
