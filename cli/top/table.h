/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of `jobio top`, in so many columns, on a terminal's screen or as plain text. */
#ifndef JOBIO_CLI_TOP_TABLE_H
#define JOBIO_CLI_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/top/top.h"

/* What was asked for. */
struct top_view {
    enum top_by by;
    enum top_key key;
    const char *user; /* only this one's; NULL: all */
    bool idle;        /* also rows of what did nothing */
    size_t skip;      /* rows, from the first one on */
    size_t rows;      /* at most so many; 0: all */
    size_t totals;    /* lines of totals, at most; 0: one a mount */
    size_t lines;     /* of all that is below the head, at most; 0: no limit */
};

/* A reading, and what was done since the one before. */
struct top_frame {
    const struct top_reading *now;
    struct top_rows rows; /* one a job and mount */
    uint64_t lost;        /* events, since then */
};

enum top_style {
    TOP_STYLE_PLAIN,
    TOP_STYLE_TITLE,   /* what this is */
    TOP_STYLE_HEADING, /* of a column */
    TOP_STYLE_SORTED,  /* of the one that orders the rows */
    TOP_STYLE_TOTAL,
    TOP_STYLE_IDLE,
    TOP_STYLE_MINE, /* the column that orders the rows */
    TOP_STYLE_WARN,
    TOP_STYLE_BAD,
    TOP_STYLE_COUNT,
};

/* Where it goes: pieces of a line, then its end. Text is UTF-8 without control characters. */
struct top_paper {
    unsigned columns;
    bool bars; /* of blocks, where there is room */
    bool utf8;
    void (*put)(void *arg, enum top_style style, const char *text);
    void (*end)(void *arg);
    void *arg;
};

/* Two lines that say what this is, and how complete. */
void top_draw_head(const struct top_paper *paper, const struct top_frame *frame);
/* Heading, totals by mount, rows. Returns how many rows there are in all; *page (if not NULL): how
 * many there was room for. */
size_t top_draw_table(const struct top_paper *paper, const struct top_frame *frame,
                      const struct top_view *view, size_t *page);

/* Plain text in a FILE, without spaces at the end of a line. `text` must outlive the paper. */
struct top_text {
    FILE *out;
    size_t spaces; /* that nothing has followed yet */
};
struct top_paper top_paper_text(struct top_text *text, unsigned columns);

/* The rows of the view, sorted; skip and rows are not looked at. 0 or -ENOMEM. */
int top_view_rows(const struct top_frame *frame, const struct top_view *view, struct top_rows *ret);

/* "all jobs", "123", "run", "3 jobs", "(ended)"... buf may be returned. */
const char *top_label(const struct top_frame *frame, const struct top_row *row, char buf[32]);

#endif
