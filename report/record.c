/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "report/record.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "report/layout.h"
#include "report/text_impl.h"

#define RECORD_START "IO1:{"
/* More rows than fit whatever is in them: the shortest row has 30 bytes. */
#define ROWS_MAX 70
#define NAME_COLUMNS 64

/* Seconds with three decimals: the record is read by people, too. */
static struct json_object *seconds(uint64_t ns)
{
    char buf[UNITS_SIZE];

    units_seconds(ns - ns % 1000000, buf);
    return json_object_new_double_s((double)ns / 1e9, buf);
}

static bool append(struct json_object *array, struct json_object *value)
{
    if (value && json_object_array_add(array, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static bool append_name(struct json_object *array, const char *name)
{
    _free_ char *fitted = layout_fit(name, NAME_COLUMNS);

    return fitted && append(array, json_object_new_string(fitted));
}

/* rB, wB, rReq, wReq, rPeakBps, wPeakBps, metaReq, errors, wait_s */
static bool append_sums(struct json_object *array, const struct text_row *row)
{
    const uint64_t numbers[] = {
        row->reads.bytes, row->writes.bytes, row->reads.requests, row->writes.requests,
        row->read_peak,   row->write_peak,   row->meta.requests,  row->all.errors,
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (!append(array, json_object_new_uint64(numbers[i])))
            return false;
    return append(array, seconds(row->all.time_ns));
}

/* A row; without its names if `mount` is NULL. NULL: no memory. */
static struct json_object *row_array(const struct text_row *row, const struct io_mount *mount)
{
    struct json_object *array = json_object_new_array();

    if (array &&
        (!mount || (append_name(array, mount->mount) && append_name(array, mount->fstype))) &&
        append_sums(array, row))
        return array;
    json_object_put(array);
    return NULL;
}

static bool put(struct json_object *object, const char *key, struct json_object *value)
{
    if (value && json_object_object_add(object, key, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static struct json_object *nodes(const struct record_head *head)
{
    struct json_object *array = json_object_new_array();

    if (array && append(array, json_object_new_uint64(head->nodes)) &&
        append(array, json_object_new_uint64(head->nodes_expected)))
        return array;
    json_object_put(array);
    return NULL;
}

static bool put_head(struct json_object *o, const struct record_head *head, uint64_t elapsed_ns)
{
    return put(o, "v", json_object_new_int(1)) &&
           put(o, "complete", json_object_new_boolean(head->complete)) &&
           put(o, "nodes", nodes(head)) && put(o, "s", seconds(elapsed_ns)) &&
           (!head->restart || put(o, "restart", json_object_new_uint64(head->restart)));
}

/* The first n mounts. */
static struct json_object *mounts(const struct text_job *t, size_t n)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; array && i < n; i++)
        if (!append(array, row_array(&t->rows[i], t->rows[i].mount))) {
            json_object_put(array);
            return NULL;
        }
    return array;
}

/* The busiest intervals of two mounts need not be the same one: of their sum it is only known that
 * its peak is at least that of each, and at least its mean. */
static void raise_to_mean(struct text_row *sum, uint64_t elapsed_ns)
{
    uint64_t reads = io_per_second(sum->reads.bytes, elapsed_ns);
    uint64_t writes = io_per_second(sum->writes.bytes, elapsed_ns);

    sum->read_peak = reads > sum->read_peak ? reads : sum->read_peak;
    sum->write_peak = writes > sum->write_peak ? writes : sum->write_peak;
}

static struct json_object *rest(const struct text_job *t, size_t from)
{
    struct text_row sum = {0};

    for (size_t i = from; i < t->n; i++)
        text_row_add(&sum, &t->rows[i]);
    raise_to_mean(&sum, t->job->elapsed_ns);
    return row_array(&sum, NULL);
}

/* Else nobody could tell a job that did nothing from one that nobody counted. */
static bool put_reason(struct json_object *o, const struct job_account *job)
{
    const char *reason = job_not_counted(job);

    return !reason || put(o, "why", json_object_new_string(reason));
}

/* `whole`: the object has all that it should. Takes the object. */
static char *to_record(struct json_object *o, bool whole)
{
    const char *text = NULL;
    char *record = NULL;

    if (whole)
        text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
                                                     JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text && asprintf(&record, "IO1:%s", text) < 0)
        record = NULL;
    json_object_put(o);
    return record;
}

/* The record with the first n mounts in rows of their own. */
static char *record_with(const struct text_job *t, size_t n)
{
    const struct record_head head = {
        .complete = job_is_complete(t->job),
        .nodes = t->job->nodes_reported,
        .nodes_expected = t->job->nodes_expected,
        .restart = t->job->key.restart,
    };
    struct json_object *o = json_object_new_object();
    bool whole = o && put_head(o, &head, t->job->elapsed_ns) && put_reason(o, t->job) &&
                 put(o, "m", mounts(t, n)) && put(o, "rest", rest(t, n));

    return to_record(o, whole);
}

char *report_record(const struct job_account *job)
{
    struct text_job t;
    char *record = NULL;
    size_t n;

    if (text_job_make(job, &t) < 0)
        return NULL;
    n = t.n < ROWS_MAX ? t.n : ROWS_MAX;
    for (;; n--) {
        record = record_with(&t, n);
        if (!record || strlen(record) <= RECORD_MAX || n == 0)
            break;
        free(record);
    }
    text_job_clear(&t);
    return record;
}

/* Behind the object that begins at `p`; NULL if it does not end. */
static const char *object_end(const char *p)
{
    bool in_string = false;
    unsigned depth = 0;

    for (; *p; p++) {
        if (in_string) {
            if (*p == '\\' && p[1])
                p++;
            else if (*p == '"')
                in_string = false;
            continue;
        }
        if (*p == '"')
            in_string = true;
        else if (*p == '{')
            depth++;
        else if (*p == '}' && --depth == 0)
            return p + 1;
    }
    return NULL;
}

/* A record that was cut off may seem to end inside of what follows it. */
static bool is_object(const char *p, const char *end)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *o = NULL;

    if (tokener)
        o = json_tokener_parse_ex(tokener, p, (int)(end - p));
    json_object_put(o);
    json_tokener_free(tokener);
    return o != NULL;
}

/* The first whole record in the comment that stands for itself; NULL if there is none. */
static const char *find_record(const char *comment, const char **end)
{
    const char *p = comment;

    while ((p = strstr(p, RECORD_START))) {
        char before = p > comment ? p[-1] : ' ';

        const char *object = p + strlen(RECORD_START) - 1;

        *end = object_end(object);
        if (*end && !isalnum((unsigned char)before) && !strchr("_\"\\", before) &&
            is_object(object, *end))
            return p;
        p++;
    }
    return NULL;
}

char *record_merge(const char *comment, const char *record)
{
    const char *end, *old;
    char *merged;
    int n;

    if (!comment || !*comment)
        return strdup(record);
    old = find_record(comment, &end);
    if (old)
        n = asprintf(&merged, "%.*s%s%s", (int)(old - comment), comment, record, end);
    else
        n = asprintf(&merged, "%s %s", comment, record);
    return n < 0 ? NULL : merged;
}

char *record_without_account(const struct record_head *head, uint64_t elapsed_s, const char *why)
{
    static const struct job_account no_job;
    const struct text_job nothing = {.job = &no_job};
    struct json_object *o = json_object_new_object();
    bool whole = o && put_head(o, head, elapsed_s * 1000000000) &&
                 put(o, "why", json_object_new_string(why)) && put(o, "m", mounts(&nothing, 0)) &&
                 put(o, "rest", rest(&nothing, 0));

    return to_record(o, whole);
}

char *record_object(const char *comment)
{
    const char *end, *record = comment ? find_record(comment, &end) : NULL;

    if (!record)
        return NULL;
    record += strlen("IO1:");
    return strndup(record, (size_t)(end - record));
}

static uint64_t item(struct json_object *array, size_t i)
{
    return array ? json_object_get_uint64(json_object_array_get_idx(array, i)) : 0;
}

bool record_head(const char *comment, struct record_head *ret)
{
    _free_ char *text = record_object(comment);
    struct json_object *o = text ? json_tokener_parse(text) : NULL;
    struct json_object *nodes_of = json_object_object_get(o, "nodes");

    if (!o)
        return false;
    if (!json_object_is_type(nodes_of, json_type_array))
        nodes_of = NULL;
    *ret = (struct record_head){
        .complete = json_object_get_boolean(json_object_object_get(o, "complete")),
        .nodes = item(nodes_of, 0),
        .nodes_expected = item(nodes_of, 1),
        .restart = json_object_get_uint64(json_object_object_get(o, "restart")),
    };
    json_object_put(o);
    return true;
}
