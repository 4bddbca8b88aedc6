/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "report/record/record.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/text.h"
#include "common/tree.h"
#include "common/units.h"
#include "report/layout.h"
#include "report/summary/summary.h"

#define RECORD_START "IO1:{"
/* More rows than fit whatever is in them: the shortest row has 30 bytes. */
#define ROWS_MAX 70
#define NAME_COLUMNS 64

/* Seconds with three decimals, for human readers. */
static struct json_object *seconds(uint64_t ns)
{
    char buf[UNITS_SIZE];

    units_seconds(ns - ns % NS_PER_MS, buf);
    return json_object_new_double_s((double)ns / NS_PER_S, buf);
}

static void add_name(struct tree *t, struct json_object *array, const char *name)
{
    _free_ char *fitted = layout_fit(name, NAME_COLUMNS);

    tree_add(t, array, fitted ? json_object_new_string(fitted) : NULL);
}

/* rB, wB, rReq, wReq, rPeakBps, wPeakBps, metaReq, errors, wait_s */
static void add_sums(struct tree *t, struct json_object *array, const struct summary_row *row)
{
    const uint64_t numbers[] = {
        row->sums.reads.bytes,     row->sums.writes.bytes, row->sums.reads.requests,
        row->sums.writes.requests, row->read_peak,         row->write_peak,
        row->sums.meta.requests,   row->sums.all.errors,
    };

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        tree_add_u64(t, array, numbers[i]);
    tree_add(t, array, seconds(row->sums.all.time_ns));
}

/* A row; without its names if `mount` is NULL. */
static struct json_object *row_array(struct tree *t, const struct summary_row *row,
                                     const struct io_mount *mount)
{
    struct json_object *array = tree_array(t);

    if (mount) {
        add_name(t, array, mount->mount);
        add_name(t, array, mount->fstype);
    }
    add_sums(t, array, row);
    return array;
}

static void put_head(struct tree *t, struct json_object *o, const struct record_head *head,
                     uint64_t elapsed_ns)
{
    struct json_object *nodes = tree_array(t);

    tree_put_u64(t, o, "v", 1);
    tree_put_bool(t, o, "complete", head->complete);
    tree_add_u64(t, nodes, head->nodes);
    tree_add_u64(t, nodes, head->nodes_expected);
    tree_put(t, o, "nodes", nodes);
    tree_put(t, o, "s", seconds(elapsed_ns));
    if (head->restart)
        tree_put_u64(t, o, "restart", head->restart);
}

/* The first n mounts. */
static struct json_object *mounts(struct tree *t, const struct io_summary *summary, size_t n)
{
    struct json_object *array = tree_array(t);

    for (size_t i = 0; i < n; i++)
        tree_add(t, array, row_array(t, &summary->rows[i], summary->rows[i].mount));
    return array;
}

/* Two mounts need not peak in the same interval: the peak of their sum is at least that of each,
 * and at least its mean. */
static void raise_to_mean(struct summary_row *sum, uint64_t elapsed_ns)
{
    uint64_t reads = io_per_second(sum->sums.reads.bytes, elapsed_ns);
    uint64_t writes = io_per_second(sum->sums.writes.bytes, elapsed_ns);

    sum->read_peak = reads > sum->read_peak ? reads : sum->read_peak;
    sum->write_peak = writes > sum->write_peak ? writes : sum->write_peak;
}

static struct json_object *rest(struct tree *t, const struct io_summary *summary, size_t from)
{
    struct summary_row sum = {0};

    for (size_t i = from; i < summary->n; i++)
        summary_row_add(&sum, &summary->rows[i]);
    raise_to_mean(&sum, summary->job->elapsed_ns);
    return row_array(t, &sum, NULL);
}

/* [calls, bytes] of the classes that write or do not. Returns false if the bytes of a call are not
 * known. */
static bool put_mpi_calls(struct tree *t, struct json_object *o, const char *key,
                          const struct mpi_account *mpi, bool writes)
{
    struct json_object *array = tree_array(t);
    uint64_t calls = 0, bytes = 0, unknown = 0;

    for (enum mpi_class class = 0; class < MPI_CLASS_FIRST_META; class ++) {
        const struct mpi_counter *c = &mpi->classes[class];

        if (mpi_class_is_write(class) != writes)
            continue;
        add_saturating(&calls, c->calls);
        add_saturating(&bytes, c->bytes);
        add_saturating(&bytes, c->requested_bytes);
        add_saturating(&unknown, c->unknown_calls);
    }
    tree_add_u64(t, array, calls);
    tree_add_u64(t, array, bytes);
    tree_put(t, o, key, array);
    return !unknown;
}

static void put_mpi(struct tree *t, struct json_object *o, const struct job_account *job)
{
    struct json_object *mpi = tree_object(t);
    bool complete = job_mpi_is_complete(job);

    complete &= put_mpi_calls(t, mpi, "r", job->mpi, false);
    complete &= put_mpi_calls(t, mpi, "w", job->mpi, true);
    tree_put(t, mpi, "s", seconds(mpi_account_time_ns(job->mpi)));
    tree_put_bool(t, mpi, "complete", complete);
    tree_put(t, o, "mpi", mpi);
}

/* Frees the object. */
static char *to_record(const struct tree *t, struct json_object *o)
{
    _free_ char *text = tree_text(tree_end(t, o));

    return text ? text_format("IO1:%s", text) : NULL;
}

/* The record with the first n mounts in rows of their own. */
static char *record_with(const struct io_summary *summary, size_t n, bool mpi)
{
    const struct record_head head = {
        .complete = job_is_complete(summary->job),
        .nodes = summary->job->nodes_reported,
        .nodes_expected = summary->job->nodes_expected,
        .restart = summary->job->key.restart,
    };
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t);

    put_head(t, o, &head, summary->job->elapsed_ns);
    /* Distinguishes a job without I/O from one that was not counted. */
    tree_put_text(t, o, "why", job_not_counted(summary->job));
    tree_put(t, o, "m", mounts(t, summary, n));
    tree_put(t, o, "rest", rest(t, summary, n));
    if (mpi && job_has_mpi(summary->job))
        put_mpi(t, o, summary->job);
    return to_record(t, o);
}

char *report_record(const struct job_account *job, bool mpi)
{
    struct io_summary summary;
    char *record = NULL;
    size_t n;

    if (summary_make(job, NULL, &summary) < 0)
        return NULL;
    n = summary.n < ROWS_MAX ? summary.n : ROWS_MAX;
    for (;; n--) {
        record = record_with(&summary, n, mpi);
        if (!record || strlen(record) <= RECORD_MAX || n == 0)
            break;
        free(record);
    }
    summary_clear(&summary);
    return record;
}

/* The end of the object that starts at `p`; NULL if it is not closed. json-c takes names in single
 * quotes even if it is strict; such a name could hold another record. */
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
        if (*p == '\'')
            return NULL;
        if (*p == '"')
            in_string = true;
        else if (*p == '{')
            depth++;
        else if (*p == '}' && --depth == 0)
            return p + 1;
    }
    return NULL;
}

/* A truncated record may seem to end inside the text that follows it. Strict: a comment of
 * JavaScript could hold another record. With this, json-c 0.17 and 0.18 refuse what is not ASCII,
 * which can only be inside of strings. */
static bool is_object(const char *p, const char *end)
{
    struct json_tokener *tokener = json_tokener_new();
    _free_ char *ascii = strndup(p, (size_t)(end - p));
    struct json_object *o = NULL;

    for (char *c = ascii; c && *c; c++)
        if (*c & 0x80)
            *c = 'x';
    if (tokener && ascii) {
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
        o = json_tokener_parse_ex(tokener, ascii, (int)(end - p));
    }
    json_object_put(o);
    json_tokener_free(tokener);
    return o != NULL;
}

/* The first complete record in the comment that is not part of a word; NULL if there is none. */
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

    if (!comment || !*comment)
        return strdup(record);
    old = find_record(comment, &end);
    if (old)
        return text_format("%.*s%s%s", (int)(old - comment), comment, record, end);
    return text_format("%s %s", comment, record);
}

char *record_without_account(const struct record_head *head, uint64_t elapsed_s, const char *why)
{
    static const struct job_account no_job;
    const struct io_summary nothing = {.job = &no_job};
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t);

    put_head(t, o, head, elapsed_s * NS_PER_S);
    tree_put_text(t, o, "why", why);
    tree_put(t, o, "m", mounts(t, &nothing, 0));
    tree_put(t, o, "rest", rest(t, &nothing, 0));
    return to_record(t, o);
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
