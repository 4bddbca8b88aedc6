/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints a table for a terminal, cell by cell: names are left-aligned, numbers right-aligned. A
 * line never ends in spaces.
 */
#ifndef JOBIO_REPORT_TABLE_H
#define JOBIO_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 64

struct table_column {
    const char *title;
    unsigned width; /* columns of the terminal, with the space in front of a number; 0: hidden */
    unsigned least; /* hidden on a terminal with fewer columns */
    bool left;
    unsigned cut; /* longer texts are shortened to this, with a '~'; 0: texts are never cut */
};

/* Set what is not the default after table_make(). */
struct table {
    FILE *out;
    struct table_column columns[TABLE_COLUMNS_MAX];
    size_t n;
    unsigned indent; /* spaces in front of each line */
    unsigned gap;    /* spaces between columns, besides those in their widths */
    unsigned wrap;   /* a line that would be longer continues below, indented by 2; 0: no limit */
    /* Takes the padded cells and the gaps instead of `out`, each in its style; no line is wrapped.
     */
    void (*put)(void *arg, int style, const char *piece);
    void (*end)(void *arg); /* of a line */
    void *arg;
    int style, gap_style; /* of the next cell, and of the space in front of it */
    bool brief;           /* "1.2GiB" and "12k" instead of "1.2 GiB" and "12.0 k" */

    /* The line that is being written. */
    size_t next;
    unsigned used, pad; /* pad: spaces to write before the next text */
};

/* At most TABLE_COLUMNS_MAX columns; those that need a wider terminal are hidden. */
struct table table_make(FILE *out, const struct table_column *columns, size_t n, size_t terminal);

/* How many terminal columns the visible columns take, without the indent. */
unsigned table_width(const struct table *t);

/* Write the titles as a line. */
void table_titles(struct table *t);

/* Write the next cell; nothing if its column is hidden. */
void table_cell(struct table *t, const char *text);
/* "-" for 0. */
void table_bytes(struct table *t, uint64_t bytes);
void table_count(struct table *t, uint64_t count);

/* End the line. */
void table_end(struct table *t);

#endif
