/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "report/layout.h"

#include <stdbool.h>
#include <stdint.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/utf8.h"

/* Returns the bytes of the character at `p`, and sets the terminal columns that it takes. */
static size_t character(const char *p, size_t *columns)
{
    uint32_t c = '?';
    size_t n = utf8_decode(p, &c);

    *columns = c >= 0x1100 ? 2 : c >= 0x300 && c < 0x370 ? 0 : 1;
    return n ? n : 1;
}

size_t layout_width(const char *text)
{
    size_t sum = 0, columns;

    for (const char *p = text; *p; sum += columns)
        p += character(p, &columns);
    return sum;
}

/* How many bytes of `text` fit into the columns. */
static size_t head_bytes(const char *text, size_t columns)
{
    const char *p = text;

    while (*p) {
        size_t c, n = character(p, &c);

        if (c > columns)
            break;
        columns -= c;
        p += n;
    }
    return (size_t)(p - text);
}

/* The end of `text` that fits into the columns. */
static const char *tail(const char *text, size_t columns)
{
    size_t skip = layout_width(text), c;

    for (; *text && skip > columns; skip -= c)
        text += character(text, &c);
    return text;
}

static char *shorten(const char *text, size_t columns, size_t behind)
{
    _free_ char *clean = utf8_sanitize(text);
    size_t head;
    char *ret;

    if (!clean || layout_width(clean) <= columns)
        return TAKE_PTR(clean);
    head = head_bytes(clean, columns - 1 - behind);
    if (asprintf(&ret, "%.*s~%s", (int)head, clean, tail(clean, behind)) < 0)
        return NULL;
    return ret;
}

char *layout_fit(const char *text, size_t columns)
{
    return shorten(text, columns, columns / 2);
}

char *layout_cut(const char *text, size_t columns)
{
    return shorten(text, columns, 0);
}

static void spaces(FILE *out, size_t n)
{
    fprintf(out, "%*s", (int)n, "");
}

void layout_left(FILE *out, const char *text, size_t columns)
{
    size_t width = layout_width(text);

    fputs(text, out);
    spaces(out, width < columns ? columns - width : 0);
}

void layout_right(FILE *out, const char *text, size_t columns)
{
    size_t width = layout_width(text);

    spaces(out, width < columns ? columns - width : 0);
    fputs(text, out);
}

/* A line is never broken between a number and its unit: "37 %", "1.2 GiB". */
static bool may_break(const char *text, size_t at)
{
    const char *word = text + at + 1;
    bool is_unit = (*word == '%' || isalpha((unsigned char)*word)) && strcspn(word, " ,;.:)") <= 3;

    return text[at] == ' ' && !(is_unit && at && isdigit((unsigned char)text[at - 1]));
}

/* The bytes of the line that starts at `text`: up to the last space that fits. */
static size_t line_bytes(const char *text, size_t columns)
{
    size_t n = head_bytes(text, columns), at = n;

    if (!text[n])
        return n;
    while (at && !may_break(text, at))
        at--;
    return at ? at : n;
}

void layout_wrap(FILE *out, const char *text, size_t columns, size_t indent, size_t lines)
{
    size_t room = columns;

    for (; *text && lines; lines--) {
        size_t n = line_bytes(text, room);
        bool last = lines == 1 && text[n];

        if (last)
            n = line_bytes(text, room - 4);
        fprintf(out, "%.*s%s\n", (int)n, text, last ? " ..." : "");
        text += n;
        text += strspn(text, " ");
        room = columns - indent;
        if (*text && lines > 1)
            spaces(out, indent);
    }
}
