/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Escaping, units, and the HTML elements that all parts use. */
#include "report/html/html_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/utf8.h"

static const char *entity(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* U+FFFE and U+FFFF are valid UTF-8, but not allowed in XML. */
static bool is_no_character(const char *p)
{
    return !strncmp(p, "\xef\xbf\xbe", 3) || !strncmp(p, "\xef\xbf\xbf", 3);
}

/* Writes one character of clean text; returns the position after it. */
static const char *put_character(FILE *out, const char *p)
{
    const char *name = entity(*p);

    if (is_no_character(p)) {
        (void)fputc('?', out);
        return p + 3;
    }
    if (name)
        (void)fputs(name, out);
    else
        (void)fputc(*p, out);
    return p + 1;
}

void html_text(FILE *out, const char *text)
{
    _free_ char *clean = utf8_sanitize(text ? text : "?");

    for (const char *p = clean ? clean : "?"; *p;)
        p = put_character(out, p);
}

void html_path(FILE *out, const char *path)
{
    _free_ char *clean = utf8_sanitize(path ? path : "?");

    for (const char *p = clean ? clean : "?"; *p;) {
        bool may_break = *p == '/' && p[1];

        p = put_character(out, p);
        (void)fputs(may_break ? "<wbr/>" : "", out);
    }
}

void html_sentence(FILE *out, const char *text)
{
    _free_ char *clean = utf8_sanitize(text);
    const char *p = clean ? clean : "?";
    size_t n = strlen(p);
    bool ends = n && strchr(".!?", p[n - 1]);

    if (*p >= 'a' && *p <= 'z')
        (void)fputc(*p++ - 'a' + 'A', out);
    while (*p) {
        if (p[0] == ' ' && p[1] == '%') {
            (void)fputs("\xc2\xa0", out); /* no-break space */
            p++;
        } else {
            p = put_character(out, p);
        }
    }
    (void)fputs(ends ? "" : ".", out);
}

const char *html_colour(size_t place)
{
    static const char *const classes[HTML_COLOURS] = {"m1", "m2", "m3", "m4", "m5", "m6", "m7"};

    return place < HTML_COLOURS ? classes[place] : "m0";
}

char *html_plain(char *text)
{
    char *point = strstr(text, ".0 ");

    if (point)
        memmove(point, point + 2, strlen(point + 2) + 1);
    return text;
}

char *html_time(uint64_t ns, char buf[UNITS_SIZE])
{
    uint64_t minutes = ns / UINT64_C(60000000000);

    if (ns < UINT64_C(120000000000))
        return units_time(ns, buf);
    if (minutes < 600)
        (void)snprintf(buf, UNITS_SIZE, "%u min", (unsigned)minutes);
    else if (minutes < 60000)
        (void)snprintf(buf, UNITS_SIZE, "%.1f h", (double)minutes / 60);
    else
        strcat(units_count_short(minutes / 60, buf), " h");
    return buf;
}

char *html_latency(uint64_t bound, char buf[UNITS_SIZE])
{
    if (bound == UINT64_MAX)
        return strcpy(buf, "> 137 s"); /* 2^37 ns, where the last bucket begins */
    return html_time(bound, buf);
}

void html_section(FILE *out, const char *id, const char *title)
{
    (void)fprintf(out,
                  "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
                  id, id, id, title);
}

void html_section_end(FILE *out)
{
    (void)fputs("</section>\n", out);
}

/* Focusable, so that the arrow keys can scroll it. */
void html_table(FILE *out, const char *class, const char *title)
{
    (void)fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", out);
    html_text(out, title);
    (void)fprintf(out, "\"><table class=\"%s\">\n", class);
}

void html_table_end(FILE *out)
{
    (void)fputs("</tbody>\n</table></div>\n", out);
}
