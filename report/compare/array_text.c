/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of an array. */
#include <math.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/compare/array.h"
#include "report/layout.h"

#define MOUNTS 8

enum unit { UNIT_ELAPSED, UNIT_SHARE, UNIT_BYTES, UNIT_COUNT };

static const struct {
    const char *label;
    enum unit unit;
} lines[ARRAY_MEASURES] = {
    [ARRAY_ELAPSED] = {"run time", UNIT_ELAPSED}, [ARRAY_WAITING] = {"waiting", UNIT_SHARE},
    [ARRAY_READ] = {"read", UNIT_BYTES},          [ARRAY_WRITTEN] = {"written", UNIT_BYTES},
    [ARRAY_META] = {"metadata", UNIT_COUNT},      [ARRAY_ERRORS] = {"errors", UNIT_COUNT},
};

/* Widths; on a narrow terminal the sums and the smallest give way. */
struct table {
    FILE *out;
    size_t columns, label, value;
    bool narrow;
};

static void value_cell(const struct table *t, enum unit unit, double value)
{
    uint64_t whole = value > 0 ? (uint64_t)llround(value) : 0;
    char buf[UNITS_SIZE];

    if (unit == UNIT_ELAPSED)
        units_elapsed((uint64_t)llround(value * 1e9), buf);
    else if (unit == UNIT_SHARE)
        units_percent((uint64_t)llround(value * 1e6), 1000000, buf);
    else if (unit == UNIT_BYTES)
        units_bytes(whole, buf);
    else
        units_count(whole, buf);
    layout_right(t->out, value > 0 ? buf : "-", t->value);
}

static void measure_line(const struct table *t, const struct array *array, int measure)
{
    const struct array_range *range = &array->ranges[measure];
    enum unit unit = lines[measure].unit;
    char task[16];

    if (range->max <= 0)
        return;
    layout_left(t->out, lines[measure].label, t->label);
    if (!t->narrow) {
        value_cell(t, unit, range->sum);
        value_cell(t, unit, range->min);
    }
    value_cell(t, unit, range->median);
    value_cell(t, unit, range->max);
    (void)snprintf(task, sizeof(task), "%u", range->most);
    layout_right(t->out, range->max > range->min ? task : "-", t->narrow ? 6 : 9);
    fputc('\n', t->out);
}

static void measure_head(const struct table *t)
{
    layout_left(t->out, "", t->label);
    if (!t->narrow) {
        layout_right(t->out, "all tasks", t->value);
        layout_right(t->out, "smallest", t->value);
    }
    layout_right(t->out, "median", t->value);
    layout_right(t->out, "largest", t->value);
    layout_right(t->out, "task", t->narrow ? 6 : 9);
    fputc('\n', t->out);
}

static void title(const struct table *t, const struct array *array)
{
    _free_ char *name = utf8_sanitize(array->name ? array->name : ""),
                *user = utf8_sanitize(array->user ? array->user : ""), *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    fprintf(out, "Array %u", array->jobid);
    if (name && *name)
        fprintf(out, " \"%s\"", name);
    if (user && *user)
        fprintf(out, " of %s", user);
    fprintf(out, ": %zu task%s", array->n, array->n == 1 ? "" : "s");
    if (array->running)
        fprintf(out, ", %zu of them running (as last stored)", array->running);
    fprintf(out, array->incomplete ? ", %zu not complete" : ", complete", array->incomplete);
    if (fclose(out) == 0)
        layout_wrap(t->out, text, t->columns, 2, 3);
}

static void share_cell(const struct table *t, double part)
{
    char buf[UNITS_SIZE];

    if (!t->narrow)
        (void)units_percent((uint64_t)llround(part * 1e6), 1000000, buf);
    else
        (void)snprintf(buf, sizeof(buf), part < 0.01 ? "<1%%" : "%.0f%%", 100 * part);
    layout_right(t->out, buf, t->narrow ? 7 : 11);
}

static void mount_line(const struct table *t, const struct profile_mount *m)
{
    size_t label = t->narrow ? 12 : 28, width = t->narrow ? 7 : 10;
    _free_ char *name = layout_fit(m->mount, label - 1);
    char *(*bytes)(uint64_t, char *) = t->narrow ? units_bytes_short : units_bytes;
    char *(*count)(uint64_t, char *) = t->narrow ? units_count_short : units_count;
    const struct profile_use *use = m->uses;
    char buf[UNITS_SIZE];
    double errors = profile_mount_errors(m), wait = profile_mount_wait(m);

    layout_left(t->out, name ? name : "?", label);
    layout_right(
        t->out,
        use[PROFILE_READ].bytes > 0 ? bytes((uint64_t)llround(use[PROFILE_READ].bytes), buf) : "-",
        width);
    layout_right(t->out,
                 use[PROFILE_WRITE].bytes > 0
                     ? bytes((uint64_t)llround(use[PROFILE_WRITE].bytes), buf)
                     : "-",
                 width);
    layout_right(
        t->out,
        use[PROFILE_META].calls > 0 ? count((uint64_t)llround(use[PROFILE_META].calls), buf) : "-",
        width);
    if (!t->narrow)
        layout_right(t->out, errors > 0 ? count((uint64_t)llround(errors), buf) : "-", width);
    share_cell(t, wait);
    fputc('\n', t->out);
}

static void mounts_table(const struct table *t, const struct profile *sum)
{
    size_t label = t->narrow ? 12 : 28, width = t->narrow ? 7 : 10;

    if (!sum->n)
        return;
    fputc('\n', t->out);
    layout_left(t->out, "mount", label);
    layout_right(t->out, "read", width);
    layout_right(t->out, "write", width);
    layout_right(t->out, "meta", width);
    if (!t->narrow)
        layout_right(t->out, "errs", width);
    layout_right(t->out, "wait", t->narrow ? 7 : 11);
    fputc('\n', t->out);
    for (size_t i = 0; i < sum->n && i < MOUNTS; i++)
        mount_line(t, &sum->mounts[i]);
    if (sum->n > MOUNTS)
        fprintf(t->out, "%zu more: --json has them\n", sum->n - MOUNTS);
}

char *array_text(const struct array *array, size_t columns)
{
    bool narrow = columns < 78;
    _free_ char *sentence = array_sentence(array);
    char *text = NULL;
    size_t size;
    FILE *out = sentence ? open_memstream(&text, &size) : NULL;
    const struct table t = {out, columns, narrow ? 10 : 14, narrow ? 12 : 13, narrow};

    if (!out)
        return NULL;
    title(&t, array);
    measure_head(&t);
    for (int m = 0; m < ARRAY_MEASURES; m++)
        measure_line(&t, array, m);
    mounts_table(&t, array->sum);
    if (*sentence)
        layout_wrap(out, sentence, columns, 0, 6);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
