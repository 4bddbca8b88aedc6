/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace of a command or of steps as a document. A command has one root span; below it are the
 * processes, below each its calls of MPI-IO, and below each of these the requests that the thread
 * made in it; other requests are below the process. Steps are the same, below the root span of
 * their job.
 */
#ifndef JOBIO_REPORT_TRACE_TRACE_H
#define JOBIO_REPORT_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/job.h"
#include "common/trace.h"

/* What trace_identity.ids may have, so that no id of a span is 0. */
#define TRACE_IDS_MASK (UINT64_MAX >> 1)

struct trace_identity {
    uint8_t trace[16]; /* random, or that of the caller; not all 0 */
    uint8_t parent[8]; /* with has_parent: the span of the caller */
    uint64_t ids;      /* random: the ids of the spans are this plus a number; TRACE_IDS_MASK */
    bool has_parent;
    uint8_t job[8]; /* of a step: the id of the root span */
};

/* Parse the value of TRACEPARENT (W3C Trace Context, version 00 and later ones) into `trace` and
 * `parent`. 0 or -EINVAL; then nothing is changed. */
int trace_identity_parse(const char *text, struct trace_identity *ret);

/* The identity of a step: all nodes and steps of the job agree on the trace and on the id of its
 * root span, without messages. So both come from what all of them know: cluster, number and restart
 * of the job; if TRACEPARENT is valid, the trace is that of the caller, and steps whose callers
 * differ have different roots. */
struct trace_identity trace_identity_of_step(const struct step_trace *step);

/* A command, or a step on one node. */
struct report_trace {
    const struct trace *trace;
    const struct job_account *job; /* of a command */
    const struct step_trace *step; /* of a step; NULL: it is a command */
    struct trace_identity identity;
    const char *host; /* NULL: unknown */
};

/* Make *ret of a step, which must stay. */
void report_trace_of_step(const struct step_trace *step, struct report_trace *ret);

struct trace_document {
    const struct report_trace *parts;
    size_t n;
    size_t left_out; /* steps of the job that are not among the parts */
    size_t written;  /* set by the calls, also on failure: parts that were written completely */
};
/* Write a document: OTLP in JSON, as /v1/traces of a collector accepts it; or the Trace Event
 * format, which Chrome and Perfetto open. Span by span, because a document in memory would be many
 * times as large. 0, -ENOMEM, or the errno of a write. */
int report_trace_otlp(struct trace_document *document, FILE *out);
int report_trace_chrome(struct trace_document *document, FILE *out);

/* Print a document as a text of at most this size. The last parts are left out until it fits, and
 * counted in document->left_out. Sets *ret (malloc'd). -EFBIG: the first part alone is longer;
 * -ENOMEM. */
int report_trace_text(struct trace_document *document, bool chrome, size_t max_bytes, char **ret);

struct trace_slice {
    size_t spans_max, number; /* of each slice; which one: from 0 */
    size_t n_spans, n_slices; /* of this slice; of the step. Set by the call */
};
/* Write one slice of the spans of a step as such a document. All slices have the spans of the step
 * once, those of processes first. The step is a root span: no node knows when its job has ended.
 * -ERANGE: there is no slice of that number. */
int report_trace_otlp_slice(const struct report_trace *step, struct trace_slice *slice, FILE *out);

#endif
