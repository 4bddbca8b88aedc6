/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/step_batch.h"

#include <stdlib.h>

#include "collector/http/gzip.h"
#include "common/cleanup.h"

struct filling {
    FILE *out;
    struct sink_batch *batch;
    const struct sink_limits *limits;
    const struct sink_row_options *options;
    size_t rows;
};

void sink_batch_destroy(struct sink_batch *batch)
{
    if (!batch)
        return;
    free(batch->text);
    free(batch->items);
    free(batch->body);
    free(batch);
}
DEFINE_CLEANUP(struct sink_batch, sink_batch_destroy)

/* A step that has no room is cut off again. */
static int take_step(int64_t id, const struct job_account *job, void *arg)
{
    struct filling *f = arg;
    struct sink_batch *batch = f->batch;
    struct sink_item *item = &batch->items[batch->n];
    long end;

    if (sink_row_write(f->out, job, (uint64_t)id, f->options, &item->rows) < 0)
        return -ENOMEM;
    end = ftell(f->out);
    if (end < 0)
        return -ENOMEM;
    if (batch->n && (f->rows + item->rows > f->limits->rows || (size_t)end > f->limits->bytes)) {
        batch->more = true;
        return 1;
    }
    item->id = id;
    item->end = batch->size = (size_t)end;
    f->rows += item->rows;
    batch->n++;
    return 0;
}

static int fill(struct store *reader, const char *sink, int64_t after, struct filling *f,
                struct error *error)
{
    uint32_t max = f->limits->rows;
    int r, closed;

    f->out = open_memstream(&f->batch->text, &(size_t){0});
    if (!f->out)
        return error_errno(error, -ENOMEM, "rows of the history");
    r = store_outbox_read(reader, sink, after, max, take_step, f, error);
    closed = fclose(f->out);
    if (closed || r == -ENOMEM)
        return error_errno(error, -ENOMEM, "rows of the history");
    f->batch->more |= f->batch->n == max;
    return r < 0 ? r : 0;
}

int sink_batch_read(struct store *reader, const char *sink, int64_t after,
                    const struct sink_limits *limits, const struct sink_row_options *options,
                    struct sink_batch **ret, struct error *error)
{
    CLEANUP(sink_batch_destroyp) struct sink_batch *batch = calloc(1, sizeof(*batch));
    struct filling f = {.batch = batch, .limits = limits, .options = options};
    int r;

    if (batch)
        batch->items = calloc(limits->rows + 1, sizeof(*batch->items));
    if (!batch || !batch->items)
        return error_errno(error, -ENOMEM, "rows of the history");
    r = fill(reader, sink, after, &f, error);
    if (r == 0 && batch->n &&
        gzip_compress(batch->text, batch->size, &batch->body, &batch->body_size) < 0)
        return error_errno(error, -ENOMEM, "rows of the history");
    if (r == 0)
        *ret = TAKE_PTR(batch);
    return r;
}

size_t sink_batch_rows(const struct sink_batch *batch, size_t first, size_t last)
{
    size_t rows = 0;

    for (size_t i = first; i < last; i++)
        rows += batch->items[i].rows;
    return rows;
}

int sink_batch_body(struct sink_batch *batch, size_t first, size_t last, void **ret, size_t *size)
{
    size_t begin = first ? batch->items[first - 1].end : 0;

    if (batch->body && last - first == batch->n) {
        *ret = TAKE_PTR(batch->body);
        *size = batch->body_size;
        return 0;
    }
    return gzip_compress(batch->text + begin, batch->items[last - 1].end - begin, ret, size);
}
