/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Trace Event format: complete events ("X"), in microseconds since the start of the job. */
#include <errno.h>
#include <inttypes.h>

#include "common/errno_names.h"
#include "common/tree.h"
#include "report/trace/arrangement.h"

struct writer {
    const struct report_trace *report;
    struct trace_arrangement arrangement;
    FILE *out;
    bool any; /* an event is written */
};

/* Exact to the nanosecond. */
static void put_us(struct tree *t, struct json_object *to, const char *key, uint64_t ns)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    tree_put(t, to, key, json_object_new_double_s((double)ns / 1000, text));
}

static int write_event(struct writer *writer, struct tree *t, struct json_object *event)
{
    struct json_object *document = tree_end(t, event);
    const char *text = tree_print(document);
    int r = !text ? -ENOMEM : 0;

    if (text &&
        (fputs(writer->any ? ",\n" : "\n", writer->out) < 0 || fputs(text, writer->out) < 0))
        r = -errno;
    writer->any = true;
    json_object_put(document);
    return r;
}

static int write_process(struct writer *writer, const struct trace_process *process)
{
    struct tree t = {0};
    struct json_object *event = tree_object(&t), *args = tree_object(&t);
    const char *comm = *process->comm ? process->comm : "process";
    char name[64];

    if (process->has_rank)
        (void)snprintf(name, sizeof(name), "%s rank %u", comm, process->rank);
    else
        (void)snprintf(name, sizeof(name), "%s", comm);
    tree_put_text(&t, event, "name", "process_name");
    tree_put_text(&t, event, "ph", "M");
    tree_put_u64(&t, event, "pid", process->pid);
    tree_put_text(&t, args, "name", name);
    tree_put(&t, event, "args", args);
    return write_event(writer, &t, event);
}

static struct json_object *arguments(struct tree *t, const struct span *span)
{
    struct json_object *args = tree_object(t);
    const char *error = span->kind == SPAN_REQUEST ? errno_name(span->error) : NULL;

    tree_put_text(t, args, "mount", span->mount);
    if (span->flags & SPAN_BYTES)
        tree_put_u64(t, args, "bytes", span->bytes);
    if (span->flags & SPAN_OFFSET)
        tree_put_u64(t, args, "offset", span->offset);
    if (span->flags & SPAN_ASYNC)
        tree_put_bool(t, args, "async", true);
    if (span->flags & SPAN_UNTIMED)
        tree_put_bool(t, args, "untimed", true);
    if (span->error)
        tree_put_text(t, args, "error", error ? error : "_OTHER");
    return args;
}

static int write_span(struct writer *writer, const struct span *span)
{
    struct tree t = {0};
    struct json_object *event = tree_object(&t);

    tree_put_text(&t, event, "name", span->name);
    tree_put_text(&t, event, "cat", span->kind == SPAN_MPI ? "mpi" : "io");
    tree_put_text(&t, event, "ph", "X");
    put_us(&t, event, "ts", span->start_ns - writer->arrangement.job.start_ns);
    put_us(&t, event, "dur", span->time_ns);
    tree_put_u64(&t, event, "pid", span->pid);
    tree_put_u64(&t, event, "tid", span->tid);
    tree_put(&t, event, "args", arguments(&t, span));
    return write_event(writer, &t, event);
}

static int write_tail(struct writer *writer)
{
    const struct trace *trace = writer->report->trace;
    int r = fprintf(writer->out,
                    "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"start_ns\":\"%" PRIu64
                    "\",\"dropped_requests\":%" PRIu64 ",\"dropped_mpi_calls\":%" PRIu64
                    ",\"dropped_unseen\":%" PRIu64 "}}\n",
                    trace->real_ns + writer->arrangement.job.start_ns,
                    trace_dropped(trace, SPAN_REQUEST), trace_dropped(trace, SPAN_MPI),
                    trace->left_out.overflow[SPAN_REQUEST] + trace->left_out.overflow[SPAN_MPI]);

    return r < 0 ? -errno : 0;
}

int report_trace_chrome(const struct report_trace *report, FILE *out)
{
    struct writer writer = {.report = report, .out = out};
    int r = trace_arrange(report, &writer.arrangement);

    if (r < 0)
        return r;
    if (fputs("{\"traceEvents\":[", out) < 0)
        r = -errno;
    for (size_t i = 0; r == 0 && i < report->trace->n_processes; i++)
        r = write_process(&writer, &report->trace->processes[i]);
    for (size_t i = 0; r == 0 && i < report->trace->n_spans; i++)
        r = write_span(&writer, writer.arrangement.rows[i].span);
    if (r == 0)
        r = write_tail(&writer);
    trace_arrangement_clear(&writer.arrangement);
    return r;
}
