/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of two jobs. */
#define _GNU_SOURCE /* asprintf */
#include "config.h"

#include "report/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "report/layout.h"
#include "report/table.h"

/* The other mounts are only in the JSON. */
#define MOUNTS 6

#define LARGEST (1 << 30) /* the last size that is not open-ended */

enum unit { UNIT_BYTES, UNIT_BOUND, UNIT_COUNT, UNIT_ELAPSED, UNIT_SHARE, UNIT_TIME };

enum column { LABEL, A, B, CHANGE };

static const struct table_column wide[] = {[LABEL] = {"", 20, 0, true, 0},
                                           [A] = {"", 15, 0, false, 0},
                                           [B] = {"", 15, 0, false, 0},
                                           [CHANGE] = {"change", 13, 0, false, 0}};
static const struct table_column narrow[] = {[LABEL] = {"", 12, 0, true, 0},
                                             [A] = {"", 9, 0, false, 0},
                                             [B] = {"", 9, 0, false, 0},
                                             [CHANGE] = {"change", 10, 0, false, 0}};

static char *value_text(enum unit unit, double value, char buf[UNITS_SIZE])
{
    uint64_t whole = value > 0 ? (uint64_t)llround(value) : 0;

    switch (unit) {
    case UNIT_BYTES:
        return units_bytes(whole, buf);
    case UNIT_BOUND:
        return units_bytes_bound(value > LARGEST ? UINT64_MAX : whole, buf);
    case UNIT_COUNT:
        return units_count(whole, buf);
    case UNIT_ELAPSED:
        return units_elapsed((uint64_t)llround(value * 1e9), buf);
    case UNIT_TIME:
        return units_time(whole, buf);
    case UNIT_SHARE:
        break;
    }
    return units_percent((uint64_t)llround(value * 1e6), 1000000, buf);
}

/* Bounds are powers of two: their ratio would be too coarse. */
static void bound_change(double a, double b, char buf[COMPARE_CHANGE])
{
    if (a > 0 && b > 0 && a != b)
        (void)strcpy(buf, b > a ? "larger" : "smaller");
    else
        (void)compare_change(a, b, buf);
}

/* Percentages differ in points, other values by a ratio. */
static void change_text(enum unit unit, double a, double b, char buf[COMPARE_CHANGE])
{
    if (unit == UNIT_BOUND)
        bound_change(a, b, buf);
    else if (unit != UNIT_SHARE)
        (void)compare_change(a, b, buf);
    else if (fabs(b - a) < 0.005)
        (void)strcpy(buf, "same");
    else
        (void)snprintf(buf, COMPARE_CHANGE, "%+.0f pts", 100 * (b - a));
}

/* The label. If it does not fit, without its indent, then cut. */
static void label_cell(struct table *t, const char *label)
{
    size_t indent = strspn(label, " "), width = strlen(label), room = t->columns[LABEL].width;
    size_t skip = width > room ? width - room : 0;
    _free_ char *cut = layout_cut(label + (skip < indent ? skip : indent), room);

    table_cell(t, cut ? cut : "");
}

static void line(struct table *t, const char *label, enum unit unit, double a, double b)
{
    char buf[UNITS_SIZE], change[COMPARE_CHANGE];

    if (a <= 0 && b <= 0)
        return;
    label_cell(t, label);
    table_cell(t, a > 0 ? value_text(unit, a, buf) : "-");
    table_cell(t, b > 0 ? value_text(unit, b, buf) : "-");
    change_text(unit, a, b, change);
    table_cell(t, change);
    table_end(t);
}

static const struct measure {
    const char *label;
    enum profile_kind kind;
    size_t offset; /* in struct profile_use */
    enum unit unit;
} measures[] = {
    {"  read", PROFILE_READ, offsetof(struct profile_use, bytes), UNIT_BYTES},
    {"   ~median size", PROFILE_READ, offsetof(struct profile_use, size_bytes), UNIT_BOUND},
    {"  written", PROFILE_WRITE, offsetof(struct profile_use, bytes), UNIT_BYTES},
    {"   ~median size", PROFILE_WRITE, offsetof(struct profile_use, size_bytes), UNIT_BOUND},
    {"  mapped files", PROFILE_MAPPED, offsetof(struct profile_use, bytes), UNIT_BYTES},
    {"  metadata", PROFILE_META, offsetof(struct profile_use, calls), UNIT_COUNT},
};

static double member(const struct profile_use uses[PROFILE_KINDS], const struct measure *m)
{
    return *(const double *)((const char *)&uses[m->kind] + m->offset);
}

static void lines_of(struct table *t, const struct profile_use a[PROFILE_KINDS],
                     const struct profile_use b[PROFILE_KINDS])
{
    double errors[2] = {0}, wait[2] = {0};

    for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
        line(t, measures[i].label, measures[i].unit, member(a, &measures[i]),
             member(b, &measures[i]));
    for (int k = 0; k < PROFILE_KINDS; k++) {
        errors[0] += a[k].errors;
        errors[1] += b[k].errors;
        wait[0] += a[k].wait;
        wait[1] += b[k].wait;
    }
    line(t, "  errors", UNIT_COUNT, errors[0], errors[1]);
    line(t, "  waiting", UNIT_SHARE, wait[0], wait[1]);
}

/* Whether a mount was used enough for lines of its own. */
static bool is_much(const struct profile_mount *m)
{
    double calls = 0, bytes = 0;

    for (int k = 0; m && k < PROFILE_KINDS; k++) {
        calls += m->uses[k].calls;
        bytes += m->uses[k].bytes;
    }
    return m && (profile_mount_wait(m) >= 0.001 || calls >= 1000 || bytes >= 1 << 20);
}

static void mount_lines(struct table *t, const struct profile *a, const struct profile *b,
                        const char *mount, const char *fstype)
{
    static const struct profile_mount none;
    const struct profile_mount *x = profile_find(a, mount, fstype),
                               *y = profile_find(b, mount, fstype);
    _free_ char *name = layout_fit(mount, table_width(t) - 12);
    _free_ char *type = layout_fit(fstype, 9);

    fprintf(t->out, "%s (%s)\n", name ? name : "?", type ? type : "?");
    lines_of(t, (x ? x : &none)->uses, (y ? y : &none)->uses);
}

/* The lines of a mount of `from`, unless it did little on both sides or there are too many. */
static void write_mount(struct table *t, const struct profile *a, const struct profile *b,
                        const struct profile_mount *m, size_t *written, size_t *left)
{
    bool much = is_much(profile_find(a, m->mount, m->fstype)) ||
                is_much(profile_find(b, m->mount, m->fstype));

    if (*written >= MOUNTS || (!much && *written > 0)) {
        ++*left;
        return;
    }
    mount_lines(t, a, b, m->mount, m->fstype);
    ++*written;
}

/* Both lists are sorted by waiting: first the mounts of b, then those that only a has. */
static void write_mounts(struct table *t, const struct profile *a, const struct profile *b)
{
    size_t written = 0, left = 0;

    for (size_t i = 0; i < b->n; i++)
        write_mount(t, a, b, &b->mounts[i], &written, &left);
    for (size_t i = 0; i < a->n; i++)
        if (!profile_find(b, a->mounts[i].mount, a->mounts[i].fstype))
            write_mount(t, a, b, &a->mounts[i], &written, &left);
    if (left)
        fprintf(t->out, "%zu more mount%s: --json lists %s\n", left, left == 1 ? "" : "s",
                left == 1 ? "it" : "them");
}

static void write_incomplete(FILE *out, const struct compare_side *side, size_t columns)
{
    _free_ char *text = NULL;

    if (!side->profile->complete &&
        asprintf(&text, "The account of %s is incomplete: it may have done more.", side->words) >=
            0)
        layout_wrap(out, text, columns, 0, 3);
}

char *compare_text(const struct compare_side *a, const struct compare_side *b, size_t columns)
{
    _free_ char *sentence = compare_sentence(a, b), *x = NULL, *y = NULL;
    struct text_buffer text;
    FILE *out = sentence ? text_buffer_open(&text) : NULL;
    struct table t = table_make(out, columns < 60 ? narrow : wide, ARRAY_SIZE(wide), columns);

    if (!out)
        return NULL;
    t.columns[A].title = (x = layout_cut(a->head, t.columns[A].width - 1)) ? x : "?";
    t.columns[B].title = (y = layout_cut(b->head, t.columns[B].width - 1)) ? y : "?";
    table_titles(&t);
    line(&t, "run time", UNIT_ELAPSED, a->profile->elapsed_s, b->profile->elapsed_s);
    line(&t, "waiting", UNIT_SHARE, a->profile->wait, b->profile->wait);
    write_mounts(&t, a->profile, b->profile);
    layout_wrap(out, sentence, columns, 0, 6);
    write_incomplete(out, a, columns);
    write_incomplete(out, b, columns);
    return text_buffer_take(&text);
}
