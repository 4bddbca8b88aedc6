/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/top/export.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/fields.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"
#include "common/units.h"

/* Per second, as a text with six decimals. */
static const char *per_second(uint64_t amount, uint64_t interval_ns, char buf[48])
{
    double rate = interval_ns ? (double)amount * (double)NS_PER_S / (double)interval_ns : 0;

    (void)snprintf(buf, 48, "%.3f", rate);
    return buf;
}

/* The fields of a row: the name for JSON, the name for CSV, and the number. */
static const struct field {
    const char *json, *csv;
    size_t offset;
    const char *rate_json, *rate_csv; /* NULL: not as a rate */
} fields[] = {
    {"read_bytes", "ReadBytes", offsetof(struct top_sums, read_bytes), "read_bytes_per_s",
     "ReadBytesPerSecond"},
    {"write_bytes", "WriteBytes", offsetof(struct top_sums, write_bytes), "write_bytes_per_s",
     "WriteBytesPerSecond"},
    {"read_requests", "ReadRequests", offsetof(struct top_sums, read_requests),
     "read_requests_per_s", "ReadRequestsPerSecond"},
    {"write_requests", "WriteRequests", offsetof(struct top_sums, write_requests),
     "write_requests_per_s", "WriteRequestsPerSecond"},
    {"metadata_requests", "MetaRequests", offsetof(struct top_sums, meta_requests),
     "metadata_requests_per_s", "MetaRequestsPerSecond"},
    {"errors", "Errors", offsetof(struct top_sums, errors), "errors_per_s", "ErrorsPerSecond"},
    {"mmap_read_bytes", "MmapReadBytes", offsetof(struct top_sums, mmap_read_bytes), NULL, NULL},
    {"mmap_write_bytes", "MmapWriteBytes", offsetof(struct top_sums, mmap_write_bytes), NULL, NULL},
    {"wait_ns", "WaitNs", offsetof(struct top_sums, wait_ns), NULL, NULL},
};

static uint64_t value(const struct top_sums *sums, const struct field *field)
{
    uint64_t v;

    memcpy(&v, (const char *)sums + field->offset, sizeof(v));
    return v;
}

static const char *waiting(const struct top_sums *sums, uint64_t interval_ns, char buf[48])
{
    (void)snprintf(buf, 48, "%.3f",
                   interval_ns ? (double)sums->wait_ns / (double)interval_ns : 0.0);
    return buf;
}

static const char *kind_name(const struct top_frame *frame, const struct top_row *row)
{
    static const char *const names[] = {
        [TOP_JOB] = "job", [TOP_RUN] = "run", [TOP_SERVICE] = "service"};

    if (!row->who)
        return "several";
    if (row->who->kind == TOP_REST)
        return frame->now->hidden ? "others" : "ended";
    return names[row->who->kind];
}

static int rows_of(const struct top_frame *frame, const struct top_view *view, struct top_rows *ret)
{
    int r = top_view_rows(frame, view, ret);

    if (!r && view->rows && ret->n > view->rows)
        ret->n = view->rows;
    return r;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A double with the text that it is written as. */
static void put_real(struct tree *t, struct json_object *to, const char *key, const char *text)
{
    tree_put(t, to, key, json_object_new_double_s(strtod(text, NULL), text));
}

static void put_sums(struct tree *t, struct json_object *o, const struct top_sums *sums,
                     uint64_t interval_ns)
{
    uint64_t median = io_quantile(sums->sizes, 0.5, io_size_bound);
    char text[48];

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        uint64_t v = value(sums, &fields[i]);

        tree_put_u64(t, o, fields[i].json, v);
        if (fields[i].rate_json)
            put_real(t, o, fields[i].rate_json, per_second(v, interval_ns, text));
    }
    put_real(t, o, "waiting", waiting(sums, interval_ns, text));
    if (median)
        tree_put_u64(t, o, "median_request_bytes", median);
}

static struct json_object *row_json(struct tree *t, const struct top_frame *frame,
                                    const struct top_row *row)
{
    struct json_object *o = tree_object(t);

    tree_put_text(t, o, "kind", kind_name(frame, row));
    if (row->who && row->who->kind <= TOP_RUN) {
        tree_put_u64(t, o, row->who->kind == TOP_JOB ? "jobid" : "run", row->who->number);
        tree_put_u64(t, o, "uid", row->who->uid);
    }
    if (!row->who)
        tree_put_u64(t, o, "jobs", row->jobs);
    tree_put_text(t, o, "user", row->user);
    tree_put_text(t, o, "name", row->who ? row->who->name : NULL);
    tree_put_text(t, o, "mount", row->mount);
    tree_put_text(t, o, "fstype", row->fstype);
    put_sums(t, o, &row->sums, frame->rows.interval_ns);
    return o;
}

struct json_object *top_export_json(const struct top_frame *frame, const struct top_view *view)
{
    const struct top_reading *now = frame->now;
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t), *array = tree_array(t);
    struct json_object *total = tree_object(t);
    struct top_sums sum = top_sum(&frame->rows);
    struct top_rows rows = {0};
    char text[UNITS_SIZE];

    tree_put_u64(t, o, "version", 1);
    tree_put_text(t, o, "node", now->node);
    put_real(t, o, "time", units_seconds(now->time_ns, text));
    tree_put_u64(t, o, "interval_ns", frame->rows.interval_ns);
    tree_put_bool(t, o, "complete", !frame->lost && !now->not_counted);
    tree_put_u64(t, o, "lost", frame->lost);
    tree_put_text(t, o, "not_counted", now->not_counted);
    tree_put_u64(t, o, "counting_ns", sum.events * now->ns_per_event);
    tree_put_u64(t, o, "hidden_jobs", now->hidden);
    tree_put_text(t, o, "by", top_by_name(view->by));
    put_sums(t, total, &sum, frame->rows.interval_ns);
    tree_put(t, o, "total", total);
    t->failed |= rows_of(frame, view, &rows) < 0;
    for (size_t i = 0; i < rows.n; i++)
        tree_add(t, array, row_json(t, frame, &rows.items[i]));
    tree_put(t, o, "rows", array);
    top_rows_clear(&rows);
    return tree_end(t, o);
}

/* --- CSV -------------------------------------------------------------------------------------- */

void top_export_csv_names(FILE *out)
{
    (void)fputs("Time,Seconds,Kind,JobID,User,Name,Mount,FSType", out);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        (void)fprintf(out, ",%s", fields[i].csv);
        if (fields[i].rate_csv)
            (void)fprintf(out, ",%s", fields[i].rate_csv);
    }
    (void)fputs(",Waiting,MedianRequestBytes\r\n", out);
}

static void put_csv(FILE *out, const char *text)
{
    (void)fputc(',', out);
    (void)csv_text(out, text);
}

static void put_csv_row(FILE *out, const struct top_frame *frame, const struct top_row *row)
{
    uint64_t interval = frame->rows.interval_ns, median;
    char text[48], seconds[UNITS_SIZE];

    (void)fprintf(out, "%s", units_seconds(frame->now->time_ns, seconds));
    (void)fprintf(out, ",%s", units_seconds(interval, seconds));
    put_csv(out, kind_name(frame, row));
    if (row->who && row->who->kind == TOP_JOB)
        (void)fprintf(out, ",%" PRIu64, row->who->number);
    else
        put_csv(out, NULL);
    put_csv(out, row->user);
    put_csv(out, row->who ? row->who->name : NULL);
    put_csv(out, row->mount);
    put_csv(out, row->fstype);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        uint64_t v = value(&row->sums, &fields[i]);

        (void)fprintf(out, ",%" PRIu64, v);
        if (fields[i].rate_csv)
            (void)fprintf(out, ",%s", per_second(v, interval, text));
    }
    (void)fprintf(out, ",%s", waiting(&row->sums, interval, text));
    median = io_quantile(row->sums.sizes, 0.5, io_size_bound);
    if (median)
        (void)fprintf(out, ",%" PRIu64 "\r\n", median);
    else
        (void)fputs(",\r\n", out);
}

void top_export_csv(FILE *out, const struct top_frame *frame, const struct top_view *view)
{
    struct top_rows rows = {0};

    if (rows_of(frame, view, &rows) < 0)
        return;
    for (size_t i = 0; i < rows.n; i++)
        put_csv_row(out, frame, &rows.items[i]);
    top_rows_clear(&rows);
}
