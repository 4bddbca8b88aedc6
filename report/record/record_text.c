/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record in lines: what is left to read where only Slurm's own data is at hand. */
#include "config.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "report/layout.h"
#include "report/record/record.h"

#define NAME_COLUMNS 18
#define NS_PER_S 1e9

typedef char *(*format_f)(uint64_t value, char buf[UNITS_SIZE]);

/* The numbers of a row in the order of the record, from its first number on. */
static const struct column {
    const char *title;
    size_t width;
    format_f format;
} columns[] = {
    {"read", 7, units_bytes_short},   {"write", 8, units_bytes_short},
    {"reads", 6, units_count_short},  {"writes", 7, units_count_short},
    {"r-peak", 7, units_bytes_short}, {"w-peak", 7, units_bytes_short},
    {"meta", 5, units_count_short},   {"errs", 7, units_count_short},
};

static struct json_object *get(struct json_object *o, const char *key, enum json_type type)
{
    struct json_object *value = json_object_object_get(o, key);

    return json_object_is_type(value, type) ? value : NULL;
}

static void put_name(FILE *out, struct json_object *row)
{
    const char *name = row ? json_object_get_string(row) : NULL;
    _free_ char *fitted = name ? layout_fit(name, NAME_COLUMNS) : NULL;

    layout_left(out, fitted ? fitted : "(other mounts)", NAME_COLUMNS);
}

/* `first`: where the numbers of the row begin. */
static void put_row(FILE *out, struct json_object *row, size_t first)
{
    char buf[UNITS_SIZE];
    double wait;

    put_name(out, first ? json_object_array_get_idx(row, 0) : NULL);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        uint64_t value = json_object_get_uint64(json_object_array_get_idx(row, first + i));

        layout_right(out, value ? columns[i].format(value, buf) : "-", columns[i].width);
    }
    wait = json_object_get_double(json_object_array_get_idx(row, first + ARRAY_SIZE(columns)));
    /* What a record may say that nobody here has written. */
    if (!(wait > 0 && wait < 1e9))
        wait = 0;
    layout_right(out, wait > 0 ? units_time((uint64_t)(wait * NS_PER_S), buf) : "-", 8);
    fputc('\n', out);
}

static bool is_empty(struct json_object *rest)
{
    for (size_t i = 0; rest && i < json_object_array_length(rest); i++)
        if (json_object_get_double(json_object_array_get_idx(rest, i)) > 0)
            return false;
    return true;
}

static void put_mounts(FILE *out, struct json_object *o)
{
    struct json_object *mounts = get(o, "m", json_type_array);
    struct json_object *rest = get(o, "rest", json_type_array);
    size_t n = mounts ? json_object_array_length(mounts) : 0;

    if (!n && is_empty(rest)) {
        fputs("nothing read or written on any mounted file system\n", out);
        return;
    }
    layout_left(out, "mount", NAME_COLUMNS);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        layout_right(out, columns[i].title, columns[i].width);
    layout_right(out, "wait", 8);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++) {
        struct json_object *row = json_object_array_get_idx(mounts, i);

        if (json_object_is_type(row, json_type_array))
            put_row(out, row, 2);
    }
    if (!is_empty(rest))
        put_row(out, rest, 0);
}

static void put_end(FILE *out, struct json_object *o, const struct record_head *head)
{
    const char *why = json_object_get_string(get(o, "why", json_type_string));
    _free_ char *safe = why ? layout_fit(why, 60) : NULL;

    fprintf(out, "%s: %llu/%llu nodes%s%s\n", head->complete ? "complete" : "not complete",
            (unsigned long long)head->nodes, (unsigned long long)head->nodes_expected,
            safe ? ", " : "", safe ? safe : "");
}

static void put_all(FILE *out, struct json_object *o, const struct record_head *head)
{
    double elapsed = json_object_get_double(json_object_object_get(o, "s"));
    char buf[UNITS_SIZE];

    if (!(elapsed > 0 && elapsed < 1e9))
        elapsed = 0;
    fprintf(out, "I/O summary: %llu node%s, %s\n", (unsigned long long)head->nodes_expected,
            head->nodes_expected == 1 ? "" : "s",
            units_elapsed((uint64_t)(elapsed * NS_PER_S), buf));
    if (!get(o, "why", json_type_string))
        put_mounts(out, o);
    put_end(out, o, head);
}

char *record_text(const char *comment)
{
    _free_ char *object = record_object(comment);
    struct json_object *o = object ? json_tokener_parse(object) : NULL;
    struct record_head head;
    char *text = NULL;
    size_t size;
    FILE *out;

    if (o && record_head(comment, &head) && (out = open_memstream(&text, &size))) {
        bool failed;

        put_all(out, o, &head);
        failed = ferror(out);
        if (fclose(out) != 0 || failed) {
            free(text);
            text = NULL;
        }
    }
    json_object_put(o);
    return text;
}
