/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/sink_row.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store_private.h"
#include "common/cleanup.h"
#include "common/units.h"

static const char *const format_names[] = {[SINK_CLICKHOUSE] = "clickhouse", [SINK_BULK] = "bulk"};

int sink_format_parse(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(format_names); i++)
        if (!strcmp(text, format_names[i]))
            return (int)i;
    return -EINVAL;
}

const char *sink_format_name(enum sink_format format)
{
    return format_names[format];
}

/* --- the columns ------------------------------------------------------------------------------- */

enum column_type { COLUMN_TEXT, COLUMN_U32, COLUMN_U64, COLUMN_BOOL /* 0 or 1 */ };

struct column {
    const char *name;
    enum column_type type;
    size_t offset;
};

#define T(field) {#field, COLUMN_TEXT, offsetof(struct sink_row, field)}
#define U32(field) {#field, COLUMN_U32, offsetof(struct sink_row, field)}
#define N(field) {#field, COLUMN_U64, offsetof(struct sink_row, field)}
#define B(field) {#field, COLUMN_BOOL, offsetof(struct sink_row, field)}
#define SUM(name, field) {name, COLUMN_U64, offsetof(struct sink_row, field)}

static const struct column columns[] = {
    T(cluster),
    U32(jobid),
    U32(restart),
    U32(het),
    U32(step),
    T(node),
    N(tagged_at_ns),
    T(mount),
    T(fstype),
    T(source),
    B(private),
    B(labelled),
    N(version),
    U32(uid),
    T(user),
    T(account),
    T(partition),
    T(name),
    B(job_ended),
    N(start_ns),
    N(end_ns),
    N(job_elapsed_ns),
    U32(nodes_expected),
    N(job_longest_wait_ns),
    N(job_lost),
    T(job_incomplete),
    T(unsupported),
    N(ns_per_event),
    T(step_name),
    T(state),
    U32(folded),
    N(elapsed_ns),
    N(longest_wait_ns),
    N(lost),
    T(incomplete),
    SUM("read_requests", reads.requests),
    SUM("read_bytes", reads.bytes),
    SUM("read_errors", reads.errors),
    SUM("read_time_ns", reads.time_ns),
    SUM("read_max_ns", reads.max_ns),
    SUM("write_requests", writes.requests),
    SUM("write_bytes", writes.bytes),
    SUM("write_errors", writes.errors),
    SUM("write_time_ns", writes.time_ns),
    SUM("write_max_ns", writes.max_ns),
    SUM("meta_requests", meta.requests),
    SUM("meta_errors", meta.errors),
    SUM("meta_time_ns", meta.time_ns),
    SUM("meta_max_ns", meta.max_ns),
    N(errors),
    N(wait_ns),
    SUM("cache_hit_bytes", cache.hit_bytes),
    SUM("cache_miss_bytes", cache.miss_bytes),
    SUM("fill_read_bytes", cache.fill_bytes[IO_FILL_READ]),
    SUM("fill_fault_bytes", cache.fill_bytes[IO_FILL_FAULT]),
    SUM("fill_prefetch_bytes", cache.fill_bytes[IO_FILL_PREFETCH]),
    SUM("fill_write_bytes", cache.fill_bytes[IO_FILL_WRITE]),
};

/* The numbers of an operation: of its counter, or of a peak. */
struct op_values {
    const struct io_counter *counter;
    const struct io_peak *step_peak, *job_peak;
};

#define COUNTER(field) {#field, offsetof(struct op_values, counter), offsetof(struct io_counter, field)}
#define PEAK(name, whose, field) {name, offsetof(struct op_values, whose), offsetof(struct io_peak, field)}

static const struct op_column {
    const char *name; /* a column of ClickHouse is op_NAME */
    size_t whose, offset;
} op_columns[] = {
    COUNTER(requests),
    COUNTER(async_requests),
    COUNTER(bytes),
    COUNTER(errors),
    COUNTER(time_ns),
    COUNTER(max_ns),
    PEAK("peak_bytes_per_s", step_peak, bytes_per_s),
    PEAK("peak_requests_per_s", step_peak, requests_per_s),
    PEAK("job_peak_bytes_per_s", job_peak, bytes_per_s),
    PEAK("job_peak_requests_per_s", job_peak, requests_per_s),
};

static const struct {
    const char *name;
    size_t offset;
} histograms[] = {
    {"size_log2", offsetof(struct io_counter, size_log2)},
    {"latency_log2", offsetof(struct io_counter, latency_log2)},
};

/* --- writing ----------------------------------------------------------------------------------- */

/* A tree that grows. One failed allocation spoils it, and is asked for once at the end. */
struct tree {
    struct json_object *root;
    bool failed;
};

static void put(struct tree *tree, struct json_object *to, const char *key,
                struct json_object *child)
{
    if (to && child && json_object_object_add(to, key, child) == 0)
        return;
    json_object_put(child);
    tree->failed = true;
}

static void append(struct tree *tree, struct json_object *to, struct json_object *child)
{
    if (to && child && json_object_array_add(to, child) == 0)
        return;
    json_object_put(child);
    tree->failed = true;
}

/* Names come from users; what is not UTF-8 no sink takes. */
static struct json_object *text_json(const char *text)
{
    _free_ char *clean = units_utf8(text ? text : "");

    return clean ? json_object_new_string(clean) : NULL;
}

/* The store, and every sink's 64 bit number with a sign, ends at 2^63 - 1. */
static struct json_object *number_json(uint64_t number)
{
    return json_object_new_int64(number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

static struct json_object *column_json(const struct column *column, const struct sink_row *row)
{
    const char *p = (const char *)row + column->offset;

    switch (column->type) {
    case COLUMN_TEXT:
        return text_json(*(const char *const *)p);
    case COLUMN_U32:
        return json_object_new_int64(*(const uint32_t *)p);
    case COLUMN_U64:
        return number_json(*(const uint64_t *)p);
    case COLUMN_BOOL:
        return json_object_new_int(*(const bool *)p);
    }
    return NULL;
}

/* Copied, because a compiler may take it that nobody reads pointers as others than they are. */
static void *pointer_at(const struct op_values *values, size_t offset)
{
    void *pointer;

    memcpy(&pointer, (const char *)values + offset, sizeof(pointer));
    return pointer;
}

static struct json_object *op_number(const struct op_column *column, const struct op_values *values)
{
    const char *whose = pointer_at(values, column->whose);
    uint64_t number = 0;

    if (whose)
        memcpy(&number, whose + column->offset, sizeof(number));
    return number_json(number);
}

static struct json_object *histogram_json(struct tree *tree, const struct io_counter *c, size_t at)
{
    const uint64_t *buckets = (const uint64_t *)(const void *)((const char *)c + at);
    struct json_object *array = json_object_new_array();
    size_t n = IO_BUCKETS;

    while (n && !buckets[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        append(tree, array, number_json(buckets[i]));
    return array;
}

/* As in the store: {"number of the errno": count}. */
static struct json_object *errnos_text(const struct io_counter *c)
{
    _free_ char *text = NULL;

    return store_errnos_text(c, &text) < 0 ? NULL : json_object_new_string(text ? text : "");
}

static struct json_object *errnos_object(struct tree *tree, const struct io_counter *c)
{
    struct json_object *object = json_object_new_object();
    char buf[16];

    for (size_t i = 0; i < c->n_errnos; i++)
        put(tree, object, io_errno_name(c->errnos[i].code, buf), number_json(c->errnos[i].count));
    return object;
}

static struct op_values values_of(const struct io_mount *m, const struct io_mount *job, int op)
{
    return (struct op_values){m->io.ops[op], &m->peaks[op], job ? &job->peaks[op] : NULL};
}

/* Arrays of the same length, side by side. */
static void put_ops_arrays(struct tree *tree, const struct io_mount *m, const struct io_mount *job)
{
    struct json_object *names = json_object_new_array(), *errnos = json_object_new_array();
    struct json_object *numbers[ARRAY_SIZE(op_columns)], *buckets[ARRAY_SIZE(histograms)];
    char name[48];

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        numbers[i] = json_object_new_array();
    for (size_t i = 0; i < ARRAY_SIZE(buckets); i++)
        buckets[i] = json_object_new_array();
    for (int op = 0; m && op < IO_OP_COUNT; op++) {
        const struct op_values values = values_of(m, job, op);

        if (!values.counter)
            continue;
        append(tree, names, json_object_new_string(io_op_name(op)));
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
            append(tree, numbers[i], op_number(&op_columns[i], &values));
        for (size_t i = 0; i < ARRAY_SIZE(buckets); i++)
            append(tree, buckets[i], histogram_json(tree, values.counter, histograms[i].offset));
        append(tree, errnos, errnos_text(values.counter));
    }
    put(tree, tree->root, "op", names);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        (void)snprintf(name, sizeof(name), "op_%s", op_columns[i].name);
        put(tree, tree->root, name, numbers[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(buckets); i++) {
        (void)snprintf(name, sizeof(name), "op_%s", histograms[i].name);
        put(tree, tree->root, name, buckets[i]);
    }
    put(tree, tree->root, "op_errno", errnos);
}

/* {"read":{"requests":..},..} */
static void put_ops_objects(struct tree *tree, const struct io_mount *m, const struct io_mount *job)
{
    struct json_object *ops = json_object_new_object();

    for (int op = 0; m && op < IO_OP_COUNT; op++) {
        const struct op_values values = values_of(m, job, op);
        struct json_object *one = values.counter ? json_object_new_object() : NULL;

        if (!values.counter)
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(op_columns); i++)
            put(tree, one, op_columns[i].name, op_number(&op_columns[i], &values));
        for (size_t i = 0; i < ARRAY_SIZE(histograms); i++)
            put(tree, one, histograms[i].name,
                histogram_json(tree, values.counter, histograms[i].offset));
        if (values.counter->n_errnos)
            put(tree, one, "errno", errnos_object(tree, values.counter));
        put(tree, ops, io_op_name(op), one);
    }
    put(tree, tree->root, "io", ops);
}

static void put_timestamp(struct tree *tree, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000u);
    char day[32], text[48];
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
        return;
    (void)snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned)(ns / 1000000u % 1000u));
    put(tree, tree->root, "@timestamp", json_object_new_string(text));
}

static __uint128_t fnv1a(__uint128_t hash, const char *text)
{
    const __uint128_t prime = (__uint128_t)1 << 88 | 0x13b;

    do /* with its end, so that "a" "b" is not "ab" "" */
        hash = (hash ^ (unsigned char)*text) * prime;
    while (*text++);
    return hash;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The key of the row. Paths are as long as they like, an _id has at most 512 bytes. */
static struct json_object *id_json(const struct sink_row *row)
{
    __uint128_t hash = (__uint128_t)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
    _free_ char *node = units_utf8(or_empty(row->node));
    char text[512];

    hash = fnv1a(hash, or_empty(row->mount));
    hash = fnv1a(hash, or_empty(row->fstype));
    hash = fnv1a(hash, or_empty(row->source));
    hash = fnv1a(hash, row->private ? "1" : "0");
    (void)snprintf(text, sizeof(text),
                   "%.64s.%u.%u.%u.%u.%.255s.%" PRIu64 ".%016" PRIx64 "%016" PRIx64,
                   or_empty(row->cluster), row->jobid, row->restart, row->het, row->step,
                   or_empty(node), row->tagged_at_ns, (uint64_t)(hash >> 64), (uint64_t)hash);
    return json_object_new_string(text);
}

/* With "index" the engine itself keeps an older version from taking the place of a newer one. */
static struct json_object *action_json(struct tree *tree, const struct sink_row *row,
                                       const struct sink_row_options *options)
{
    struct json_object *action = json_object_new_object(), *meta = json_object_new_object();

    if (options->index)
        put(tree, meta, "_index", json_object_new_string(options->index));
    put(tree, meta, "_id", id_json(row));
    if (!strcmp(options->action, "index")) {
        put(tree, meta, "version", number_json(row->version));
        put(tree, meta, "version_type", json_object_new_string("external_gte"));
    }
    put(tree, action, options->action, meta);
    return action;
}

static void print_json(FILE *out, struct json_object *object)
{
    (void)fprintf(out, "%s\n",
                  json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
                                                             JSON_C_TO_STRING_NOSLASHESCAPE));
}

static int row_write(FILE *out, const struct sink_row *row, const struct io_mount *m,
                     const struct io_mount *job, const struct sink_row_options *options)
{
    struct tree tree = {.root = json_object_new_object()};
    struct json_object *action = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        put(&tree, tree.root, columns[i].name, column_json(&columns[i], row));
    if (options->format == SINK_BULK) {
        put_timestamp(&tree, row->tagged_at_ns);
        put_ops_objects(&tree, m, job);
        action = action_json(&tree, row, options);
    } else {
        put_ops_arrays(&tree, m, job);
    }
    if (!tree.failed && action)
        print_json(out, action);
    if (!tree.failed)
        print_json(out, tree.root);
    json_object_put(action);
    json_object_put(tree.root);
    return tree.failed || ferror(out) ? -ENOMEM : 0;
}

struct texts {
    char *job_incomplete, *incomplete, *unsupported;
    char step[16];
};

static void texts_clear(struct texts *texts)
{
    free(texts->job_incomplete);
    free(texts->incomplete);
    free(texts->unsupported);
}

static int texts_make(const struct job_account *job, struct texts *texts)
{
    const struct step_account *step = &job->steps[0];

    (void)step_format(step->step, texts->step);
    if (store_causes_text(&job->completeness, &texts->job_incomplete) < 0 ||
        store_causes_text(&step->completeness, &texts->incomplete) < 0 ||
        store_ops_text(job->unsupported, &texts->unsupported) < 0)
        return -ENOMEM;
    return 0;
}

static struct sink_row row_of_step(const struct job_account *job, uint64_t version,
                                   const struct texts *texts)
{
    const struct step_account *step = &job->steps[0];

    return (struct sink_row){
        .cluster = job->key.cluster,
        .node = step->node,
        .jobid = job->key.jobid,
        .restart = job->key.restart,
        .het = step->het,
        .step = step->step,
        .tagged_at_ns = step->tagged_at_ns,
        .version = version,
        .user = job->user,
        .account = job->account,
        .partition = job->partition,
        .name = job->name,
        .job_incomplete = texts->job_incomplete,
        .unsupported = texts->unsupported,
        .uid = job->uid,
        .nodes_expected = job->nodes_expected,
        .job_ended = job->ended,
        .start_ns = job->start_ns,
        .end_ns = job->end_ns,
        .job_elapsed_ns = job->elapsed_ns,
        .job_longest_wait_ns = job->longest_wait_ns,
        .job_lost = job->completeness.lost,
        .ns_per_event = job->ns_per_event,
        .step_name = texts->step,
        .state = step_state_name(step->state),
        .incomplete = texts->incomplete,
        .folded = step->folded,
        .elapsed_ns = step->elapsed_ns,
        .longest_wait_ns = step->longest_wait_ns,
        .lost = step->completeness.lost,
    };
}

static void row_set_mount(struct sink_row *row, const struct io_mount *m)
{
    struct io_sum all = io_account_all(&m->io);

    row->mount = m->mount;
    row->fstype = m->fstype;
    row->source = m->source;
    row->private = m->private;
    row->labelled = m->labelled;
    row->reads = io_account_reads(&m->io);
    row->writes = io_account_writes(&m->io);
    row->meta = io_account_meta(&m->io);
    row->errors = all.errors;
    row->wait_ns = all.time_ns;
    row->cache = m->cache;
}

static const struct io_mount *find_mount(const struct io_mounts *mounts, const struct io_mount *m)
{
    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *other = &mounts->items[i];

        if (!strcmp(other->mount, m->mount) && !strcmp(other->fstype, m->fstype) &&
            !strcmp(other->source, m->source) && other->private == m->private)
            return other;
    }
    return NULL;
}

int sink_row_write(FILE *out, const struct job_account *job, uint64_t version,
                   const struct sink_row_options *options, unsigned *rows)
{
    struct texts texts CLEANUP(texts_clear) = {0};
    const struct io_mounts *mounts = &job->steps[0].mounts;
    struct sink_row row;
    int r = texts_make(job, &texts);

    if (r < 0)
        return r;
    row = row_of_step(job, version, &texts);
    *rows = mounts->n ? (unsigned)mounts->n : 1;
    if (!mounts->n)
        return row_write(out, &row, NULL, NULL, options);
    for (size_t i = 0; i < mounts->n && r == 0; i++) {
        const struct io_mount *m = &mounts->items[i];

        row_set_mount(&row, m);
        r = row_write(out, &row, m, find_mount(&job->mounts, m), options);
    }
    return r;
}

/* --- the reverse ------------------------------------------------------------------------------- */

static int column_parse(const struct column *column, struct json_object *document,
                        struct sink_row *row, struct error *error)
{
    char *p = (char *)row + column->offset;
    struct json_object *value;
    bool text = column->type == COLUMN_TEXT;

    if (text)
        *(const char **)p = "";
    if (!json_object_object_get_ex(document, column->name, &value))
        return 0;
    if (!json_object_is_type(value, text ? json_type_string : json_type_int))
        return error_set(error, -EBADMSG, "column \"%s\" is of the wrong type", column->name);
    switch (column->type) {
    case COLUMN_TEXT:
        *(const char **)p = json_object_get_string(value);
        break;
    case COLUMN_U32:
        *(uint32_t *)p = (uint32_t)json_object_get_int64(value);
        break;
    case COLUMN_U64:
        *(uint64_t *)p = json_object_get_uint64(value);
        break;
    case COLUMN_BOOL:
        *(bool *)p = json_object_get_int64(value) != 0;
        break;
    }
    return 0;
}

/* Element i of the array in column op_NAME, or NULL. */
static struct json_object *element(struct json_object *document, const char *name, size_t i)
{
    char column[48];
    struct json_object *array;

    (void)snprintf(column, sizeof(column), "op_%s", name);
    if (!json_object_object_get_ex(document, column, &array) ||
        !json_object_is_type(array, json_type_array))
        return NULL;
    return json_object_array_get_idx(array, i);
}

static int op_parse(struct json_object *document, size_t i, struct io_counter *c,
                    struct io_peak *step_peak, struct io_peak *job_peak)
{
    const struct op_values values = {c, step_peak, job_peak};
    const char *errnos = json_object_get_string(element(document, "errno", i));

    for (size_t k = 0; k < ARRAY_SIZE(op_columns); k++) {
        char *whose = pointer_at(&values, op_columns[k].whose);
        uint64_t number = json_object_get_uint64(element(document, op_columns[k].name, i));

        memcpy(whose + op_columns[k].offset, &number, sizeof(number));
    }
    for (size_t k = 0; k < ARRAY_SIZE(histograms); k++) {
        uint64_t *buckets = (uint64_t *)(void *)((char *)c + histograms[k].offset);
        struct json_object *array = element(document, histograms[k].name, i);

        for (size_t b = 0; array && b < IO_BUCKETS && b < json_object_array_length(array); b++)
            buckets[b] = json_object_get_uint64(json_object_array_get_idx(array, b));
    }
    return store_errnos_parse(errnos && *errnos ? errnos : NULL, c);
}

static int ops_parse(struct json_object *document, struct io_account *io, struct io_peak *step_peaks,
                     struct io_peak *job_peaks, struct error *error)
{
    struct json_object *names;
    int r = 0;

    if (!json_object_object_get_ex(document, "op", &names) ||
        !json_object_is_type(names, json_type_array))
        return error_set(error, -EBADMSG, "a row without the column \"op\"");
    for (size_t i = 0; i < json_object_array_length(names) && r == 0; i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        int op = io_op_parse(name ? name : "");
        struct io_counter *c = op < 0 ? NULL : io_account_op(io, op);

        if (op < 0) /* of a newer version */
            continue;
        r = c ? op_parse(document, i, c, &step_peaks[op], &job_peaks[op]) : -ENOMEM;
    }
    return r < 0 ? error_errno(error, r, "the operations of a row") : 0;
}

int sink_row_parse(struct json_object *document, struct sink_row *ret, struct io_account *io,
                   struct io_peak step_peaks[IO_OP_COUNT], struct io_peak job_peaks[IO_OP_COUNT],
                   struct error *error)
{
    int r = 0;

    if (!json_object_is_type(document, json_type_object))
        return error_set(error, -EBADMSG, "a row is no object");
    *ret = (struct sink_row){0};
    for (size_t i = 0; i < ARRAY_SIZE(columns) && r == 0; i++)
        r = column_parse(&columns[i], document, ret, error);
    return r < 0 ? r : ops_parse(document, io, step_peaks, job_peaks, error);
}
