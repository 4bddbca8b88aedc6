/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the slowest spans of a trace in bounded memory: of each interval the slowest ones, and of
 * these the slowest ones of all intervals. What is left out is counted. In an interval, a call of
 * MPI-IO is not left out before a request that was made in it, because it takes longer or, if it
 * takes as long, is preferred.
 */
#ifndef JOBIO_COLLECTOR_TRACE_KEEPER_H
#define JOBIO_COLLECTOR_TRACE_KEEPER_H

#include "common/trace.h"

struct span_keeper;

/* Returns NULL on out-of-memory. Both limits are at least 1. */
struct span_keeper *span_keeper_create(size_t per_interval, size_t in_all);
void span_keeper_destroy(struct span_keeper *keeper); /* NULL is fine */

/* Paths are copied. Beyond this number of bytes of those that are kept, spans are kept without. */
#define SPAN_KEEPER_PATH_BYTES (1 << 20)
void span_keeper_add(struct span_keeper *keeper, const struct span *span);
/* A span that takes less than this will not be kept if it is added before the end of the interval.
 */
uint64_t span_keeper_least_ns(const struct span_keeper *keeper);
/* End an interval. */
void span_keeper_turn(struct span_keeper *keeper);
/* End the last interval, and move the spans that are kept to `trace`, in any order. What was left
 * out is added to its `left_out`. */
void span_keeper_finish(struct span_keeper *keeper, struct trace *trace);

#endif
