/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads rows from ClickHouse. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/rows/rows_impl.h"
#include "common/account_text.h"
#include "common/cleanup.h"
#include "common/utf8.h"

const char *sink_text_parse(struct json_object *value)
{
    const char *text = json_object_get_string(value);
    _free_ char *plain = text && strchr(text, '\\') ? strdup(text) : NULL;

    if (!plain)
        return text;
    utf8_unescape(plain);
    return json_object_set_string(value, plain) ? json_object_get_string(value) : text;
}

/* 1: found; 0: the row has no such column. */
static int column_get(struct json_object *document, const char *name, enum json_type type,
                      struct json_object **ret, struct error *error)
{
    if (!json_object_object_get_ex(document, name, ret))
        return 0;
    if (!json_object_is_type(*ret, type))
        return error_set(error, -EBADMSG, "column \"%s\" has the wrong type", name);
    return 1;
}

static int column_parse(const struct sink_column *column, struct json_object *document,
                        struct sink_row *row, struct error *error)
{
    char *p = (char *)row + column->offset;
    struct json_object *value;
    bool text = column->type == SINK_TEXT;
    int r;

    if (text)
        *(const char **)p = "";
    r = column_get(document, column->name, text ? json_type_string : json_type_int, &value, error);
    if (r <= 0)
        return r;
    switch (column->type) {
    case SINK_TEXT:
        *(const char **)p = sink_text_parse(value);
        break;
    case SINK_U32:
        *(uint32_t *)p = (uint32_t)json_object_get_int64(value);
        break;
    case SINK_U64:
        *(uint64_t *)p = json_object_get_uint64(value);
        break;
    case SINK_BOOL:
        *(bool *)p = json_object_get_int64(value) != 0;
        break;
    }
    return 0;
}

static int numbers_parse(const struct io_column *columns, size_t n, struct json_object *document,
                         void *ret, struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        struct json_object *value;
        int r = column_get(document, columns[i].name, json_type_int, &value, error);

        if (r < 0)
            return r;
        if (r > 0)
            *io_column_in(&columns[i], ret) = json_object_get_uint64(value);
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

static int field_parse(struct json_object *value, const struct io_field *field,
                       struct io_counter *c)
{
    uint64_t *number = io_field_in(field, c);
    const char *errnos;

    switch (field->kind) {
    case IO_FIELD_ERRNOS:
        errnos = json_object_get_string(value);
        return io_errnos_parse(errnos && *errnos ? errnos : NULL, c);
    case IO_FIELD_HISTOGRAM:
        return rows_histogram_parse(value, number);
    case IO_FIELD_SUM:
    case IO_FIELD_MAX:
        break;
    }
    *number = json_object_get_uint64(value);
    return 0;
}

/* The operation at index i of the arrays. */
static int op_parse(struct json_object *document, size_t i, struct io_counter *c,
                    struct io_peak *step_peak, struct io_peak *job_peak)
{
    int r = 0;

    for (size_t k = 0; r == 0 && k < IO_FIELD_COUNT; k++)
        r = field_parse(element(document, io_fields[k].name, i), &io_fields[k], c);
    for (size_t k = 0; k < SINK_PEAKS; k++) {
        struct io_peak *of = sink_peaks[k].of == SINK_PEAK_JOB ? job_peak : step_peak;
        uint64_t peak = json_object_get_uint64(element(document, sink_peaks[k].name, i));

        memcpy((char *)of + sink_peaks[k].offset, &peak, sizeof(peak));
    }
    return r;
}

static int ops_parse(struct json_object *document, struct sink_io *io, struct error *error)
{
    struct json_object *names;
    int r = 0;

    if (!json_object_object_get_ex(document, "op", &names) ||
        !json_object_is_type(names, json_type_array))
        return error_set(error, -EBADMSG, "a row has no column \"op\"");
    for (size_t i = 0; i < json_object_array_length(names) && r == 0; i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, i));
        int op = io_op_parse(name ? name : "");
        struct io_counter *c = op < 0 ? NULL : io_account_op(&io->io, op);

        if (op < 0) /* written by a newer version */
            continue;
        r = c ? op_parse(document, i, c, &io->step_peaks[op], &io->job_peaks[op]) : -ENOMEM;
    }
    return r < 0 ? error_errno(error, r, "the operations of a row") : 0;
}

/* Returns the number of bins, or -EBADMSG. Raises *n to it. */
static int bins_parse(struct json_object *array, enum timeline_kind kind,
                      struct timeline_bin bins[TIMELINE_BINS], size_t *n)
{
    size_t length =
        json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;

    if (length > TIMELINE_BINS)
        return -EBADMSG;
    for (size_t i = 0; i < length; i++)
        *timeline_number(&bins[i], kind) =
            json_object_get_uint64(json_object_array_get_idx(array, i));
    if (length > *n)
        *n = length;
    return (int)length;
}

static struct json_object *timeline_member(struct json_object *document, const char *name)
{
    struct json_object *value = NULL;
    char column[48];

    (void)snprintf(column, sizeof(column), "timeline_%s", name);
    (void)json_object_object_get_ex(document, column, &value);
    return value;
}

static int timeline_parse(struct json_object *document, struct timeline *ret, struct error *error)
{
    struct timeline_bin bins[TIMELINE_BINS] = {0};
    uint64_t start_s = json_object_get_uint64(timeline_member(document, "start_s"));
    uint64_t width_s = json_object_get_uint64(timeline_member(document, "width_s"));
    bool is_known;
    size_t n = 0;
    int r = 0;

    if (!width_s) /* there is none, or the table is older */
        return 0;
    for (enum timeline_kind kind = 0; kind < TIMELINE_NUMBERS && r >= 0; kind++)
        r = bins_parse(timeline_member(document, timeline_kind_name(kind)), kind, bins, &n);
    is_known = r > 0; /* the longest wait is the last array; it has a bin if it is known */
    if (r >= 0)
        r = timeline_set(ret, start_s, width_s, bins, n);
    if (r == 0 && !is_known)
        timeline_forget_longest(ret);
    if (r == -ENOMEM)
        return error_errno(error, r, "the time line of a row");
    return r < 0 ? error_set(error, -EBADMSG, "the time line of a row cannot be read") : 0;
}

void sink_io_clear(struct sink_io *io)
{
    io_account_clear(&io->io);
    timeline_clear(&io->timeline);
    mpi_account_destroy(io->mpi);
    free(io->rpc);
    block_account_destroy(io->block);
}

/* An empty or missing column: not counted, or by an older release. */
static int mpi_parse(struct json_object *document, const struct sink_row *row, struct sink_io *io)
{
    int r = mpi_incomplete_parse(row->mpi_incomplete, &io->mpi);

    return r == 0 && io->mpi ? rows_parse_mpi(document, io->mpi) : r;
}

static int rpc_parse(struct json_object *document, const struct sink_row *row, struct sink_io *io)
{
    if (!row->rpc_counted)
        return 0;
    io->rpc = calloc(1, sizeof(*io->rpc));
    if (!io->rpc)
        return -ENOMEM;
    io->rpc->known = true;
    io->rpc->incomplete = row->rpc_incomplete;
    io->rpc->shared_at_most = row->rpc_shared_at_most;
    return rows_parse_rpc(document, io->rpc);
}

static int block_parse(struct json_object *document, const struct sink_row *row, struct sink_io *io)
{
    if (!row->block_counted)
        return 0;
    io->block = calloc(1, sizeof(*io->block));
    if (!io->block)
        return -ENOMEM;
    io->block->incomplete = row->block_incomplete;
    io->block->shared_at_most = row->block_shared_at_most;
    return rows_parse_block(document, io->block);
}

static int classes_parse(struct json_object *document, const struct sink_row *row,
                         struct sink_io *io, struct error *error)
{
    int r = mpi_parse(document, row, io);

    if (r < 0)
        return error_errno(error, r, "the MPI-IO of a row");
    r = rpc_parse(document, row, io);
    if (r < 0)
        return error_errno(error, r, "the NFS requests of a row");
    r = block_parse(document, row, io);
    return r < 0 ? error_errno(error, r, "the block requests of a row") : 0;
}

int sink_row_parse(struct json_object *document, struct sink_row *ret, struct sink_io *io,
                   struct error *error)
{
    int r = 0;

    if (!json_object_is_type(document, json_type_object))
        return error_set(error, -EBADMSG, "a row is not an object");
    *ret = (struct sink_row){0};
    for (size_t i = 0; i < SINK_COLUMNS && r == 0; i++)
        r = column_parse(&sink_columns[i], document, ret, error);
    if (r == 0)
        r = numbers_parse(io_sum_columns, IO_SUM_COLUMNS, document, &ret->sums, error);
    if (r == 0)
        r = numbers_parse(io_cache_columns, IO_CACHE_COLUMNS, document, &ret->cache, error);
    if (r == 0)
        r = ops_parse(document, io, error);
    if (r == 0)
        r = classes_parse(document, ret, io, error);
    return r < 0 ? r : timeline_parse(document, &io->timeline, error);
}
