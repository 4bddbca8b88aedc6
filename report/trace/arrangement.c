/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/trace/arrangement.h"

#include <errno.h>
#include <stdlib.h>

#include "common/numbers.h"

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* A call of MPI-IO before its requests, even if one of them started at the same time. */
static int compare_rows(const void *a, const void *b)
{
    const struct span *x = ((const struct trace_row *)a)->span;
    const struct span *y = ((const struct trace_row *)b)->span;
    int r = compare_u64(x->pid, y->pid);

    if (!r)
        r = compare_u64(x->tid, y->tid);
    if (!r)
        r = compare_u64(x->start_ns, y->start_ns);
    if (!r)
        r = (y->kind == SPAN_MPI) - (x->kind == SPAN_MPI);
    return r;
}

static bool is_inside(const struct span *span, const struct span *call)
{
    return span->tid && span->pid == call->pid && span->tid == call->tid &&
           span->start_ns + span->time_ns <= call->start_ns + call->time_ns;
}

static void find_parents(struct trace_row *rows, size_t n)
{
    size_t call = TRACE_NO_ROW;

    for (size_t i = 0; i < n; i++) {
        rows[i].parent = TRACE_NO_ROW;
        if (rows[i].span->kind == SPAN_MPI)
            call = i;
        else if (call != TRACE_NO_ROW && is_inside(rows[i].span, rows[call].span))
            rows[i].parent = call;
    }
}

static void period_extend(struct trace_period *period, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns < period->start_ns)
        period->start_ns = start_ns;
    if (end_ns > period->end_ns)
        period->end_ns = end_ns;
}

/* The command or step has times by a clock that may have been set meanwhile. */
static void find_periods(const struct report_trace *report, struct trace_arrangement *ret)
{
    const struct trace *trace = report->trace;
    uint64_t start_ns = report->step ? report->step->start_ns : report->job->start_ns;
    uint64_t end_ns = report->step ? report->step->end_ns : report->job->end_ns;

    ret->all = (struct trace_period){start_ns - trace->real_ns, end_ns - trace->real_ns};
    for (size_t i = 0; i < trace->n_processes; i++)
        ret->periods[i] = (struct trace_period){UINT64_MAX, 0};
    for (size_t i = 0; i < trace->n_spans; i++) {
        const struct span *span = &trace->spans[i];
        const struct trace_process *process = trace_process(trace, span->pid);
        uint64_t span_end_ns = span->start_ns + span->time_ns;

        period_extend(&ret->all, span->start_ns, span_end_ns);
        if (process)
            period_extend(&ret->periods[process - trace->processes], span->start_ns, span_end_ns);
    }
}

int trace_arrange(const struct report_trace *report, struct trace_arrangement *ret)
{
    const struct trace *trace = report->trace;
    struct trace_arrangement made = {
        .rows = calloc(trace->n_spans + 1, sizeof(*made.rows)),
        .periods = calloc(trace->n_processes + 1, sizeof(*made.periods)),
    };

    if (!made.rows || !made.periods) {
        trace_arrangement_clear(&made);
        return -ENOMEM;
    }
    for (size_t i = 0; i < trace->n_spans; i++)
        made.rows[i].span = &trace->spans[i];
    qsort(made.rows, trace->n_spans, sizeof(*made.rows), compare_rows);
    find_parents(made.rows, trace->n_spans);
    find_periods(report, &made);
    *ret = made;
    return 0;
}

void trace_arrangement_clear(struct trace_arrangement *arrangement)
{
    free(arrangement->rows);
    free(arrangement->periods);
    *arrangement = (struct trace_arrangement){0};
}
