/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of an array. */
#include <math.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/compare/array.h"
#include "report/layout.h"
#include "report/table.h"

#define MOUNTS 3 /* below each measure */

enum unit { UNIT_ELAPSED, UNIT_SHARE, UNIT_BYTES, UNIT_COUNT };

static const struct {
    const char *label;
    enum unit unit;
} lines[ARRAY_MEASURES] = {
    [ARRAY_ELAPSED] = {"run time", UNIT_ELAPSED}, [ARRAY_WAITING] = {"waiting", UNIT_SHARE},
    [ARRAY_READ] = {"read", UNIT_BYTES},          [ARRAY_WRITTEN] = {"written", UNIT_BYTES},
    [ARRAY_META] = {"metadata", UNIT_COUNT},      [ARRAY_ERRORS] = {"errors", UNIT_COUNT},
};

#define NARROW 78 /* below, the smallest values and the medians are left out */

static const struct table_column wide_columns[] = {
    {"", 18, 0, true, 17},       {"all tasks", 12, 0, false, 0}, {"smallest", 12, 0, false, 0},
    {"median", 12, 0, false, 0}, {"largest", 12, 0, false, 0},   {"task", 9, 0, false, 0}};
static const struct table_column narrow_columns[] = {
    {"", 13, 0, true, 12},      {"all", 10, 0, false, 0},     {"smallest", 0, 0, false, 0},
    {"median", 0, 0, false, 0}, {"largest", 10, 0, false, 0}, {"task", 6, 0, false, 0}};

static uint64_t whole(double value)
{
    return value > 0 ? (uint64_t)llround(value) : 0;
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

static void value_cell(struct table *t, enum unit unit, double value)
{
    char buf[UNITS_SIZE];

    if (value <= 0)
        table_cell(t, "-");
    else if (unit == UNIT_ELAPSED)
        table_cell(t, units_elapsed((uint64_t)llround(value * 1e9), buf));
    else if (unit == UNIT_SHARE)
        share_cell(t, value);
    else if (unit == UNIT_BYTES)
        table_bytes(t, whole(value));
    else
        table_count(t, whole(value));
}

/* A measure of one mount over all tasks; 0 for the run time. */
static double mount_value(const struct profile_mount *m, int measure)
{
    switch (measure) {
    case ARRAY_WAITING:
        return profile_mount_wait(m);
    case ARRAY_READ:
        return m->uses[PROFILE_READ].bytes;
    case ARRAY_WRITTEN:
        return m->uses[PROFILE_WRITE].bytes;
    case ARRAY_META:
        return m->uses[PROFILE_META].calls;
    case ARRAY_ERRORS:
        return profile_mount_errors(m);
    default:
        return 0;
    }
}

/* The mount that follows `after` (NULL: the first one) in the order of the measure, largest first.
 * NULL: there is none. */
static const struct profile_mount *next_mount(const struct profile *sum, int measure,
                                              const struct profile_mount *after)
{
    const struct profile_mount *next = NULL;

    for (const struct profile_mount *m = sum->mounts; m < sum->mounts + sum->n; m++) {
        double value = mount_value(m, measure), last = after ? mount_value(after, measure) : 0;
        bool follows = !after || value < last || (value == last && m > after);

        if (value > 0 && follows && (!next || value > mount_value(next, measure)))
            next = m;
    }
    return next;
}

/* The mounts with the most of a measure. */
static void mount_lines(struct table *t, const struct profile *sum, int measure)
{
    const struct profile_mount *m = NULL;

    for (int i = 0; i < MOUNTS && (m = next_mount(sum, measure, m)); i++) {
        _free_ char *label = text_format("  %s", m->mount);

        table_cell(t, label ? label : "?");
        value_cell(t, lines[measure].unit, mount_value(m, measure));
        table_end(t);
    }
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

static void write_table(FILE *out, const struct array *array, size_t columns)
{
    bool narrow = columns < NARROW;
    struct table t =
        table_make(out, narrow ? narrow_columns : wide_columns, ARRAY_SIZE(wide_columns), columns);

    t.brief = narrow;
    table_titles(&t);
    for (int m = 0; m < ARRAY_MEASURES; m++) {
        measure_line(&t, array, m);
        mount_lines(&t, array->sum, m);
    }
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

char *array_text(const struct array *array, size_t columns)
{
    _free_ char *sentence = array_sentence(array);
    struct text_buffer text;
    FILE *out = sentence ? text_buffer_open(&text) : NULL;

    if (!out)
        return NULL;
    title(out, array, columns);
    write_table(out, array, columns);
    if (*sentence)
        layout_wrap(out, sentence, columns, 0, 6);
    return text_buffer_take(&text);
}
