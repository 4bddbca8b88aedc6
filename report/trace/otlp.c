/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OTLP in JSON: ids in hexadecimal digits, 64-bit numbers as texts (opentelemetry-proto). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/errno_names.h"
#include "common/tree.h"
#include "report/trace/arrangement.h"

#define KIND_INTERNAL 1
#define STATUS_ERROR 2

/* The number of a span: its id is this plus trace_identity.ids. */
#define ROOT_ID 1

struct writer {
    const struct trace_document *document;
    const struct report_trace *report; /* the part that is being written */
    struct trace_arrangement arrangement;
    char trace[33];
    FILE *out;
    bool any;      /* a span is written */
    bool is_alone; /* without the span of the job */
};

/* A span to be written. */
struct node {
    const char *name;
    uint32_t id, parent; /* id 0: the root span of a job; parent 0: see put_parent() */
    struct trace_period period;
    struct json_object *attributes; /* owned */
    bool failed;
};

static void put_u64_text(struct tree *t, struct json_object *to, const char *key, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    tree_put_text(t, to, key, text);
}

static void add_attribute(struct tree *t, struct json_object *to, const char *key,
                          struct json_object *value)
{
    struct json_object *attribute = tree_object(t);

    tree_put_text(t, attribute, "key", key);
    tree_put(t, attribute, "value", value);
    tree_add(t, to, attribute);
}

static void add_text(struct tree *t, struct json_object *to, const char *key, const char *text)
{
    struct json_object *value = tree_object(t);

    tree_put_text(t, value, "stringValue", text);
    add_attribute(t, to, key, value);
}

static void add_u64(struct tree *t, struct json_object *to, const char *key, uint64_t number)
{
    struct json_object *value = tree_object(t);

    put_u64_text(t, value, "intValue", number);
    add_attribute(t, to, key, value);
}

static void add_true(struct tree *t, struct json_object *to, const char *key)
{
    struct json_object *value = tree_object(t);

    tree_put_bool(t, value, "boolValue", true);
    add_attribute(t, to, key, value);
}

static void format_hex(const uint8_t *bytes, size_t n, char *ret)
{
    for (size_t i = 0; i < n; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static void format_id(const struct trace_identity *identity, uint32_t number, char ret[17])
{
    (void)snprintf(ret, 17, "%016" PRIx64, identity->ids + number);
}

/* Print a text and the document, which is released. */
static int print(struct writer *writer, const char *before, struct json_object *document)
{
    const char *text = tree_print(document);
    int r = !text ? -ENOMEM : 0;

    if (text && (fputs(before, writer->out) < 0 || fputs(text, writer->out) < 0))
        r = -errno;
    json_object_put(document);
    return r;
}

/* A step is below the root span of its job, unless it is alone; a root is below the caller's span,
 * if there is one. */
static void put_parent(struct tree *t, struct json_object *o, const struct writer *writer,
                       const struct node *node)
{
    const struct report_trace *report = writer->report;
    const struct trace_identity *identity = &report->identity;
    bool is_root = !node->id || (!node->parent && (!report->step || writer->is_alone));
    char id[17];

    if (is_root && !identity->has_parent)
        return;
    if (node->parent)
        format_id(identity, node->parent, id);
    else
        format_hex(is_root ? identity->parent : identity->job, 8, id);
    tree_put_text(t, o, "parentSpanId", id);
}

/* Takes the attributes. */
static int write_node(struct writer *writer, struct tree *t, const struct node *node)
{
    const struct report_trace *report = writer->report;
    struct json_object *o = tree_object(t), *status;
    char id[17];
    int r;

    if (node->id)
        format_id(&report->identity, node->id, id);
    else
        format_hex(report->identity.job, sizeof(report->identity.job), id);
    tree_put_text(t, o, "traceId", writer->trace);
    tree_put_text(t, o, "spanId", id);
    put_parent(t, o, writer, node);
    tree_put_text(t, o, "name", node->name);
    tree_put_u64(t, o, "kind", KIND_INTERNAL);
    put_u64_text(t, o, "startTimeUnixNano", report->trace->real_ns + node->period.start_ns);
    put_u64_text(t, o, "endTimeUnixNano", report->trace->real_ns + node->period.end_ns);
    tree_put(t, o, "attributes", node->attributes);
    if (node->failed) {
        status = tree_object(t);
        tree_put_u64(t, status, "code", STATUS_ERROR);
        tree_put(t, o, "status", status);
    }
    r = print(writer, writer->any ? ",\n" : "", tree_end(t, o));
    writer->any = true;
    return r;
}

static void add_job(struct tree *t, struct json_object *to, const struct step_trace *step)
{
    add_u64(t, to, "slurm.job.id", step->jobid);
    add_u64(t, to, "slurm.job.restart", step->restart);
}

static void add_name(struct tree *t, struct json_object *to, const struct step_trace *step)
{
    if (step->name)
        add_text(t, to, "slurm.job.name", step->name);
}

static void add_step(struct tree *t, struct json_object *to, const struct step_trace *step)
{
    char text[16];

    add_job(t, to, step);
    add_text(t, to, "slurm.step.id", step_format(step->step, text));
    if (step->het != HET_NONE)
        add_u64(t, to, "slurm.het.component", step->het);
    if (step->partial)
        add_true(t, to, "jobio.partial");
}

/* Requests that are not traced are not left out. */
static void add_dropped(struct tree *t, struct json_object *to, const struct trace *trace)
{
    if (trace->of != TRACE_OF_OPS)
        add_text(t, to, "jobio.trace_of", trace_of_name(trace->of));
    add_u64(t, to, "jobio.dropped",
            trace_dropped(trace, SPAN_REQUEST) + trace_dropped(trace, SPAN_MPI));
    add_u64(t, to, "jobio.dropped_requests", trace_dropped(trace, SPAN_REQUEST));
    add_u64(t, to, "jobio.dropped_mpi_calls", trace_dropped(trace, SPAN_MPI));
    add_u64(t, to, "jobio.dropped_unseen",
            trace->left_out.overflow[SPAN_REQUEST] + trace->left_out.overflow[SPAN_MPI]);
    add_u64(t, to, "jobio.ranks_unknown", trace_unread(trace));
    if (trace->paths)
        add_u64(t, to, "jobio.paths_missing", trace_paths_missing(trace));
}

/* The span of the command or step. */
static int write_top(struct writer *writer)
{
    const struct report_trace *report = writer->report;
    char name[32] = "jobio run", text[16];
    struct tree t = {0};
    struct node node = {.name = name, .id = ROOT_ID, .attributes = tree_array(&t)};

    node.period = writer->arrangement.all;
    if (report->step) {
        (void)snprintf(name, sizeof(name), "step %s", step_format(report->step->step, text));
        add_step(&t, node.attributes, report->step);
        if (writer->is_alone)
            add_name(&t, node.attributes, report->step);
    } else {
        node.failed = report->job->exit_status != 0;
        add_u64(&t, node.attributes, "process.exit.code", (uint64_t)report->job->exit_status);
    }
    add_dropped(&t, node.attributes, report->trace);
    return write_node(writer, &t, &node);
}

static bool is_same_trace(const struct report_trace *a, const struct report_trace *b)
{
    return !memcmp(a->identity.trace, b->identity.trace, sizeof(a->identity.trace)) &&
           !memcmp(a->identity.job, b->identity.job, sizeof(a->identity.job));
}

/* From the start of the first step to the end of the last one, of those that are here. */
static struct trace_period period_of_job(const struct writer *writer)
{
    uint64_t real_ns = writer->report->trace->real_ns;
    struct trace_period period = writer->arrangement.all;

    for (size_t i = 0; i < writer->document->n; i++) {
        const struct report_trace *part = &writer->document->parts[i];

        if (!part->step || !is_same_trace(part, writer->report))
            continue;
        if (part->step->start_ns < real_ns + period.start_ns)
            period.start_ns = part->step->start_ns - real_ns;
        if (part->step->end_ns > real_ns + period.end_ns)
            period.end_ns = part->step->end_ns - real_ns;
    }
    return period;
}

/* The root span of the job, with the first part of the trace. */
static int write_job(struct writer *writer)
{
    const struct step_trace *step = writer->report->step;
    struct tree t = {0};
    struct node node = {.attributes = NULL};
    char name[32];

    for (const struct report_trace *part = writer->document->parts; part < writer->report; part++)
        if (is_same_trace(part, writer->report))
            return 0;
    (void)snprintf(name, sizeof(name), "job %u", step->jobid);
    node.name = name;
    node.period = period_of_job(writer);
    node.attributes = tree_array(&t);
    add_job(&t, node.attributes, step);
    add_name(&t, node.attributes, step);
    if (writer->document->left_out)
        add_u64(&t, node.attributes, "jobio.steps_left_out", writer->document->left_out);
    return write_node(writer, &t, &node);
}

static uint32_t process_id(size_t at)
{
    return (uint32_t)(ROOT_ID + 1 + at);
}

static uint32_t row_id(const struct writer *writer, size_t at)
{
    return process_id(writer->report->trace->n_processes + at);
}

static int write_process(struct writer *writer, size_t at)
{
    const struct trace_process *process = &writer->report->trace->processes[at];
    struct tree t = {0};
    struct node node = {.name = *process->comm ? process->comm : "process",
                        .id = process_id(at),
                        .parent = ROOT_ID,
                        .period = writer->arrangement.periods[at],
                        .attributes = tree_array(&t)};

    add_u64(&t, node.attributes, "process.pid", process->pid);
    if (*process->comm)
        add_text(&t, node.attributes, "process.executable.name", process->comm);
    if (process->has_rank)
        add_u64(&t, node.attributes, "jobio.rank", process->rank);
    return write_node(writer, &t, &node);
}

static void add_error(struct tree *t, struct json_object *to, const struct span *span)
{
    const char *name = span->kind == SPAN_REQUEST ? errno_name(span->error) : NULL;

    add_text(t, to, "error.type", name ? name : "_OTHER");
}

static struct json_object *span_attributes(struct tree *t, const struct span *span)
{
    struct json_object *to = tree_array(t);

    if (span->tid)
        add_u64(t, to, "thread.id", span->tid);
    if (span->mount)
        add_text(t, to, "jobio.mount", span->mount);
    if (span->path)
        add_text(t, to, "file.path", span->path);
    if (span->flags & SPAN_PATH_CUT)
        add_true(t, to, "jobio.path_cut");
    if (span->flags & SPAN_BYTES)
        add_u64(t, to, "jobio.bytes", span->bytes);
    if (span->flags & SPAN_OFFSET)
        add_u64(t, to, "jobio.offset", span->offset);
    if (span->flags & SPAN_ASYNC)
        add_true(t, to, "jobio.async");
    if (span->flags & SPAN_UNTIMED)
        add_true(t, to, "jobio.untimed");
    if (span->error)
        add_error(t, to, span);
    return to;
}

static int write_row(struct writer *writer, size_t at)
{
    const struct trace_row *row = &writer->arrangement.rows[at];
    const struct trace *trace = writer->report->trace;
    const struct trace_process *process = trace_process(trace, row->span->pid);
    struct tree t = {0};
    struct node node = {.name = row->span->name,
                        .id = row_id(writer, at),
                        .period = {row->span->start_ns, row->span->start_ns + row->span->time_ns},
                        .attributes = span_attributes(&t, row->span),
                        .failed = row->span->error};

    if (row->parent != TRACE_NO_ROW)
        node.parent = row_id(writer, row->parent);
    else
        node.parent = process ? process_id((size_t)(process - trace->processes)) : ROOT_ID;
    return write_node(writer, &t, &node);
}

static int write_head(struct writer *writer)
{
    struct tree t = {0};
    struct json_object *resource = tree_object(&t), *attributes = tree_array(&t);
    int r;

    add_text(&t, attributes, "service.name", "jobio");
    if (writer->report->host)
        add_text(&t, attributes, "host.name", writer->report->host);
    if (writer->report->step)
        add_text(&t, attributes, "slurm.cluster.name", writer->report->step->cluster);
    tree_put(&t, resource, "attributes", attributes);
    r = print(writer,
              writer->report == writer->document->parts ? "{\"resource\":" : ",{\"resource\":",
              tree_end(&t, resource));
    if (r == 0 &&
        fputs(",\"scopeSpans\":[{\"scope\":{\"name\":\"jobio\"},\"spans\":[\n", writer->out) < 0)
        r = -errno;
    return r;
}

/* The spans of a part in their order: the command or step, the processes, the rows. */
static size_t count_nodes(const struct report_trace *report)
{
    return 1 + report->trace->n_processes + report->trace->n_spans;
}

static int write_at(struct writer *writer, size_t at)
{
    size_t n_processes = writer->report->trace->n_processes;

    return at == 0             ? write_top(writer)
           : at <= n_processes ? write_process(writer, at - 1)
                               : write_row(writer, at - 1 - n_processes);
}

/* Write the spans [first, last). */
static int write_part(struct writer *writer, size_t first, size_t last)
{
    const struct report_trace *report = writer->report;
    int r = trace_arrange(report, &writer->arrangement);

    if (r < 0)
        return r;
    writer->any = false;
    format_hex(report->identity.trace, sizeof(report->identity.trace), writer->trace);
    r = write_head(writer);
    if (r == 0 && report->step && !writer->is_alone)
        r = write_job(writer);
    for (size_t at = first; r == 0 && at < last; at++)
        r = write_at(writer, at);
    if (r == 0 && fputs("\n]}]}", writer->out) < 0)
        r = -errno;
    trace_arrangement_clear(&writer->arrangement);
    return r;
}

static int start_document(const struct writer *writer)
{
    return fputs("{\"resourceSpans\":[", writer->out) < 0 ? -errno : 0;
}

static int end_document(const struct writer *writer)
{
    return fputs("]}\n", writer->out) < 0 ? -errno : 0;
}

int report_trace_otlp(struct trace_document *document, FILE *out)
{
    struct writer writer = {.document = document, .out = out};
    int r = start_document(&writer);

    document->written = 0;
    while (r == 0 && document->written < document->n) {
        writer.report = &document->parts[document->written];
        r = write_part(&writer, 0, count_nodes(writer.report));
        document->written += r == 0;
    }
    return r < 0 ? r : end_document(&writer);
}

int report_trace_otlp_slice(const struct report_trace *step, struct trace_slice *slice, FILE *out)
{
    const struct trace_document document = {.parts = step, .n = 1};
    struct writer writer = {.document = &document, .report = step, .out = out, .is_alone = true};
    size_t all = count_nodes(step), first = slice->number * slice->spans_max;
    size_t last = all - first < slice->spans_max ? all : first + slice->spans_max;
    int r;

    if (first >= all)
        return -ERANGE;
    r = start_document(&writer);
    if (r == 0)
        r = write_part(&writer, first, last);
    if (r == 0)
        r = end_document(&writer);
    slice->n_spans = last - first;
    slice->n_slices = (all + slice->spans_max - 1) / slice->spans_max;
    return r;
}
