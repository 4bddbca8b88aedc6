/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record as a table, for readers that have only Slurm's own data. */
#include "config.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "report/layout.h"
#include "report/record/record.h"
#include "report/table.h"

#define NAME_COLUMNS 18

enum column { MOUNT, READ, WRITTEN, READS, WRITES, READ_PEAK, WRITE_PEAK, META, ERRORS, WAIT };

/* From READ to ERRORS the numbers of a row in the order of the record. */
static const struct table_column columns[] = {
    [MOUNT] = {"mount", NAME_COLUMNS, 0, true, NAME_COLUMNS},
    [READ] = {"read", 7, 0, false, 0},
    [WRITTEN] = {"write", 8, 0, false, 0},
    [READS] = {"reads", 6, 0, false, 0},
    [WRITES] = {"writes", 7, 0, false, 0},
    [READ_PEAK] = {"r-peak", 7, 0, false, 0},
    [WRITE_PEAK] = {"w-peak", 7, 0, false, 0},
    [META] = {"meta", 5, 0, false, 0},
    [ERRORS] = {"errs", 7, 0, false, 0},
    [WAIT] = {"wait", 8, 0, false, 0},
};

static bool is_bytes(enum column c)
{
    return c == READ || c == WRITTEN || c == READ_PEAK || c == WRITE_PEAK;
}

static struct json_object *get(struct json_object *o, const char *key, enum json_type type)
{
    struct json_object *value = json_object_object_get(o, key);

    return json_object_is_type(value, type) ? value : NULL;
}

static uint64_t number(struct json_object *array, size_t i)
{
    return array ? json_object_get_uint64(json_object_array_get_idx(array, i)) : 0;
}

/* `first`: the index of the row's first number. */
static void put_row(struct table *t, struct json_object *row, size_t first)
{
    const char *name = first ? json_object_get_string(json_object_array_get_idx(row, 0)) : NULL;
    char buf[UNITS_SIZE];
    double wait;

    table_cell(t, name ? name : IO_OTHER_MOUNTS);
    for (enum column c = READ; c <= ERRORS; c++) {
        uint64_t value = number(row, first + c - READ);

        if (is_bytes(c))
            table_bytes(t, value);
        else
            table_count(t, value);
    }
    wait = json_object_get_double(json_object_array_get_idx(row, first + WAIT - READ));
    /* The comment is not always written by jobio. */
    if (!(wait > 0 && wait < 1e9))
        wait = 0;
    table_cell(t, wait > 0 ? units_time((uint64_t)(wait * NS_PER_S), buf) : "-");
    table_end(t);
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
    struct table t = table_make(out, columns, ARRAY_SIZE(columns), 80);
    size_t n = mounts ? json_object_array_length(mounts) : 0;

    t.brief = true;
    if (!n && is_empty(rest)) {
        fputs("nothing read or written on any mounted file system\n", out);
        return;
    }
    table_titles(&t);
    for (size_t i = 0; i < n; i++) {
        struct json_object *row = json_object_array_get_idx(mounts, i);

        if (json_object_is_type(row, json_type_array))
            put_row(&t, row, 2);
    }
    if (!is_empty(rest))
        put_row(&t, rest, 0);
}

/* "r" or "w": [calls, bytes] */
static void put_mpi_calls(FILE *out, struct json_object *mpi, const char *key, const char *what)
{
    struct json_object *numbers = get(mpi, key, json_type_array);
    char calls[UNITS_SIZE], bytes[UNITS_SIZE];

    fprintf(out, "%s %s (%s)", units_count(number(numbers, 0), calls), what,
            units_bytes(number(numbers, 1), bytes));
}

static void put_mpi(FILE *out, struct json_object *o)
{
    struct json_object *mpi = get(o, "mpi", json_type_object);

    if (!mpi)
        return;
    fputs("MPI-IO: ", out);
    put_mpi_calls(out, mpi, "r", "reads");
    fputs(", ", out);
    put_mpi_calls(out, mpi, "w", "writes");
    fprintf(out, "%s\n",
            json_object_get_boolean(json_object_object_get(mpi, "complete")) ? ""
                                                                             : ", not complete");
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
    put_mpi(out, o);
    put_end(out, o, head);
}

char *record_text(const char *comment)
{
    _free_ char *object = record_object(comment);
    struct json_object *o = object ? json_tokener_parse(object) : NULL;
    struct record_head head;
    struct text_buffer text;
    char *ret = NULL;

    if (o && record_head(comment, &head) && text_buffer_open(&text)) {
        put_all(text.out, o, &head);
        ret = text_buffer_take(&text);
    }
    json_object_put(o);
    return ret;
}
