/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/trace_batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/deliver/step_batch.h"
#include "collector/http/gzip.h"
#include "collector/trace/outbox.h"
#include "common/cleanup.h"
#include "report/trace/trace.h"

DEFINE_CLEANUP(struct step_batch, step_batch_destroy)

static struct step_batch *create_batch(size_t items)
{
    struct step_batch *batch = calloc(1, sizeof(*batch));

    if (batch)
        batch->items = calloc(items + 1, sizeof(*batch->items));
    if (!batch || batch->items)
        return batch;
    free(batch);
    return NULL;
}

/* That of the step and those of its processes, too. */
static size_t count_spans(const struct step_trace *step)
{
    return 1 + step->trace.n_processes + step->trace.n_spans;
}

static size_t slice_size(const struct step_trace *step, size_t spans_max)
{
    size_t least = (count_spans(step) + TRACE_PARTS_MAX - 1) / TRACE_PARTS_MAX;

    return spans_max < least ? least : spans_max;
}

static int print_slice(const struct step_trace *step, struct trace_slice *slice,
                       struct step_batch *batch)
{
    struct report_trace report;
    FILE *out = open_memstream(&batch->text, &batch->size);
    int r;

    if (!out)
        return -ENOMEM;
    report_trace_of_step(step, &report);
    r = report_trace_otlp_slice(&report, slice, out);
    if (fclose(out) != 0 && r == 0)
        r = -ENOMEM;
    return r;
}

static int fill(const struct step_trace *step, const struct trace_part *part,
                struct trace_outbox *outbox, size_t spans_max, struct step_batch *batch)
{
    struct trace_slice slice = {.spans_max = slice_size(step, spans_max), .number = part->number};
    int r = print_slice(step, &slice, batch);

    if (r == 0)
        r = gzip_compress(batch->text, batch->size, &batch->body, &batch->body_size);
    if (r < 0)
        return r;
    trace_outbox_set_parts(outbox, part->id, count_spans(step), slice.spans_max);
    batch->items[0] = (struct step_item){.id = part->id,
                                         .end = batch->size,
                                         .rows = (unsigned)slice.n_spans,
                                         .ended_ns = part->modified_ns};
    batch->n = 1;
    return 0;
}

static int read_part(const struct trace_part *part, struct trace_outbox *outbox, size_t spans_max,
                     struct step_batch *batch)
{
    struct step_trace step = {0};
    int r = trace_directory_read(trace_outbox_path(outbox), part->name, &step);

    if (r == 0)
        r = fill(&step, part, outbox, spans_max, batch);
    step_trace_clear(&step);
    return r;
}

int trace_batch_read(struct trace_outbox *outbox, int64_t after, size_t spans_max,
                     struct step_batch **ret, uint64_t *unreadable, struct error *error)
{
    CLEANUP(step_batch_destroyp) struct step_batch *batch = create_batch(1);
    struct trace_part part;
    int r = -ENOENT, found = 1;

    if (!batch)
        return error_errno(error, -ENOMEM, "a trace");
    while (r < 0 && (found = trace_outbox_next(outbox, after, &part, error)) > 0) {
        r = read_part(&part, outbox, spans_max, batch);
        if (r == -ENOMEM)
            return error_errno(error, r, "a trace");
        if (r < 0 && (found = trace_outbox_drop(outbox, part.id, error)) < 0)
            break;
        *unreadable += r < 0 && r != -ENOENT;
    }
    /* The queue assumes that this look has seen all that was put before it. */
    if (found > 0)
        found = trace_outbox_next(outbox, part.id, &part, error);
    if (found < 0)
        return found;
    batch->more = batch->n && found > 0;
    *ret = TAKE_PTR(batch);
    return 0;
}
