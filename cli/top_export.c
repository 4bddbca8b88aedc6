/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/top_export.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"

#define NS_PER_S 1000000000ull

/* Per second, as a text that has six digits behind the point. */
static const char *per_second(uint64_t amount, uint64_t interval_ns, char buf[48])
{
    double rate = interval_ns ? (double)amount * (double)NS_PER_S / (double)interval_ns : 0;

    (void)snprintf(buf, 48, "%.3f", rate);
    return buf;
}

/* What a row says, the same in both formats: a name for JSON, one for CSV, and the number. */
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

/* --- JSON -------------------------------------------------------------------------------------- */

struct writer {
    bool failed;
    uint64_t interval_ns;
};

static void put(struct writer *w, struct json_object *to, const char *key, struct json_object *child)
{
    if (child && to && json_object_object_add(to, key, child) == 0)
        return;
    json_object_put(child);
    w->failed = true;
}

static void put_text(struct writer *w, struct json_object *to, const char *key, const char *text)
{
    _free_ char *clean = text ? units_utf8(text) : NULL;

    if (text)
        put(w, to, key, clean ? json_object_new_string(clean) : NULL);
}

/* A double with the text that it is written as. */
static void put_real(struct writer *w, struct json_object *to, const char *key, const char *text)
{
    put(w, to, key, json_object_new_double_s(strtod(text, NULL), text));
}

static void put_sums(struct writer *w, struct json_object *o, const struct top_sums *sums)
{
    uint64_t median = io_quantile(sums->sizes, 0.5, io_size_bound);
    char text[48];

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        uint64_t v = value(sums, &fields[i]);

        put(w, o, fields[i].json, json_object_new_uint64(v));
        if (fields[i].rate_json)
            put_real(w, o, fields[i].rate_json, per_second(v, w->interval_ns, text));
    }
    put_real(w, o, "waiting", waiting(sums, w->interval_ns, text));
    if (median)
        put(w, o, "median_request_bytes", json_object_new_uint64(median));
}

static struct json_object *row_json(struct writer *w, const struct top_frame *frame,
                                    const struct top_row *row)
{
    struct json_object *o = json_object_new_object();

    put_text(w, o, "kind", kind_name(frame, row));
    if (row->who && row->who->kind <= TOP_RUN) {
        put(w, o, row->who->kind == TOP_JOB ? "jobid" : "run",
            json_object_new_uint64(row->who->number));
        put(w, o, "uid", json_object_new_uint64(row->who->uid));
    }
    if (!row->who)
        put(w, o, "jobs", json_object_new_uint64(row->jobs));
    put_text(w, o, "user", row->user);
    put_text(w, o, "name", row->who ? row->who->name : NULL);
    put_text(w, o, "mount", row->mount);
    put_text(w, o, "fstype", row->fstype);
    put_sums(w, o, &row->sums);
    return o;
}

struct json_object *top_export_json(const struct top_frame *frame, const struct top_view *view)
{
    const struct top_reading *now = frame->now;
    struct writer w = {false, frame->rows.interval_ns};
    struct json_object *o = json_object_new_object(), *array = json_object_new_array();
    struct json_object *total = json_object_new_object();
    struct top_sums sum = top_sum(&frame->rows);
    struct top_rows rows = {0};
    char text[UNITS_SIZE];

    put(&w, o, "version", json_object_new_int(1));
    put_text(&w, o, "node", now->node);
    put_real(&w, o, "time", units_seconds(now->time_ns, text));
    put(&w, o, "interval_ns", json_object_new_uint64(frame->rows.interval_ns));
    put(&w, o, "complete", json_object_new_boolean(!frame->lost && !now->not_counted));
    put(&w, o, "lost", json_object_new_uint64(frame->lost));
    put_text(&w, o, "not_counted", now->not_counted);
    put(&w, o, "counting_ns", json_object_new_uint64(sum.events * now->ns_per_event));
    put(&w, o, "hidden_jobs", json_object_new_uint64(now->hidden));
    put_text(&w, o, "by", top_by_name(view->by));
    put_sums(&w, total, &sum);
    put(&w, o, "total", total);
    w.failed |= rows_of(frame, view, &rows) < 0;
    for (size_t i = 0; i < rows.n; i++)
        w.failed |= !array || json_object_array_add(array, row_json(&w, frame, &rows.items[i])) < 0;
    put(&w, o, "rows", array);
    top_rows_clear(&rows);
    if (!w.failed)
        return o;
    json_object_put(o);
    return NULL;
}

/* --- CSV --------------------------------------------------------------------------------------- */

void top_export_csv_names(FILE *out)
{
    (void)fputs("Time,Seconds,Kind,JobID,User,Name,Mount,FsType", out);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        (void)fprintf(out, ",%s", fields[i].csv);
        if (fields[i].rate_csv)
            (void)fprintf(out, ",%s", fields[i].rate_csv);
    }
    (void)fputs(",Waiting,MedianRequestBytes\n", out);
}

/* RFC 4180; without control characters. */
static void put_csv(FILE *out, const char *text)
{
    _free_ char *clean = text ? units_sanitize(text) : NULL;

    (void)fputc(',', out);
    if (!clean)
        return;
    if (!strpbrk(clean, ",\" ")) {
        (void)fputs(clean, out);
        return;
    }
    (void)fputc('"', out);
    for (const char *c = clean; *c; c++) {
        if (*c == '"')
            (void)fputc('"', out);
        (void)fputc(*c, out);
    }
    (void)fputc('"', out);
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
        (void)fprintf(out, ",%" PRIu64 "\n", median);
    else
        (void)fputs(",\n", out);
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
