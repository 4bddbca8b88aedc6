/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "report/table.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/units.h"
#include "report/layout.h"

#define WRAP_INDENT 2

struct table table_make(FILE *out, const struct table_column *columns, size_t n, size_t terminal)
{
    struct table t = {.out = out, .n = n < TABLE_COLUMNS_MAX ? n : TABLE_COLUMNS_MAX};

    memcpy(t.columns, columns, t.n * sizeof(*columns));
    for (size_t i = 0; i < t.n; i++)
        if (t.columns[i].least > terminal)
            t.columns[i].width = 0;
    return t;
}

unsigned table_width(const struct table *t)
{
    unsigned sum = 0;

    for (size_t i = 0; i < t->n; i++)
        if (t->columns[i].width)
            sum += t->columns[i].width + (sum ? t->gap : 0);
    return sum;
}

static void write_text(struct table *t, const char *text, unsigned width)
{
    if (!*text)
        return;
    fprintf(t->out, "%*s%s", (int)t->pad, "", text);
    t->used += t->pad + width;
    t->pad = 0;
}

/* Start a new line if a cell of that width would not fit. */
static void wrap_before(struct table *t, unsigned width)
{
    if (!t->wrap || t->used + t->pad + width <= t->wrap)
        return;
    fputc('\n', t->out);
    t->used = 0;
    t->pad = WRAP_INDENT;
}

static void pad_before(struct table *t, unsigned needs)
{
    if (!t->used && !t->pad) {
        t->pad = t->indent;
        return;
    }
    t->pad += t->gap;
    wrap_before(t, needs);
}

static void put_cell(struct table *t, const char *text, bool left, unsigned space)
{
    _free_ char *cell =
        text_format("%*s%s%*s", left ? 0 : (int)space, "", text, left ? (int)space : 0, "");

    if (t->used && t->gap)
        t->put(t->arg, t->gap_style, " ");
    t->used = 1;
    t->put(t->arg, t->style, cell ? cell : "?");
}

void table_cell(struct table *t, const char *text)
{
    const struct table_column *c = &t->columns[t->next++];
    _free_ char *cut = NULL;
    unsigned width, space;

    if (!c->width)
        return;
    if (c->cut) {
        cut = c->left ? layout_fit(text, c->cut) : layout_cut(text, c->cut);
        text = cut ? cut : "?";
    }
    width = (unsigned)layout_width(text);
    space = width < c->width ? c->width - width : 0;
    if (t->put) {
        put_cell(t, text, c->left, space);
        return;
    }
    pad_before(t, width + space);
    t->pad += c->left ? 0 : space;
    write_text(t, text, width);
    t->pad += c->left ? space : 0;
}

void table_bytes(struct table *t, uint64_t bytes)
{
    char buf[UNITS_SIZE];

    table_cell(t, !bytes     ? "-"
                  : t->brief ? units_bytes_short(bytes, buf)
                             : units_bytes(bytes, buf));
}

void table_count(struct table *t, uint64_t count)
{
    char buf[UNITS_SIZE];

    table_cell(t, !count     ? "-"
                  : t->brief ? units_count_short(count, buf)
                             : units_count(count, buf));
}

void table_end(struct table *t)
{
    if (t->put)
        t->end(t->arg);
    else
        fputc('\n', t->out);
    t->next = 0;
    t->used = t->pad = 0;
}

void table_titles(struct table *t)
{
    while (t->next < t->n)
        table_cell(t, t->columns[t->next].title);
    table_end(t);
}
