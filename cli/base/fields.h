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

/* One column of a table: which field, how wide, and where its text stands. */
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

/* How a table is written. Untrusted text is made safe in each. */
enum table_form {
    TABLE_ALIGNED,  /* numbers as people read them, texts cut to the width with a '+' (numbers never
                     * are) */
    TABLE_PARSABLE, /* exact numbers between '|' */
    TABLE_CSV,      /* RFC 4180, exact numbers; a text that a spreadsheet would take for a formula
                     * has a ' in front */
};

/* "JobID,Read%12,JobName%-20": names in any case, %N for another width, %-N to the left. `groups`:
 * for rows of groups, which have no JobID. -EINVAL with text. */
int columns_parse(const char *list, bool groups, struct columns *ret, struct error *error);
/* Drop less important columns, but never the field `kept` (may be NULL), until a line is at most
 * `bound` characters wide. */
void columns_fit(struct columns *columns, unsigned bound, const char *kept);

/* The header and the dashes under it (aligned), or the header alone. */
void columns_header(const struct columns *columns, enum table_form form, FILE *out);
/* One row. 0 or -ENOMEM. */
int columns_row(const struct columns *columns, const struct history_row *row, enum table_form form,
                FILE *out);

/* One line a field, for --helpformat. */
void fields_list(FILE *out);

/* One field of a CSV; a NULL text is an empty one. 0 or -ENOMEM. */
int csv_text(FILE *out, const char *text);

#endif
