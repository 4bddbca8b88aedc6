/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code waited: an icicle of the stacks, with the outermost functions at the top. */
#include "report/html/html_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* Levels of functions, and the height of one. */
#define LEVELS 48
#define ROW 20
/* A narrower function is left out, in 1/10,000 of the width. */
#define LEAST_WIDTH 20

struct icicle {
    FILE *out;
    const struct stack **stacks; /* owned; ordered by their texts */
    size_t n;
    uint64_t total_ns; /* of those with a stack */
};

static int compare(const void *a, const void *b)
{
    return strcmp((*(const struct stack *const *)a)->text, (*(const struct stack *const *)b)->text);
}

/* The function at that level (0: the thread), and its length; NULL: the stack has fewer. */
static const char *part_of(const struct stack *stack, size_t level, size_t *n)
{
    const char *at = stack->text;

    while (level-- && at)
        at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL;
    *n = at ? strcspn(at, ";") : 0;
    return at;
}

static bool is_same(const struct stack *a, const struct stack *b, size_t level)
{
    size_t n, m;
    const char *x = part_of(a, level, &n), *y = part_of(b, level, &m);

    return x && y && n == m && !memcmp(x, y, n);
}

static uint64_t in_width(const struct icicle *icicle, uint64_t ns)
{
    return (uint64_t)((double)ns / (double)icicle->total_ns * 10000);
}

static void write_name(FILE *out, const char *text, size_t n)
{
    _free_ char *copy = strndup(text, n);

    html_text(out, copy ? copy : "");
}

/* A <svg> clips what is in it. */
static void write_cell(const struct icicle *icicle, size_t level, uint64_t at_ns, uint64_t time_ns,
                       const char *text, size_t n)
{
    const char *tab = memchr(text, '\t', n);
    size_t name = tab ? (size_t)(tab - text) : n;
    uint64_t at = in_width(icicle, at_ns), width = in_width(icicle, time_ns);
    char time[UNITS_SIZE], share[UNITS_SIZE];

    (void)fprintf(icicle->out,
                  "<svg x=\"%u.%02u%%\" y=\"%zu\" width=\"%u.%02u%%\" height=\"%d\"><title>",
                  (unsigned)(at / 100), (unsigned)(at % 100), level * ROW, (unsigned)(width / 100),
                  (unsigned)(width % 100), ROW - 1);
    write_name(icicle->out, text, name);
    if (tab)
        (void)fputs(" (", icicle->out);
    if (tab)
        write_name(icicle->out, tab + 1, n - name - 1);
    (void)fprintf(icicle->out, "%s: %s, %s</title><rect width=\"100%%\" height=\"100%%\"/>",
                  tab ? ")" : "", html_time(time_ns, time),
                  units_percent(time_ns, icicle->total_ns, share));
    (void)fputs("<text x=\"4\" y=\"14\">", icicle->out);
    write_name(icicle->out, text, name);
    (void)fputs("</text></svg>\n", icicle->out);
}

/* Draw the stacks [from, to), which have the same functions up to this level. */
static void write_level(const struct icicle *icicle, size_t from, size_t to, size_t level,
                        uint64_t at_ns)
{
    size_t next, n;

    for (size_t i = from; i < to; i = next) {
        const char *text = part_of(icicle->stacks[i], level, &n);
        uint64_t time_ns = icicle->stacks[i]->weight.time_ns;

        next = i + 1;
        while (next < to && is_same(icicle->stacks[i], icicle->stacks[next], level))
            time_ns += icicle->stacks[next++]->weight.time_ns;
        if (text && level < LEVELS && in_width(icicle, time_ns) >= LEAST_WIDTH) {
            write_cell(icicle, level, at_ns, time_ns, text, n);
            write_level(icicle, i, next, level + 1, at_ns);
        }
        at_ns += time_ns;
    }
}

static size_t count_levels(const struct icicle *icicle)
{
    size_t levels = 0, n;

    for (size_t i = 0; i < icicle->n; i++)
        while (levels < LEVELS && part_of(icicle->stacks[i], levels, &n))
            levels++;
    return levels;
}

static void put_picture(const struct icicle *icicle)
{
    (void)fprintf(
        icicle->out,
        "<svg class=\"icicle\" width=\"100%%\" height=\"%zu\" role=\"img\" "
        "aria-label=\"The functions that waited, the outermost ones at the top; the width "
        "is their time\">\n",
        count_levels(icicle) * ROW);
    write_level(icicle, 0, icicle->n, 0, 0);
    (void)fputs("</svg>\n", icicle->out);
}

static void put_note(FILE *out, const struct stack_weight *weight, const char *text)
{
    char calls[UNITS_SIZE], time[UNITS_SIZE];

    if (weight->calls)
        (void)fprintf(out, "<p class=\"small\">%s: %s calls, %s.</p>\n", text,
                      units_count(weight->calls, calls), html_time(weight->time_ns, time));
}

static void put_notes(FILE *out, const struct stack_profile *p)
{
    put_note(out, &p->other, "Further stacks");
    put_note(out, &p->counts.unsampled, "Without a stack, because of the limit per second");
    put_note(out, &p->counts.lost, "Without a stack, because they came too fast");
    put_note(out, &p->failed,
             "Without a stack, because their process is of another user, or the process that "
             "unwinds them failed, was too slow or used up its CPU time");
    put_note(out, &p->truncated, "Truncated, without the outer functions");
    put_note(out, &p->unread, "The process ended before its stack was read");
}

void html_stacks(const struct html *h)
{
    const struct stack_profile *p = h->job->stacks;
    struct icicle icicle = {.out = h->out};
    _free_ const struct stack **stacks = NULL;
    char calls[UNITS_SIZE], least[UNITS_SIZE], time[UNITS_SIZE];

    if (!p || !p->counts.all.calls)
        return;
    html_section(h->out, "code", "Waiting code");
    (void)fprintf(h->out, "<p>%s calls of at least %s took %s.</p>\n",
                  units_count(p->counts.all.calls, calls), html_time(p->least_ns, least),
                  html_time(p->counts.all.time_ns, time));
    icicle.stacks = stacks = calloc(p->n + 1, sizeof(*stacks));
    for (size_t i = 0; stacks && i < p->n; i++)
        stacks[icicle.n++] = &p->stacks[i];
    icicle.total_ns = stack_profile_sum(p).time_ns;
    if (icicle.n && icicle.total_ns) {
        qsort(stacks, icicle.n, sizeof(*stacks), compare);
        put_picture(&icicle);
    }
    put_notes(h->out, p);
    html_section_end(h->out);
}
