/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of an array. */
#include <math.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/compare/array.h"
#include "report/layout.h"
#include "report/table.h"

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

#define NARROW 78 /* below, sums and the smallest values are left out */

static const struct table_column wide_measures[] = {
    {"", 14, 0, true, 0},        {"all tasks", 13, 0, false, 0}, {"smallest", 13, 0, false, 0},
    {"median", 13, 0, false, 0}, {"largest", 13, 0, false, 0},   {"task", 9, 0, false, 0}};
static const struct table_column narrow_measures[] = {
    {"", 10, 0, true, 0},        {"all tasks", 0, 0, false, 0}, {"smallest", 0, 0, false, 0},
    {"median", 12, 0, false, 0}, {"largest", 12, 0, false, 0},  {"task", 6, 0, false, 0}};

static const struct table_column wide_mounts[] = {
    {"mount", 28, 0, true, 27}, {"read", 10, 0, false, 0}, {"write", 10, 0, false, 0},
    {"meta", 10, 0, false, 0},  {"errs", 10, 0, false, 0}, {"wait", 11, 0, false, 0}};
static const struct table_column narrow_mounts[] = {
    {"mount", 12, 0, true, 11}, {"read", 7, 0, false, 0}, {"write", 7, 0, false, 0},
    {"meta", 7, 0, false, 0},   {"errs", 0, 0, false, 0}, {"wait", 7, 0, false, 0}};

static uint64_t whole(double value)
{
    return value > 0 ? (uint64_t)llround(value) : 0;
}

static void value_cell(struct table *t, enum unit unit, double value)
{
    char buf[UNITS_SIZE];

    if (value <= 0)
        table_cell(t, "-");
    else if (unit == UNIT_ELAPSED)
        table_cell(t, units_elapsed((uint64_t)llround(value * 1e9), buf));
    else if (unit == UNIT_SHARE)
        table_cell(t, units_percent((uint64_t)llround(value * 1e6), 1000000, buf));
    else if (unit == UNIT_BYTES)
        table_cell(t, units_bytes(whole(value), buf));
    else
        table_cell(t, units_count(whole(value), buf));
}

static void measure_line(struct table *t, const struct array *array, int measure)
{
    const struct array_range *range = &array->ranges[measure];
    enum unit unit = lines[measure].unit;
    char task[16];

    if (range->max <= 0)
        return;
    table_cell(t, lines[measure].label);
    value_cell(t, unit, range->sum);
    value_cell(t, unit, range->min);
    value_cell(t, unit, range->median);
    value_cell(t, unit, range->max);
    (void)snprintf(task, sizeof(task), "%u", range->most);
    table_cell(t, range->max > range->min ? task : "-");
    table_end(t);
}

static void measures_table(FILE *out, const struct array *array, size_t columns)
{
    struct table t = table_make(out, columns < NARROW ? narrow_measures : wide_measures,
                                ARRAY_SIZE(wide_measures), columns);

    table_titles(&t);
    for (int m = 0; m < ARRAY_MEASURES; m++)
        measure_line(&t, array, m);
}

static void title(FILE *to, const struct array *array, size_t columns)
{
    _free_ char *name = utf8_sanitize(array->name ? array->name : ""),
                *user = utf8_sanitize(array->user ? array->user : ""), *line = NULL;
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);

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
    fprintf(out, array->incomplete ? ", %zu incomplete" : ", complete", array->incomplete);
    line = text_buffer_take(&text);
    if (line)
        layout_wrap(to, line, columns, 2, 3);
}

static void share_cell(struct table *t, double part)
{
    char buf[UNITS_SIZE];

    if (!t->brief)
        (void)units_percent((uint64_t)llround(part * 1e6), 1000000, buf);
    else
        (void)snprintf(buf, sizeof(buf), part < 0.01 ? "<1%%" : "%.0f%%", 100 * part);
    table_cell(t, buf);
}

static void mount_line(struct table *t, const struct profile_mount *m)
{
    const struct profile_use *use = m->uses;

    table_cell(t, m->mount);
    table_bytes(t, whole(use[PROFILE_READ].bytes));
    table_bytes(t, whole(use[PROFILE_WRITE].bytes));
    table_count(t, whole(use[PROFILE_META].calls));
    table_count(t, whole(profile_mount_errors(m)));
    share_cell(t, profile_mount_wait(m));
    table_end(t);
}

static void mounts_table(FILE *out, const struct profile *sum, size_t columns)
{
    bool narrow = columns < NARROW;
    struct table t =
        table_make(out, narrow ? narrow_mounts : wide_mounts, ARRAY_SIZE(wide_mounts), columns);

    if (!sum->n)
        return;
    t.brief = narrow;
    fputc('\n', out);
    table_titles(&t);
    for (size_t i = 0; i < sum->n && i < MOUNTS; i++)
        mount_line(&t, &sum->mounts[i]);
    if (sum->n > MOUNTS)
        fprintf(out, "%zu more: --json lists them\n", sum->n - MOUNTS);
}

char *array_text(const struct array *array, size_t columns)
{
    _free_ char *sentence = array_sentence(array);
    struct text_buffer text;
    FILE *out = sentence ? text_buffer_open(&text) : NULL;

    if (!out)
        return NULL;
    title(out, array, columns);
    measures_table(out, array, columns);
    mounts_table(out, array->sum, columns);
    if (*sentence)
        layout_wrap(out, sentence, columns, 0, 6);
    return text_buffer_take(&text);
}
