/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/keeper.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

/* A heap whose first span is the least slow one. */
struct heap {
    struct span *spans; /* owned */
    size_t n, limit, room;
};

struct span_keeper {
    struct heap interval, all;
    uint64_t left_out[SPAN_KINDS];
    size_t path_bytes; /* of the spans in both heaps */
};

/* Returns whether `a` is to be left out before `b`. */
static bool is_less(const struct span *a, const struct span *b)
{
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns;
    if (a->kind != b->kind)
        return b->kind == SPAN_MPI;
    return a->start_ns > b->start_ns;
}

static void swap(struct span *a, struct span *b)
{
    struct span c = *a;

    *a = *b;
    *b = c;
}

static void heap_sink(struct heap *heap, size_t at)
{
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->n; child++)
            if (is_less(&heap->spans[child], &heap->spans[least]))
                least = child;
        if (least == at)
            return;
        swap(&heap->spans[at], &heap->spans[least]);
        at = least;
    }
}

static void heap_rise(struct heap *heap, size_t at)
{
    while (at && is_less(&heap->spans[at], &heap->spans[(at - 1) / 2])) {
        swap(&heap->spans[at], &heap->spans[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static bool heap_grow(struct heap *heap)
{
    size_t room = heap->room ? heap->room * 2 : 1024;
    struct span *grown;

    if (room > heap->limit)
        room = heap->limit;
    grown = reallocarray(heap->spans, room, sizeof(*grown));
    if (!grown)
        return false;
    heap->spans = grown;
    heap->room = room;
    return true;
}

/* Without memory the heap stays as large as it is. */
static bool heap_is_full(struct heap *heap)
{
    return heap->n == heap->limit || (heap->n == heap->room && !heap_grow(heap));
}

static size_t path_size(const struct span *span)
{
    return span->path ? strlen(span->path) + 1 : 0;
}

static void leave_out(struct span_keeper *keeper, const struct span *span)
{
    keeper->left_out[span->kind]++;
    keeper->path_bytes -= path_size(span);
    free(span->path);
}

/* Takes its path. */
static void add(struct span_keeper *keeper, struct heap *heap, const struct span *span)
{
    if (!heap_is_full(heap)) {
        heap->spans[heap->n] = *span;
        heap_rise(heap, heap->n++);
        return;
    }
    if (!heap->n || is_less(span, &heap->spans[0])) {
        leave_out(keeper, span);
        return;
    }
    leave_out(keeper, &heap->spans[0]);
    heap->spans[0] = *span;
    heap_sink(heap, 0);
}

DEFINE_CLEANUP(struct span_keeper, span_keeper_destroy)

struct span_keeper *span_keeper_create(size_t per_interval, size_t in_all)
{
    struct span_keeper *keeper = calloc(1, sizeof(*keeper));

    if (!keeper)
        return NULL;
    keeper->interval.limit = per_interval;
    keeper->all.limit = in_all;
    return keeper;
}

static void heap_clear(struct heap *heap)
{
    for (size_t i = 0; i < heap->n; i++)
        free(heap->spans[i].path);
    free(heap->spans);
}

void span_keeper_destroy(struct span_keeper *keeper)
{
    if (!keeper)
        return;
    heap_clear(&keeper->interval);
    heap_clear(&keeper->all);
    free(keeper);
}

void span_keeper_add(struct span_keeper *keeper, const struct span *span)
{
    struct span copy = *span;

    /* Without memory, too, it has no path. */
    if (copy.path)
        copy.path = keeper->path_bytes + path_size(span) <= SPAN_KEEPER_PATH_BYTES
                        ? strdup(span->path)
                        : NULL;
    if (!copy.path)
        copy.flags &= (uint8_t)~SPAN_PATH_CUT;
    keeper->path_bytes += path_size(&copy);
    add(keeper, &keeper->interval, &copy);
}

static uint64_t heap_least_ns(const struct heap *heap)
{
    /* 1: those without a duration are the first to be left out. */
    return heap->n && heap->n == heap->limit ? max_u64(heap->spans[0].time_ns, 1) : 0;
}

uint64_t span_keeper_least_ns(const struct span_keeper *keeper)
{
    return max_u64(heap_least_ns(&keeper->interval), heap_least_ns(&keeper->all));
}

void span_keeper_turn(struct span_keeper *keeper)
{
    for (size_t i = 0; i < keeper->interval.n; i++)
        add(keeper, &keeper->all, &keeper->interval.spans[i]);
    keeper->interval.n = 0;
}

void span_keeper_finish(struct span_keeper *keeper, struct trace *trace)
{
    span_keeper_turn(keeper);
    trace->spans = TAKE_PTR(keeper->all.spans);
    trace->n_spans = keeper->all.n;
    keeper->all = (struct heap){.limit = keeper->all.limit};
    for (int kind = 0; kind < SPAN_KINDS; kind++)
        add_saturating(&trace->left_out.shorter[kind], keeper->left_out[kind]);
}
