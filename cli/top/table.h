/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of `jobio top`, on a terminal's screen or as plain text. */
#ifndef JOBIO_CLI_TOP_TABLE_H
#define JOBIO_CLI_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/top/top.h"

/* What to show. */
struct top_view {
    enum top_by by;
    enum top_key key;
    const char *user; /* NULL: of all users */
    bool idle;        /* also idle rows */
    size_t skip;      /* the number of rows to skip */
    size_t rows;      /* at most; 0: all */
    size_t totals;    /* lines of totals, at most; 0: one per mount */
    size_t lines;     /* below the head, at most; 0: no limit */
};

/* A reading, and the I/O since the previous one. */
struct top_frame {
    const struct top_reading *now;
    struct top_rows rows; /* one per job and mount */
    uint64_t lost;        /* events, since the previous reading */
};

enum top_style {
    TOP_STYLE_PLAIN,
    TOP_STYLE_TITLE,   /* of the head */
    TOP_STYLE_HEADING, /* of a column */
    TOP_STYLE_SORTED,  /* heading of the sort column */
    TOP_STYLE_TOTAL,
    TOP_STYLE_IDLE,
    TOP_STYLE_MINE, /* cell of the sort column */
    TOP_STYLE_WARN,
    TOP_STYLE_BAD,
    TOP_STYLE_COUNT,
};

/* The output: pieces of a line, then its end. Text is UTF-8 without control characters. */
struct top_paper {
    unsigned columns;
    bool bars; /* made of block characters, if there is room */
    bool utf8;
    void (*put)(void *arg, enum top_style style, const char *text);
    void (*end)(void *arg);
    void *arg;
};

/* Draw two lines: what is shown, and how complete it is. */
void top_draw_head(const struct top_paper *paper, const struct top_frame *frame);
/* Draw the headings, the totals by mount, and the rows. Returns the number of all rows; *page (if
 * not NULL): how many there was room for. */
size_t top_draw_table(const struct top_paper *paper, const struct top_frame *frame,
                      const struct top_view *view, size_t *page);

/* Plain text in a FILE, without spaces at the end of a line. `text` must outlive the paper. */
struct top_text {
    FILE *out;
    size_t spaces; /* to write before the next text */
};
struct top_paper top_paper_text(struct top_text *text, unsigned columns);

/* The rows of the view, sorted; ignores skip and rows. 0 or -ENOMEM. */
int top_view_rows(const struct top_frame *frame, const struct top_view *view, struct top_rows *ret);

/* "all jobs", "123", "run", "3 jobs", "(ended)"... buf may be returned. */
const char *top_label(const struct top_frame *frame, const struct top_row *row, char buf[32]);

#endif
