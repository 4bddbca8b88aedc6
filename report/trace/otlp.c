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

/* The lower half of the id of a span. */
#define ROOT_ID 1

struct writer {
    const struct report_trace *report;
    struct trace_arrangement arrangement;
    char trace[33];
    FILE *out;
    bool any; /* a span is written */
};

/* A span to be written. */
struct node {
    const char *name;
    uint32_t id, parent; /* parent 0: the caller's span, or none */
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

static void put_parent(struct tree *t, struct json_object *o, const struct trace_identity *identity,
                       uint32_t parent)
{
    char id[17];

    if (!parent && !identity->has_parent)
        return;
    if (parent)
        (void)snprintf(id, sizeof(id), "%08x%08x", identity->ids, parent);
    else
        format_hex(identity->parent, sizeof(identity->parent), id);
    tree_put_text(t, o, "parentSpanId", id);
}

/* Takes the attributes. */
static int write_node(struct writer *writer, struct tree *t, const struct node *node)
{
    const struct report_trace *report = writer->report;
    struct json_object *o = tree_object(t), *status;
    char id[17];
    int r;

    (void)snprintf(id, sizeof(id), "%08x%08x", report->identity.ids, node->id);
    tree_put_text(t, o, "traceId", writer->trace);
    tree_put_text(t, o, "spanId", id);
    put_parent(t, o, &report->identity, node->parent);
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

static int write_root(struct writer *writer)
{
    const struct trace *trace = writer->report->trace;
    const struct job_account *job = writer->report->job;
    struct tree t = {0};
    struct node node = {.name = "jobio run", .id = ROOT_ID, .attributes = tree_array(&t)};

    node.period = writer->arrangement.job;
    node.failed = job->exit_status != 0;
    add_u64(&t, node.attributes, "process.exit.code", (uint64_t)job->exit_status);
    add_u64(&t, node.attributes, "jobio.dropped",
            trace_dropped(trace, SPAN_REQUEST) + trace_dropped(trace, SPAN_MPI));
    add_u64(&t, node.attributes, "jobio.dropped_requests", trace_dropped(trace, SPAN_REQUEST));
    add_u64(&t, node.attributes, "jobio.dropped_mpi_calls", trace_dropped(trace, SPAN_MPI));
    add_u64(&t, node.attributes, "jobio.dropped_unseen",
            trace->left_out.overflow[SPAN_REQUEST] + trace->left_out.overflow[SPAN_MPI]);
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
    tree_put(&t, resource, "attributes", attributes);
    r = print(writer, "{\"resourceSpans\":[{\"resource\":", tree_end(&t, resource));
    if (r == 0 &&
        fputs(",\"scopeSpans\":[{\"scope\":{\"name\":\"jobio\"},\"spans\":[\n", writer->out) < 0)
        r = -errno;
    return r;
}

int report_trace_otlp(const struct report_trace *report, FILE *out)
{
    struct writer writer = {.report = report, .out = out};
    int r = trace_arrange(report, &writer.arrangement);

    if (r < 0)
        return r;
    format_hex(report->identity.trace, sizeof(report->identity.trace), writer.trace);
    r = write_head(&writer);
    if (r == 0)
        r = write_root(&writer);
    for (size_t i = 0; r == 0 && i < report->trace->n_processes; i++)
        r = write_process(&writer, i);
    for (size_t i = 0; r == 0 && i < report->trace->n_spans; i++)
        r = write_row(&writer, i);
    if (r == 0 && fputs("\n]}]}]}\n", out) < 0)
        r = -errno;
    trace_arrangement_clear(&writer.arrangement);
    return r;
}
