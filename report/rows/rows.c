/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/rows/rows.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "report/rows/rows_impl.h"
#include "common/account_text.h"
#include "common/cleanup.h"
#include "common/tree.h"
#include "common/utf8.h"

#define FORMAT_NAME(format, word) [format] = word,
static const char *const format_names[] = {SINK_FORMATS(FORMAT_NAME)};

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

/* --- writing ---------------------------------------------------------------------------------- */

/* Escapes invalid UTF-8, which no sink accepts. It is not replaced, because names are part of the
 * key of a row. */
static struct json_object *text_json(const char *text)
{
    _free_ char *clean = utf8_escape(text ? text : "");

    return clean ? json_object_new_string(clean) : NULL;
}

static struct json_object *column_json(const struct sink_column *column, const struct sink_row *row)
{
    const char *p = (const char *)row + column->offset;

    switch (column->type) {
    case SINK_TEXT:
        return text_json(*(const char *const *)p);
    case SINK_U32:
        return json_object_new_int64(*(const uint32_t *)p);
    case SINK_U64:
        return rows_number_json(*(const uint64_t *)p);
    case SINK_BOOL:
        return json_object_new_int(*(const bool *)p);
    }
    return NULL;
}

/* As in the store: {"number of the errno": count}. */
static struct json_object *errnos_text(struct tree *tree, const struct io_counter *c)
{
    _free_ char *text = NULL;

    (void)tree;
    return io_errnos_text(c, &text) < 0 ? NULL : json_object_new_string(text ? text : "");
}

static struct json_object *errnos_object(struct tree *tree, const struct io_counter *c)
{
    struct json_object *object = tree_object(tree);
    char buf[16];

    for (size_t i = 0; i < c->n_errnos; i++)
        tree_put(tree, object, io_errno_name(c->errnos[i].code, buf),
                 rows_number_json(c->errnos[i].count));
    return object;
}

/* A field of an operation; `errnos` makes the value of IO_FIELD_ERRNOS. */
static struct json_object *
field_json(struct tree *tree, const struct io_field *field, const struct io_counter *c,
           struct json_object *(*errnos)(struct tree *, const struct io_counter *))
{
    switch (field->kind) {
    case IO_FIELD_ERRNOS:
        return errnos(tree, c);
    case IO_FIELD_HISTOGRAM:
        return rows_histogram_json(tree, io_field_of(field, c));
    case IO_FIELD_SUM:
    case IO_FIELD_MAX:
        break;
    }
    return rows_number_json(*io_field_of(field, c));
}

/* `job`: the same mount in the sums of the job; NULL: none, its peaks are 0. */
static struct json_object *peak_json(const struct sink_peak *column, const struct io_mount *m,
                                     const struct io_mount *job, int op)
{
    const struct io_mount *of = column->of == SINK_PEAK_JOB ? job : m;
    uint64_t peak = 0;

    if (of)
        memcpy(&peak, (const char *)&of->peaks[op] + column->offset, sizeof(peak));
    return rows_number_json(peak);
}

/* Arrays of the same length, side by side: op, op_requests, ... */
static void put_ops_arrays(struct tree *tree, struct json_object *root, const struct io_mount *m,
                           const struct io_mount *job)
{
    struct json_object *names = tree_array(tree), *arrays[IO_FIELD_COUNT + SINK_PEAKS];
    char name[48];

    for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
        arrays[i] = tree_array(tree);
    for (int op = 0; m && op < IO_OP_COUNT; op++) {
        const struct io_counter *c = m->io.ops[op];

        if (!c)
            continue;
        tree_add_text(tree, names, io_op_name(op));
        for (size_t i = 0; i < IO_FIELD_COUNT; i++)
            tree_add(tree, arrays[i], field_json(tree, &io_fields[i], c, errnos_text));
        for (size_t i = 0; i < SINK_PEAKS; i++)
            tree_add(tree, arrays[IO_FIELD_COUNT + i], peak_json(&sink_peaks[i], m, job, op));
    }
    tree_put(tree, root, "op", names);
    for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
        (void)snprintf(name, sizeof(name), "op_%s",
                       i < IO_FIELD_COUNT ? io_fields[i].name
                                          : sink_peaks[i - IO_FIELD_COUNT].name);
        tree_put(tree, root, name, arrays[i]);
    }
}

/* Without the zeros at the end, as in the store. */
static struct json_object *bins_json(struct tree *tree, const struct timeline *t,
                                     enum timeline_kind kind)
{
    struct json_object *array = tree_array(tree);
    unsigned n = timeline_length(t, kind);

    for (unsigned i = 0; i < n; i++)
        tree_add(tree, array, rows_number_json(*timeline_number(&t->bins[i], kind)));
    return array;
}

static void put_timeline(struct tree *tree, struct json_object *root, const struct timeline *t)
{
    char name[48];

    if (timeline_is_empty(t))
        return;
    tree_put(tree, root, "timeline_start_s", rows_number_json(t->start_s));
    tree_put(tree, root, "timeline_width_s", rows_number_json(t->width_s));
    for (enum timeline_kind kind = 0; kind < TIMELINE_NUMBERS; kind++) {
        (void)snprintf(name, sizeof(name), "timeline_%s", timeline_kind_name(kind));
        tree_put(tree, root, name, bins_json(tree, t, kind));
    }
}

/* {"read":{"requests":..},..}; errnos only where there was an error. */
static void put_ops_objects(struct tree *tree, struct json_object *root, const struct io_mount *m,
                            const struct io_mount *job)
{
    struct json_object *ops = tree_object(tree);

    for (int op = 0; m && op < IO_OP_COUNT; op++) {
        const struct io_counter *c = m->io.ops[op];
        struct json_object *one = c ? tree_object(tree) : NULL;

        if (!c)
            continue;
        for (size_t i = 0; i < IO_FIELD_COUNT; i++)
            if (io_fields[i].kind != IO_FIELD_ERRNOS || c->n_errnos)
                tree_put(tree, one, io_fields[i].name,
                         field_json(tree, &io_fields[i], c, errnos_object));
        for (size_t i = 0; i < SINK_PEAKS; i++)
            tree_put(tree, one, sink_peaks[i].name, peak_json(&sink_peaks[i], m, job, op));
        tree_put(tree, ops, io_op_name(op), one);
    }
    tree_put(tree, root, "io", ops);
}

static void put_timestamp(struct tree *tree, struct json_object *root, uint64_t ns)
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    char day[32], text[48];
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm))
        return;
    (void)snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned)(ns / NS_PER_MS % 1000u));
    tree_put_text(tree, root, "@timestamp", text);
}

static __uint128_t fnv1a(__uint128_t hash, const char *text)
{
    const __uint128_t prime = (__uint128_t)1 << 88 | 0x13b;

    do /* including the NUL, so that "a" "b" differs from "ab" "" */
        hash = (hash ^ (unsigned char)*text) * prime;
    while (*text++);
    return hash;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The key of the row. Names of mounts are hashed, because an _id has at most 512 bytes. */
static struct json_object *id_json(const struct sink_row *row)
{
    __uint128_t hash = (__uint128_t)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
    _free_ char *node = utf8_escape(or_empty(row->node));
    char text[512];

    if (!node)
        return NULL;
    hash = fnv1a(hash, or_empty(row->mount));
    hash = fnv1a(hash, or_empty(row->fstype));
    hash = fnv1a(hash, or_empty(row->source));
    hash = fnv1a(hash, row->private ? "1" : "0");
    (void)snprintf(text, sizeof(text),
                   "%.64s.%u.%u.%u.%u.%.255s.%" PRIu64 ".%016" PRIx64 "%016" PRIx64,
                   or_empty(row->cluster), row->jobid, row->restart, row->het, row->step, node,
                   row->tagged_at_ns, (uint64_t)(hash >> 64), (uint64_t)hash);
    return json_object_new_string(text);
}

/* With "index" the engine itself prevents an older version from replacing a newer one. */
static struct json_object *action_json(struct tree *tree, const struct sink_row *row,
                                       const struct sink_row_options *options)
{
    struct json_object *action = tree_object(tree), *meta = tree_object(tree);

    if (options->index)
        tree_put_text(tree, meta, "_index", options->index);
    tree_put(tree, meta, "_id", id_json(row));
    if (!strcmp(options->action, "index")) {
        tree_put(tree, meta, "version", rows_number_json(row->version));
        tree_put_text(tree, meta, "version_type", "external_gte");
    }
    tree_put(tree, action, options->action, meta);
    return action;
}

static void print_json(struct tree *tree, FILE *out, struct json_object *object)
{
    const char *text = tree->failed ? NULL : tree_print(object);

    /* A memory stream that cannot grow sets no error indicator. */
    tree->failed |= !text || fprintf(out, "%s\n", text) < 0;
}

/* `m` may be NULL: the step used no mount. `job`: the same mount in the sums of the job. */
static int row_write(FILE *out, const struct sink_row *row, const struct step_account *step,
                     const struct io_mount *m, const struct io_mount *job,
                     const struct sink_row_options *options)
{
    struct tree tree = {false};
    struct json_object *root = tree_object(&tree), *action = NULL;

    for (size_t i = 0; i < SINK_COLUMNS; i++)
        tree_put(&tree, root, sink_columns[i].name, column_json(&sink_columns[i], row));
    for (size_t i = 0; i < IO_SUM_COLUMNS; i++)
        tree_put(&tree, root, io_sum_columns[i].name,
                 rows_number_json(io_column_of(&io_sum_columns[i], &row->sums)));
    for (size_t i = 0; i < IO_CACHE_COLUMNS; i++)
        tree_put(&tree, root, io_cache_columns[i].name,
                 rows_number_json(io_column_of(&io_cache_columns[i], &row->cache)));
    rows_put_mpi(&tree, root, options->format, step->mpi);
    rows_put_rpc(&tree, root, options->format, m ? m->rpc : NULL);
    rows_put_block(&tree, root, options->format, step->block);
    if (options->format == SINK_BULK) {
        put_timestamp(&tree, root, row->tagged_at_ns);
        put_ops_objects(&tree, root, m, job);
        action = action_json(&tree, row, options);
    } else {
        put_ops_arrays(&tree, root, m, job);
        if (m)
            put_timeline(&tree, root, &m->timeline);
    }
    if (action)
        print_json(&tree, out, action);
    print_json(&tree, out, root);
    json_object_put(action);
    json_object_put(root);
    return tree.failed || ferror(out) ? -ENOMEM : 0;
}

struct texts {
    char *job_incomplete, *incomplete, *unsupported, *mpi_incomplete;
    char step[16];
};

static void texts_clear(struct texts *texts)
{
    free(texts->job_incomplete);
    free(texts->incomplete);
    free(texts->unsupported);
    free(texts->mpi_incomplete);
}

static int texts_make(const struct job_account *job, struct texts *texts)
{
    const struct step_account *step = &job->steps[0];

    (void)step_format(step->step, texts->step);
    if (completeness_text(&job->completeness, &texts->job_incomplete) < 0 ||
        completeness_text(&step->completeness, &texts->incomplete) < 0 ||
        io_ops_text(job->unsupported, &texts->unsupported) < 0 ||
        mpi_incomplete_text(step->mpi, &texts->mpi_incomplete) < 0)
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
        .array_job = job->array_job,
        .array_task = job->array_task,
        .job_incomplete = texts->job_incomplete,
        .unsupported = texts->unsupported,
        .uid = job->uid,
        .nodes_expected = job->nodes_expected,
        .job_ended = job->ended,
        .slurm_state = slurm_state_name(job->slurm.state),
        .exit_code = job->slurm.exit_code,
        .exit_signal = job->slurm.exit_signal,
        .exit_known = job->slurm.has_exit,
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
        .mpi_incomplete = texts->mpi_incomplete,
        .block_counted = step->block != NULL,
        .block_incomplete = step->block && step->block->incomplete,
        .block_shared_at_most = step->block && step->block->shared_at_most,
    };
}

static void row_set_mount(struct sink_row *row, const struct io_mount *m)
{
    row->mount = m->mount;
    row->fstype = m->fstype;
    row->source = m->source;
    row->private = m->private;
    row->labelled = m->labelled;
    row->sums = io_account_sums(&m->io);
    row->cache = m->cache;
    memcpy(row->users, m->users, sizeof(row->users));
    row->rpc_counted = m->rpc != NULL;
    row->rpc_incomplete = m->rpc && m->rpc->incomplete;
    row->rpc_shared_at_most = m->rpc && m->rpc->shared_at_most;
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
    const struct step_account *step = &job->steps[0];
    const struct io_mounts *mounts = &step->mounts;
    struct sink_row row;
    int r = texts_make(job, &texts);

    if (r < 0)
        return r;
    row = row_of_step(job, version, &texts);
    *rows = mounts->n ? (unsigned)mounts->n : 1;
    if (!mounts->n)
        return row_write(out, &row, step, NULL, NULL, options);
    for (size_t i = 0; i < mounts->n && r == 0; i++) {
        const struct io_mount *m = &mounts->items[i];

        row_set_mount(&row, m);
        r = row_write(out, &row, step, m, find_mount(&job->mounts, m), options);
    }
    return r;
}
