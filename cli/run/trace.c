/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/run/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/cleanup.h"
#include "common/node_name.h"
#include "report/trace/trace.h"

/* The limits if the options do not set them. */
#define SPANS_PER_SECOND 20000
#define SPANS_IN_ALL 100000

static const struct format {
    const char *name;
    int (*write)(struct trace_document *document, FILE *out);
} formats[] = {{"otlp", report_trace_otlp}, {"chrome", report_trace_chrome}};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        if (!name || !strcmp(name, formats[i].name))
            return &formats[i];
    return NULL;
}

int run_trace_check(struct run_trace *trace, struct error *error)
{
    struct trace_limits *limits = &trace->limits;

    if (!trace->path &&
        (trace->of_word || trace->paths || trace->format || limits->per_second || limits->in_all))
        return error_set(error, -EINVAL,
                         "--trace-of, --trace-paths, --trace-format, --trace-rate and --trace-max "
                         "require --trace FILE");
    if (trace->of_word && trace_of_parse(trace->of_word, &trace->of) < 0)
        return error_set(error, -EINVAL, "--trace-of is ops or mpi, not \"%.100s\"",
                         trace->of_word);
    if (!find_format(trace->format))
        return error_set(error, -EINVAL, "--trace-format is otlp or chrome, not \"%.100s\"",
                         trace->format);
    limits->wait_for_ranks = true;
    limits->per_second = limits->per_second ? limits->per_second : SPANS_PER_SECOND;
    limits->in_all = limits->in_all ? limits->in_all : SPANS_IN_ALL;
    return 0;
}

int run_trace_open(struct run_trace *trace, struct error *error)
{
    trace->out = fopen(trace->path, "we");
    return trace->out ? 0 : error_errno(error, -errno, "open \"%s\"", trace->path);
}

/* An invalid TRACEPARENT is ignored, as the specification asks. */
static int identity_make(struct trace_identity *ret, struct error *error)
{
    const char *caller = getenv("TRACEPARENT");
    uint8_t bytes[sizeof(ret->trace) + sizeof(ret->ids)];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return error_errno(error, -errno, "make the id of the trace");
    *ret = (struct trace_identity){0};
    memcpy(ret->trace, bytes, sizeof(ret->trace));
    memcpy(&ret->ids, bytes + sizeof(ret->trace), sizeof(ret->ids));
    ret->trace[0] |= 1; /* not all 0 */
    ret->ids &= TRACE_IDS_MASK;
    if (caller)
        (void)trace_identity_parse(caller, ret);
    return 0;
}

int run_trace_write(struct run_trace *trace, const struct trace *spans,
                    const struct job_account *job, struct error *error)
{
    _free_ char *host = node_name(NULL);
    struct report_trace report = {.trace = spans, .job = job, .host = host};
    struct trace_document document = {.parts = &report, .n = 1};
    int rc = identity_make(&report.identity, error);

    if (rc < 0)
        return rc;
    rc = find_format(trace->format)->write(&document, trace->out);
    if (fclose(TAKE_PTR(trace->out)) != 0 && rc == 0)
        rc = -errno;
    return rc < 0 ? error_errno(error, rc, "write the trace to \"%s\"", trace->path) : 0;
}

void run_trace_clear(struct run_trace *trace)
{
    if (trace->out)
        (void)fclose(trace->out);
    trace->out = NULL;
}
