/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A head, texts, spans, processes, and the paths of those spans that have one. The texts are those
 * of the step, then those that spans name by their number. */
#include "collector/trace/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* Versions that know only the first magic have neither paths nor flags but HEAD_PARTIAL: they would
 * take any flag for that one. */
#define MAGIC "jobio-t1"
#define MAGIC_2 "jobio-t2"

/* Of the step: an empty text is none. */
enum { TEXT_CLUSTER, TEXT_NODE, TEXT_NAME, TEXT_CALLER, TEXT_FIRST };

struct head {
    char magic[8];
    struct trace_file_step step;
    uint64_t end_ns, real_ns;
    uint64_t shorter[SPAN_KINDS], overflow[SPAN_KINDS];
    uint64_t text_bytes, n_texts, n_spans, n_processes;
    uint64_t flags;
};

/* Flags of the head. */
#define HEAD_PARTIAL 1
#define HEAD_OF_MPI 2 /* TRACE_OF_MPI */
#define HEAD_PATHS 4

struct span_row {
    uint64_t start_ns, time_ns, bytes, offset;
    uint32_t name, mount; /* numbers of texts; mount TEXT_CLUSTER: none */
    uint32_t pid, tid;
    uint16_t error;
    uint8_t kind, flags;
    uint32_t path_bytes; /* 0: none */
};

struct process_row {
    uint32_t pid, rank;
    uint16_t has_rank, unread;
    char comm[TRACE_COMM];
};

/* --- write ------------------------------------------------------------------------------------ */

struct texts {
    const char **items; /* owned array; the first ones are of the step */
    size_t n, last;
};

static int add_text(struct texts *texts, const char *text)
{
    const char **grown = reallocarray(texts->items, texts->n + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    texts->items = grown;
    grown[texts->n++] = text ? text : "";
    return 0;
}

/* Find the number of a text, which is that of the last span in most cases, or add it. */
static int number_of(struct texts *texts, const char *text, uint32_t *ret)
{
    size_t at = texts->last;
    int r = 0;

    if (at < TEXT_FIRST || strcmp(texts->items[at], text) != 0)
        for (at = TEXT_FIRST; at < texts->n && strcmp(texts->items[at], text) != 0;)
            at++;
    if (at == texts->n)
        r = add_text(texts, text);
    texts->last = at;
    *ret = (uint32_t)at;
    return r;
}

static int fill_row(struct texts *texts, const struct span *span, struct span_row *ret)
{
    int r;

    *ret = (struct span_row){
        .start_ns = span->start_ns,
        .time_ns = span->time_ns,
        .bytes = span->bytes,
        .offset = span->offset,
        .pid = span->pid,
        .tid = span->tid,
        .error = span->error,
        .kind = span->kind,
        .flags = span->flags,
        .path_bytes = span->path ? (uint32_t)strlen(span->path) + 1 : 0,
    };
    r = number_of(texts, span->name, &ret->name);
    if (r == 0 && span->mount)
        r = number_of(texts, span->mount, &ret->mount);
    return r;
}

static bool needs_magic_2(const struct trace *trace)
{
    bool found = trace->of == TRACE_OF_MPI || trace->paths;

    for (size_t i = 0; !found && i < trace->n_spans; i++)
        found = trace->spans[i].path != NULL;
    return found;
}

static void fill_head(const struct step_trace *step, const struct texts *texts, struct head *ret)
{
    *ret = (struct head){
        .step = {step->jobid, step->restart, step->het, step->step, step->uid, step->array_job,
                 step->array_task, step->start_ns},
        .end_ns = step->end_ns,
        .real_ns = step->trace.real_ns,
        .n_texts = texts->n,
        .n_spans = step->trace.n_spans,
        .n_processes = step->trace.n_processes,
        .flags = (step->partial ? HEAD_PARTIAL : 0) |
                 (step->trace.of == TRACE_OF_MPI ? HEAD_OF_MPI : 0) |
                 (step->trace.paths ? HEAD_PATHS : 0),
    };
    memcpy(ret->magic, needs_magic_2(&step->trace) ? MAGIC_2 : MAGIC, sizeof(ret->magic));
    memcpy(ret->shorter, step->trace.left_out.shorter, sizeof(ret->shorter));
    memcpy(ret->overflow, step->trace.left_out.overflow, sizeof(ret->overflow));
    for (size_t i = 0; i < texts->n; i++)
        ret->text_bytes += strlen(texts->items[i]) + 1;
}

static bool write_texts(const struct texts *texts, FILE *out)
{
    bool ok = true;

    for (size_t i = 0; ok && i < texts->n; i++)
        ok = fwrite(texts->items[i], strlen(texts->items[i]) + 1, 1, out) == 1;
    return ok;
}

static bool write_processes(const struct trace *trace, FILE *out)
{
    bool ok = true;

    for (size_t i = 0; ok && i < trace->n_processes; i++) {
        const struct trace_process *process = &trace->processes[i];
        struct process_row row = {process->pid, process->rank, process->has_rank, process->unread,
                                  ""};

        memcpy(row.comm, process->comm, sizeof(row.comm));
        ok = fwrite(&row, sizeof(row), 1, out) == 1;
    }
    return ok;
}

static bool write_paths(const struct trace *trace, FILE *out)
{
    bool ok = true;

    for (size_t i = 0; ok && i < trace->n_spans; i++) {
        const char *path = trace->spans[i].path;

        ok = !path || fwrite(path, strlen(path) + 1, 1, out) == 1;
    }
    return ok;
}

static int write_all(const struct step_trace *step, struct texts *texts, struct span_row *rows,
                     FILE *out)
{
    const char *const own[TEXT_FIRST] = {step->cluster, step->node, step->name, step->caller};
    const struct trace *trace = &step->trace;
    struct head head;
    int r = 0;

    for (size_t i = 0; i < TEXT_FIRST && r == 0; i++)
        r = add_text(texts, own[i]);
    for (size_t i = 0; i < trace->n_spans && r == 0; i++)
        r = fill_row(texts, &trace->spans[i], &rows[i]);
    if (r < 0)
        return r;
    fill_head(step, texts, &head);
    errno = EIO;
    if (fwrite(&head, sizeof(head), 1, out) != 1 || !write_texts(texts, out) ||
        (trace->n_spans && fwrite(rows, sizeof(*rows), trace->n_spans, out) != trace->n_spans) ||
        !write_processes(trace, out) || !write_paths(trace, out))
        return -errno;
    return 0;
}

int trace_file_write(const struct step_trace *step, FILE *out)
{
    _free_ struct span_row *rows = calloc(step->trace.n_spans + 1, sizeof(*rows));
    struct texts texts = {0};
    int r = rows ? write_all(step, &texts, rows, out) : -ENOMEM;

    free(texts.items);
    return r;
}

/* --- read ------------------------------------------------------------------------------------- */

struct reader {
    const char *at;
    size_t left;
};

/* Returns n items of the file; NULL: there are not as many. */
static const void *take(struct reader *reader, uint64_t n, size_t size)
{
    const char *at = reader->at;

    if (n > reader->left / size)
        return NULL;
    reader->at += n * size;
    reader->left -= n * size;
    return at;
}

static int read_head(struct reader *reader, struct head *ret)
{
    const void *at = take(reader, 1, sizeof(*ret));

    if (!at)
        return -EBADMSG;
    memcpy(ret, at, sizeof(*ret));
    if (memcmp(ret->magic, MAGIC, sizeof(ret->magic)) != 0 &&
        memcmp(ret->magic, MAGIC_2, sizeof(ret->magic)) != 0)
        return -EBADMSG;
    return 0;
}

int trace_file_read_step(const void *data, size_t size, struct trace_file_step *ret)
{
    struct reader reader = {data, size};
    struct head head;
    int r = read_head(&reader, &head);

    if (r == 0)
        *ret = head.step;
    return r;
}

static int copy_own_text(const char *text, char **ret)
{
    *ret = *text ? strdup(text) : NULL;
    return *text && !*ret ? -ENOMEM : 0;
}

/* All texts become those of the trace, so that spans can point to them. */
static int read_texts(struct reader *reader, const struct head *head, struct step_trace *ret)
{
    const char *at = take(reader, head->text_bytes, 1), *end = reader->at;
    char **own[TEXT_FIRST] = {&ret->cluster, &ret->node, &ret->name, &ret->caller};
    struct trace *trace = &ret->trace;
    int r = 0;

    if (!at || head->n_texts < TEXT_FIRST || head->n_texts > head->text_bytes || end[-1])
        return -EBADMSG;
    trace->mounts = calloc(head->n_texts, sizeof(*trace->mounts));
    if (!trace->mounts)
        return -ENOMEM;
    for (; trace->n_mounts < head->n_texts && r == 0; at += strlen(at) + 1) {
        if (at == end)
            return -EBADMSG;
        if (trace->n_mounts < TEXT_FIRST)
            r = copy_own_text(at, own[trace->n_mounts]);
        trace->mounts[trace->n_mounts] = strdup(at);
        if (!trace->mounts[trace->n_mounts])
            return -ENOMEM;
        trace->n_mounts++;
    }
    return r < 0 ? r : at == end ? 0 : -EBADMSG;
}

static bool fill_span(const struct trace *trace, const struct span_row *row, struct span *ret)
{
    if (row->name >= trace->n_mounts || row->mount >= trace->n_mounts || row->kind >= SPAN_KINDS)
        return false;
    *ret = (struct span){
        .start_ns = row->start_ns,
        .time_ns = row->time_ns,
        .bytes = row->bytes,
        .offset = row->offset,
        .name = trace->mounts[row->name],
        .mount = row->mount == TEXT_CLUSTER ? NULL : trace->mounts[row->mount],
        .pid = row->pid,
        .tid = row->tid,
        .error = row->error,
        .kind = row->kind,
        .flags = row->flags,
    };
    return true;
}

static int read_spans(struct reader *reader, const struct head *head, struct trace *trace)
{
    const char *at = take(reader, head->n_spans, sizeof(struct span_row));
    struct span_row row;

    if (!at)
        return -EBADMSG;
    trace->spans = calloc(head->n_spans + 1, sizeof(*trace->spans));
    if (!trace->spans)
        return -ENOMEM;
    trace->n_spans = head->n_spans;
    for (size_t i = 0; i < trace->n_spans; i++) {
        memcpy(&row, at + i * sizeof(row), sizeof(row));
        if (!fill_span(trace, &row, &trace->spans[i]))
            return -EBADMSG;
    }
    return 0;
}

/* By ascending pid, as trace_process() needs them. */
static int read_processes(struct reader *reader, const struct head *head, struct trace *trace)
{
    const char *at = take(reader, head->n_processes, sizeof(struct process_row));
    struct process_row row;

    if (!at)
        return -EBADMSG;
    trace->processes = calloc(head->n_processes + 1, sizeof(*trace->processes));
    if (!trace->processes)
        return -ENOMEM;
    trace->n_processes = head->n_processes;
    for (size_t i = 0; i < trace->n_processes; i++) {
        struct trace_process *process = &trace->processes[i];

        memcpy(&row, at + i * sizeof(row), sizeof(row));
        if (row.comm[TRACE_COMM - 1] || (i && row.pid <= process[-1].pid))
            return -EBADMSG;
        *process = (struct trace_process){.pid = row.pid,
                                          .rank = row.rank,
                                          .has_rank = row.has_rank != 0,
                                          .unread = row.unread != 0};
        memcpy(process->comm, row.comm, sizeof(row.comm));
    }
    return 0;
}

static int read_path(struct reader *reader, size_t size, char **ret)
{
    const char *at = take(reader, size, 1);

    if (!at || memchr(at, '\0', size) != at + size - 1)
        return -EBADMSG;
    *ret = strdup(at);
    return *ret ? 0 : -ENOMEM;
}

/* They are the end of the file. rows: where the spans are in it. */
static int read_paths(struct reader *reader, const char *rows, struct trace *trace)
{
    struct span_row row;
    int r = 0;

    for (size_t i = 0; r == 0 && i < trace->n_spans; i++) {
        memcpy(&row, rows + i * sizeof(row), sizeof(row));
        if (row.path_bytes)
            r = read_path(reader, row.path_bytes, &trace->spans[i].path);
    }
    return r < 0 ? r : reader->left ? -EBADMSG : 0;
}

static void use_head(const struct head *head, struct step_trace *ret)
{
    const struct trace_file_step *step = &head->step;

    *ret = (struct step_trace){
        .jobid = step->jobid,
        .restart = step->restart,
        .het = step->het,
        .step = step->step,
        .uid = step->uid,
        .array_job = step->array_job,
        .array_task = step->array_task,
        .start_ns = step->start_ns,
        .end_ns = head->end_ns,
        .partial = head->flags & HEAD_PARTIAL,
    };
    ret->trace.of = head->flags & HEAD_OF_MPI ? TRACE_OF_MPI : TRACE_OF_OPS;
    ret->trace.paths = head->flags & HEAD_PATHS;
    ret->trace.real_ns = head->real_ns;
    memcpy(ret->trace.left_out.shorter, head->shorter, sizeof(head->shorter));
    memcpy(ret->trace.left_out.overflow, head->overflow, sizeof(head->overflow));
}

int trace_file_read(const void *data, size_t size, struct step_trace *ret)
{
    struct reader reader = {data, size};
    struct step_trace step = {0};
    const char *rows = NULL;
    struct head head;
    int r = read_head(&reader, &head);

    if (r < 0)
        return r;
    use_head(&head, &step);
    r = read_texts(&reader, &head, &step);
    rows = reader.at;
    if (r == 0)
        r = read_spans(&reader, &head, &step.trace);
    if (r == 0)
        r = read_processes(&reader, &head, &step.trace);
    if (r == 0)
        r = read_paths(&reader, rows, &step.trace);
    if (r < 0)
        step_trace_clear(&step);
    else
        *ret = step;
    return r;
}
