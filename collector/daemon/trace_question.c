/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/trace_question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/query.h"
#include "collector/trace/directory.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "report/trace/trace.h"

/* Of the files that an answer is made of. Its text is about 8 times as long, but 25 times if the
 * names of mounts are long and need escapes: so both are limited. */
#define FILES_MAX (8 << 20)
#define TEXT_MAX (64 << 20)

struct trace_answer {
    struct request *request;
    struct trace_query query;
    bool chrome;
    char *path;      /* owned; of the directory */
    char *text;      /* owned */
    size_t left_out; /* steps */
};

static void answer_free(struct trace_answer *answer)
{
    free(answer->path);
    free(answer->text);
    free(answer);
}

/* --- on the thread of the query --------------------------------------------------------------- */

static int print_steps(struct trace_answer *answer, const struct step_trace *steps, size_t n)
{
    _free_ struct report_trace *parts = calloc(n, sizeof(*parts));
    struct trace_document document = {.parts = parts, .n = n, .left_out = answer->left_out};
    int r;

    if (!parts)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        report_trace_of_step(&steps[i], &parts[i]);
    r = report_trace_text(&document, answer->chrome, TEXT_MAX, &answer->text);
    answer->left_out = document.left_out;
    return r;
}

static int print(struct trace_answer *answer, const struct step_trace *steps, size_t n,
                 struct error *error)
{
    int r;

    if (!n && !answer->left_out)
        return error_set(error, -ENOENT,
                         "this node has no trace of an ended step of it (sbatch --io-trace)");
    r = n ? print_steps(answer, steps, n) : -EFBIG;
    if (r == -EFBIG)
        return error_set(error, -EMSGSIZE,
                         "the trace of one step is longer than an answer may be (%d MiB)%s",
                         TEXT_MAX >> 20, answer->chrome ? "" : ": --format chrome is shorter");
    return r < 0 ? error_set(error, r, "out of memory for the answer") : 0;
}

static int run(struct store *reader, void *arg, struct error *error)
{
    struct trace_answer *answer = arg;
    struct step_trace *steps;
    size_t n;
    int r = trace_directory_get(answer->path, &answer->query, FILES_MAX, &steps, &n,
                                &answer->left_out, error);

    (void)reader;
    if (r < 0)
        return r;
    r = print(answer, steps, n, error);
    trace_directory_free(steps, n);
    return r;
}

/* --- on the main loop ------------------------------------------------------------------------- */

static void on_answered(int result, const struct error *error, void *arg)
{
    struct trace_answer *answer = arg;

    if (result < 0)
        request_error(answer->request, "%s", error->text);
    else
        request_text(answer->request, TAKE_PTR(answer->text), answer->left_out > 0);
    answer_free(answer);
}

static int parse_format(const struct message *m, bool *chrome, struct error *error)
{
    const char *format = message_get(m, "FORMAT");

    *chrome = format && !strcmp(format, "chrome");
    return !format || *chrome || !strcmp(format, "otlp")
               ? 0
               : error_set(error, -EINVAL, "FORMAT=%.32s is not known", format);
}

static int parse(const struct message *m, struct trace_answer *answer, struct error *error)
{
    struct trace_query *query = &answer->query;
    uint64_t jobid, task, step;
    int r = message_get_u64(m, "JOBID", UINT32_MAX, 0, &jobid, error);

    if (!r)
        r = message_get_u64(m, "ARRAY_TASK", UINT32_MAX - 1, UINT32_MAX, &task, error);
    if (!r)
        r = message_get_u64(m, "STEP", UINT32_MAX, UINT64_MAX, &step, error);
    if (!r)
        r = parse_format(m, &answer->chrome, error);
    if (r < 0)
        return r;
    if (!jobid)
        return error_set(error, -EINVAL, "JOBID is missing");
    query->jobid = (uint32_t)jobid;
    query->is_task = task != UINT32_MAX;
    query->task = (uint32_t)task;
    query->is_step = step != UINT64_MAX;
    query->step = (uint32_t)step;
    return 0;
}

static int prepare(const struct tracker *tracker, const struct message *m,
                   struct trace_answer *answer, struct error *error)
{
    struct tracker_traces traces;

    tracker_traces_state(tracker, &traces);
    if (!traces.allowed)
        return error_set(error, -ENOTSUP,
                         "this node does not trace jobs: \"allow = yes\" is not "
                         "in [trace] of jobio.conf");
    answer->query.uid =
        request_is_admin(answer->request) ? UINT32_MAX : request_uid(answer->request);
    answer->path = strdup(traces.path);
    return answer->path ? parse(m, answer, error) : error_set(error, -ENOMEM, "no memory");
}

void trace_question(const struct tracker *tracker, struct query *query, struct request *request,
                    const struct message *m)
{
    struct trace_answer *answer = calloc(1, sizeof(*answer));
    struct error error = {"no memory"};
    int r = -ENOMEM;

    if (answer) {
        answer->request = request;
        r = prepare(tracker, m, answer, &error);
    }
    if (r == 0) {
        r = query_submit_for(query, request_uid(request), run, on_answered, answer);
        (void)error_set(&error, r,
                        r == -EBUSY ? "too many queries at once: try again"
                                    : "the query could not be accepted");
    }
    if (r == 0)
        return;
    request_error(request, "%s", error.text);
    if (answer)
        answer_free(answer);
}
