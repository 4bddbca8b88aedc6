/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/base/outline.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"

#define INDENT 2
#define GRID_ROWS 256
#define GRID_COLUMNS 16

static bool is_plain(struct json_object *value)
{
    return !json_object_is_type(value, json_type_object) &&
           !json_object_is_type(value, json_type_array);
}

static bool is_plain_array(struct json_object *value)
{
    if (!json_object_is_type(value, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        if (!is_plain(json_object_array_get_idx(value, i)))
            return false;
    }
    return true;
}

/* --- values in units -------------------------------------------------------------------------- */

static void print_bytes(uint64_t value, FILE *out)
{
    char buf[UNITS_SIZE];

    (void)fputs(units_bytes(value, buf), out);
}

static void print_ns(uint64_t value, FILE *out)
{
    char buf[UNITS_SIZE];

    (void)fputs(value < NS_PER_S ? units_time(value, buf) : units_elapsed(value, buf), out);
}

static void print_ms(uint64_t value, FILE *out)
{
    print_ns(value * 1000000, out);
}

static void print_seconds(uint64_t value, FILE *out)
{
    char buf[UNITS_SIZE];

    (void)fputs(units_elapsed(value * NS_PER_S, buf), out);
}

/* Seconds since 1970. */
static void print_stamp(uint64_t value, FILE *out)
{
    time_t seconds = (time_t)value;
    struct tm tm;
    char buf[32];

    if (value && localtime_r(&seconds, &tm) && strftime(buf, sizeof(buf), "%FT%T", &tm))
        (void)fputs(buf, out);
    else
        (void)fputs("never", out);
}

static void print_stamp_ns(uint64_t value, FILE *out)
{
    print_stamp(value / NS_PER_S, out);
}

/* The first ending that matches: longer ones first. */
static const struct unit {
    const char *ending;
    void (*print)(uint64_t value, FILE *out);
} units[] = {
    {"_at_ns", print_stamp_ns},
    {"start_s", print_stamp},
    {"end_s", print_stamp},
    {"oldest_s", print_stamp},
    {"last_attempt", print_stamp},
    {"last_success", print_stamp},
    {"_at", print_stamp},
    {"_at_s", print_stamp},
    {"_bytes", print_bytes},
    {"bytes", print_bytes},
    {"_ns", print_ns},
    {"_ms", print_ms},
    {"_s", print_seconds},
    {"_seconds", print_seconds},
};

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);

    return n >= m && strcmp(text + n - m, ending) == 0;
}

static const struct unit *unit_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (ends_with(name, units[i].ending))
            return &units[i];
    }
    return NULL;
}

/* --- the outline ------------------------------------------------------------------------------ */

static void print_safe(const char *text, FILE *out)
{
    _free_ char *safe = utf8_sanitize(text);

    (void)fputs(safe ? safe : "?", out);
}

static void print_name(const char *name, FILE *out)
{
    const struct unit *unit = unit_find(name);
    _free_ char *safe = utf8_sanitize(name);

    if (!safe)
        return;
    if (unit && unit->ending[0] == '_' && ends_with(safe, unit->ending))
        safe[strlen(safe) - strlen(unit->ending)] = '\0';
    for (char *p = safe; *p; p++) {
        if (*p == '_')
            *p = ' ';
    }
    (void)fprintf(out, "%s:", safe);
}

static void print_plain(const char *name, struct json_object *value, FILE *out)
{
    const struct unit *unit = name ? unit_find(name) : NULL;

    switch (json_object_get_type(value)) {
    case json_type_null:
        (void)fputs("-", out);
        return;
    case json_type_boolean:
        (void)fputs(json_object_get_boolean(value) ? "yes" : "no", out);
        return;
    case json_type_int:
        if (unit && json_object_get_int64(value) >= 0) {
            unit->print(json_object_get_uint64(value), out);
            return;
        }
        break;
    case json_type_double:
        if (unit && json_object_get_double(value) >= 0) {
            unit->print((uint64_t)json_object_get_double(value), out);
            return;
        }
        break;
    default:
        break;
    }
    print_safe(json_object_get_string(value), out);
}

static void print_plain_array(const char *name, struct json_object *array, FILE *out)
{
    size_t n = json_object_array_length(array);

    if (n == 0)
        (void)fputs(" none", out);
    for (size_t i = 0; i < n; i++) {
        (void)fputs(i ? ", " : " ", out);
        print_plain(name, json_object_array_get_idx(array, i), out);
    }
    (void)fputc('\n', out);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Objects without objects in them, one a row. Cells are owned; row 0 has the names. */
struct grid {
    char *cells[GRID_ROWS][GRID_COLUMNS];
    const char *names[GRID_COLUMNS]; /* of the members */
    size_t rows, columns;
    unsigned widths[GRID_COLUMNS];
};

static void grid_clear(struct grid *grid)
{
    for (size_t i = 0; i < grid->rows; i++) {
        for (size_t j = 0; j < grid->columns; j++)
            free(grid->cells[i][j]);
    }
}

/* The column of that name, added if there is room; else -1. */
static int grid_column(struct grid *grid, const char *name)
{
    size_t i = 0;

    while (i < grid->columns && strcmp(grid->names[i], name) != 0)
        i++;
    if (i == GRID_COLUMNS)
        return -1;
    if (i == grid->columns)
        grid->names[grid->columns++] = name;
    return (int)i;
}

static char *cell_text(const char *name, struct json_object *value)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (!value)
        print_name(name, out);
    else if (is_plain(value))
        print_plain(name, value, out);
    else
        print_plain_array(name, value, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    /* Without the ":" of a name, and the space and the newline around an array. */
    while (*text && strchr(value ? "\n" : ":", text[strlen(text) - 1]))
        text[strlen(text) - 1] = '\0';
    if (*text == ' ')
        memmove(text, text + 1, strlen(text));
    return text;
}

static bool grid_set(struct grid *grid, size_t row, const char *name, struct json_object *value)
{
    int column = grid_column(grid, name);
    unsigned width;

    if (column < 0)
        return false;
    grid->cells[row][column] = cell_text(name, value);
    if (!grid->cells[row][column])
        return false;
    width = (unsigned)layout_width(grid->cells[row][column]);
    if (width > grid->widths[column])
        grid->widths[column] = width;
    return true;
}

static bool grid_fill(struct grid *grid, struct json_object *array)
{
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        struct json_object *item = json_object_array_get_idx(array, i);

        if (!json_object_is_type(item, json_type_object) || i + 1 == GRID_ROWS)
            return false;
        grid->rows = i + 2;
        json_object_object_foreach(item, name, value)
        {
            if (!is_plain(value) && !is_plain_array(value))
                return false;
            if (!grid_set(grid, i + 1, name, value))
                return false;
        }
    }
    for (size_t j = 0; j < grid->columns; j++) {
        if (!grid_set(grid, 0, grid->names[j], NULL))
            return false;
    }
    return true;
}

static void grid_print(const struct grid *grid, struct table *table)
{
    for (size_t i = 0; i < grid->rows; i++) {
        for (size_t j = 0; j < grid->columns; j++)
            table_cell(table, grid->cells[i][j] ? grid->cells[i][j] : "");
        table_end(table);
    }
}

/* The output and its width. */
struct outline {
    FILE *out;
    unsigned columns;
};

/* False: it is not a table, or does not fit, and nothing was printed. */
static bool print_table(const struct outline *o, struct json_object *array, int depth)
{
    struct grid *grid = calloc(1, sizeof(*grid));
    struct table_column columns[GRID_COLUMNS] = {{0}};
    struct table table;
    bool fits;

    if (!grid)
        return false;
    fits = grid_fill(grid, array) && grid->columns > 0;
    for (size_t j = 0; j < grid->columns; j++)
        columns[j] = (struct table_column){.width = grid->widths[j], .left = true};
    table = table_make(o->out, columns, grid->columns, o->columns);
    table.indent = (unsigned)(depth * INDENT);
    table.gap = 2;
    fits = fits && table.indent + table_width(&table) <= o->columns;
    if (fits)
        grid_print(grid, &table);
    grid_clear(grid);
    free(grid);
    return fits;
}

/* --- nesting ---------------------------------------------------------------------------------- */

static void print_members(const struct outline *o, struct json_object *object, int depth,
                          bool dash);

static void print_items(const struct outline *o, struct json_object *array, int depth)
{
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        struct json_object *item = json_object_array_get_idx(array, i);

        if (json_object_is_type(item, json_type_object)) {
            print_members(o, item, depth, true);
            continue;
        }
        (void)fprintf(o->out, "%*s- ", depth * INDENT, "");
        print_plain(NULL, item, o->out);
        (void)fputc('\n', o->out);
    }
}

static void print_member(const struct outline *o, const char *name, struct json_object *value,
                         int depth)
{
    print_name(name, o->out);
    if (is_plain(value)) {
        (void)fputc(' ', o->out);
        print_plain(name, value, o->out);
        (void)fputc('\n', o->out);
    } else if (is_plain_array(value)) {
        print_plain_array(name, value, o->out);
    } else {
        (void)fputc('\n', o->out);
        if (!json_object_is_type(value, json_type_array))
            print_members(o, value, depth + 1, false);
        else if (!print_table(o, value, depth + 1))
            print_items(o, value, depth + 1);
    }
}

/* dash: the object is an item of a list, whose first line starts with a dash. */
static void print_members(const struct outline *o, struct json_object *object, int depth, bool dash)
{
    bool first = dash;

    json_object_object_foreach(object, name, value)
    {
        (void)fprintf(o->out, "%*s%s", depth * INDENT, "", first ? "- " : dash ? "  " : "");
        first = false;
        print_member(o, name, value, dash ? depth + 1 : depth);
    }
}

void outline_print(struct json_object *document, unsigned columns, FILE *out)
{
    const struct outline o = {out, columns};

    if (json_object_is_type(document, json_type_object))
        print_members(&o, document, 0, false);
    else if (json_object_is_type(document, json_type_array))
        print_items(&o, document, 0);
    else
        print_plain(NULL, document, out);
}
