/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Trace Event format: complete events ("X"), in microseconds since the start of the first part.
 */
#include <errno.h>
#include <inttypes.h>

#include "common/errno_names.h"
#include "common/numbers.h"
#include "common/tree.h"
#include "report/trace/arrangement.h"

struct writer {
    const struct report_trace *report; /* the part that is being written */
    struct trace_arrangement arrangement;
    uint64_t start_ns; /* real time */
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
    const struct step_trace *step = writer->report->step;
    char name[64], rank[24] = "", text[16];

    if (process->has_rank)
        (void)snprintf(rank, sizeof(rank), " rank %u", process->rank);
    (void)snprintf(name, sizeof(name), "%s%s%s%s", comm, rank, step ? ", step " : "",
                   step ? step_format(step->step, text) : "");
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
    tree_put_text(t, args, "path", span->path);
    if (span->flags & SPAN_PATH_CUT)
        tree_put_bool(t, args, "path_cut", true);
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
    put_us(&t, event, "ts", writer->report->trace->real_ns + span->start_ns - writer->start_ns);
    put_us(&t, event, "dur", span->time_ns);
    tree_put_u64(&t, event, "pid", span->pid);
    tree_put_u64(&t, event, "tid", span->tid);
    tree_put(&t, event, "args", arguments(&t, span));
    return write_event(writer, &t, event);
}

static int write_part(struct writer *writer)
{
    const struct trace *trace = writer->report->trace;
    int r = trace_arrange(writer->report, &writer->arrangement);

    for (size_t i = 0; r == 0 && i < trace->n_processes; i++)
        r = write_process(writer, &trace->processes[i]);
    for (size_t i = 0; r == 0 && i < trace->n_spans; i++)
        r = write_span(writer, writer->arrangement.rows[i].span);
    trace_arrangement_clear(&writer->arrangement);
    return r;
}

static int write_tail(const struct writer *writer, const struct trace_document *document)
{
    uint64_t dropped[SPAN_KINDS] = {0}, unseen = 0, unread = 0, missing = 0;
    char left_out[48] = "", of_mpi[48] = "", paths[48] = "";
    bool has_paths = false;
    size_t n_of_mpi = 0;
    int r;

    for (size_t i = 0; i < document->n; i++) {
        const struct trace *trace = document->parts[i].trace;

        unread += trace_unread(trace);
        has_paths |= trace->paths;
        missing += trace_paths_missing(trace);
        n_of_mpi += trace->of == TRACE_OF_MPI;
        for (int kind = 0; kind < SPAN_KINDS; kind++) {
            add_saturating(&dropped[kind], trace_dropped(trace, kind));
            add_saturating(&unseen, trace->left_out.overflow[kind]);
        }
    }
    if (document->left_out)
        (void)snprintf(left_out, sizeof(left_out), ",\"steps_left_out\":%zu", document->left_out);
    if (n_of_mpi)
        (void)snprintf(of_mpi, sizeof(of_mpi), ",\"requests_not_traced\":%zu", n_of_mpi);
    if (has_paths)
        (void)snprintf(paths, sizeof(paths), ",\"paths_missing\":%" PRIu64, missing);
    r = fprintf(writer->out,
                "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"start_ns\":\"%" PRIu64
                "\",\"dropped_requests\":%" PRIu64 ",\"dropped_mpi_calls\":%" PRIu64
                ",\"dropped_unseen\":%" PRIu64 ",\"ranks_unknown\":%" PRIu64 "%s%s%s}}\n",
                writer->start_ns, dropped[SPAN_REQUEST], dropped[SPAN_MPI], unseen, unread,
                left_out, of_mpi, paths);
    return r < 0 ? -errno : 0;
}

/* No span of a part is before it. */
static int find_start(const struct trace_document *document, uint64_t *ret)
{
    for (size_t i = 0; i < document->n; i++) {
        const struct report_trace *part = &document->parts[i];
        struct trace_arrangement arrangement;
        int r = trace_arrange(part, &arrangement);
        uint64_t start_ns;

        if (r < 0)
            return r;
        start_ns = part->trace->real_ns + arrangement.all.start_ns;
        if (!i || start_ns < *ret)
            *ret = start_ns;
        trace_arrangement_clear(&arrangement);
    }
    return 0;
}

int report_trace_chrome(struct trace_document *document, FILE *out)
{
    struct writer writer = {.out = out};
    int r = find_start(document, &writer.start_ns);

    document->written = 0;
    if (r == 0 && fputs("{\"traceEvents\":[", out) < 0)
        r = -errno;
    while (r == 0 && document->written < document->n) {
        writer.report = &document->parts[document->written];
        r = write_part(&writer);
        document->written += r == 0;
    }
    return r < 0 ? r : write_tail(&writer, document);
}
