/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/step_batch.h"

#include <stdlib.h>
#include <string.h>

#include "collector/http/gzip.h"
#include "collector/store/store.h"
#include "common/cleanup.h"

struct filling {
    FILE *out;
    struct step_batch *batch;
    const struct step_limits *limits;
    const struct step_format *format;
    struct store *reader;
    struct error *error;
    size_t rows;
};

void step_batch_destroy(struct step_batch *batch)
{
    if (!batch)
        return;
    free(batch->text);
    free(batch->items);
    free(batch->body);
    free(batch);
}
DEFINE_CLEANUP(struct step_batch, step_batch_destroy)

/* A step that has no room is cut off again. */
static int take_step(int64_t id, const struct job_account *job, void *arg)
{
    struct filling *f = arg;
    struct step_batch *batch = f->batch;
    struct step_item *item = &batch->items[batch->n];
    const struct step_source source = {f->reader, id, job};
    long end;
    int r;

    r = f->format->kind->write_step(f->out, &source, f->format->options, &item->rows, f->error);
    if (r < 0)
        return r;
    end = ftell(f->out);
    if (end < 0)
        return -ENOMEM;
    if (batch->n && (f->rows + item->rows > f->limits->rows || (size_t)end > f->limits->bytes)) {
        batch->more = true;
        return 1;
    }
    item->id = id;
    item->end = batch->size = (size_t)end;
    item->ended_ns = job->steps[0].tagged_at_ns + job->steps[0].elapsed_ns;
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
        return error_errno(error, -ENOMEM, "rows for a target");
    r = store_outbox_read(reader, sink, after, max, take_step, f, error);
    closed = fclose(f->out);
    if (closed || r == -ENOMEM)
        return error_errno(error, -ENOMEM, "rows for a target");
    f->batch->more |= f->batch->n == max;
    return r < 0 ? r : 0;
}

int step_batch_read(struct store *reader, const char *sink, int64_t after,
                    const struct step_limits *limits, const struct step_format *format,
                    struct step_batch **ret, struct error *error)
{
    CLEANUP(step_batch_destroyp) struct step_batch *batch = calloc(1, sizeof(*batch));
    struct filling f = {
        .batch = batch, .limits = limits, .format = format, .reader = reader, .error = error};
    int r;

    if (batch)
        batch->items = calloc(limits->rows + 1, sizeof(*batch->items));
    if (!batch || !batch->items)
        return error_errno(error, -ENOMEM, "rows for a target");
    r = fill(reader, sink, after, &f, error);
    if (r == 0 && batch->n && format->kind->compress &&
        gzip_compress(batch->text, batch->size, &batch->body, &batch->body_size) < 0)
        return error_errno(error, -ENOMEM, "rows for a target");
    if (r == 0)
        *ret = TAKE_PTR(batch);
    return r;
}

size_t step_batch_rows(const struct step_batch *batch, size_t first, size_t last)
{
    size_t rows = 0;

    for (size_t i = first; i < last; i++)
        rows += batch->items[i].rows;
    return rows;
}

int step_batch_body(struct step_batch *batch, size_t first, size_t last, bool compress, void **ret,
                    size_t *size)
{
    size_t start = first ? batch->items[first - 1].end : 0;
    size_t length = batch->items[last - 1].end - start;

    if (batch->body && last - first == batch->n) {
        *ret = TAKE_PTR(batch->body);
        *size = batch->body_size;
        return 0;
    }
    if (compress)
        return gzip_compress(batch->text + start, length, ret, size);
    *size = length;
    *ret = malloc(length + 1);
    if (!*ret)
        return -ENOMEM;
    memcpy(*ret, batch->text + start, length);
    ((char *)*ret)[length] = '\0';
    return 0;
}
