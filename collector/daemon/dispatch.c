/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/dispatch.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/daemon/live_view.h"
#include "collector/daemon/metrics.h"
#include "collector/daemon/metrics_push.h"
#include "collector/daemon/peer_requests.h"
#include "collector/daemon/reports.h"
#include "collector/daemon/runs.h"
#include "collector/daemon/status.h"
#include "collector/daemon/trace_question.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"

/* --- from the plugin -------------------------------------------------------------------------- */

static void handle_tag(const struct dispatch *dispatch, struct request *request,
                       const struct message *m)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    struct error error;
    int r = tag_parse(m, &tag, &error);

    if (!r)
        r = tracker_tag(dispatch->tracker, &tag, &error);
    if (r < 0)
        request_refuse(request, "tag of job %u: %s", tag.jobid, error.text);
    else
        request_ok(request);
}

/* Read the numbers of a step. Returns false if the request was refused. */
static bool read_step(struct request *request, const struct message *m, struct job_key *key,
                      uint32_t *het, uint32_t *step)
{
    const struct {
        const char *name;
        uint64_t fallback;
        uint32_t *to;
    } fields[] = {
        {"JOBID", 0, &key->jobid},
        {"RESTART", 0, &key->restart},
        {"HET", HET_NONE, het},
        {"STEP", 0, step},
    };
    struct error error;

    key->cluster = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        uint64_t value;
        int r = message_get_u64(m, fields[i].name, UINT32_MAX, fields[i].fallback, &value, &error);

        if (r < 0) {
            request_refuse(request, "%s", error.text);
            return false;
        }
        *fields[i].to = (uint32_t)value;
    }
    return true;
}

static void handle_task_exit(const struct dispatch *dispatch, struct request *request,
                             const struct message *m)
{
    struct job_key key;
    uint32_t het, step;

    if (!read_step(request, m, &key, &het, &step))
        return;
    tracker_task_exit(dispatch->tracker, &key, het, step);
    request_ok(request);
    peer_requests_recheck(dispatch->peer_requests);
}

static void handle_end(const struct dispatch *dispatch, struct request *request,
                       const struct message *m)
{
    uint64_t jobid, restart, het, step, ended_boot;
    struct error error;
    int r = message_get_u64(m, "JOBID", UINT32_MAX, 0, &jobid, &error);

    if (!r)
        r = message_get_u64(m, "RESTART", UINT32_MAX, 0, &restart, &error);
    if (!r)
        r = message_get_u64(m, "HET", UINT32_MAX, HET_NONE, &het, &error);
    if (!r)
        r = message_get_u64(m, "STEP", UINT32_MAX, UINT64_MAX, &step, &error);
    if (!r)
        r = message_get_u64(m, "ENDED_BOOT", UINT64_MAX, 0, &ended_boot, &error);
    if (!r && (!jobid || step == UINT64_MAX))
        r = error_set(&error, -EINVAL, "JOBID or STEP is missing");
    if (!r)
        r = tracker_end(dispatch->tracker, (uint32_t)jobid, (uint32_t)restart, (uint32_t)het,
                        (uint32_t)step, ended_boot, &error);
    if (r < 0)
        request_refuse(request, "end: %s", error.text);
    else
        request_ok(request);
    peer_requests_recheck(dispatch->peer_requests);
}

/* Read the number of a job. Returns 0 if the request was refused. */
static uint32_t read_jobid(struct request *request, const struct message *m)
{
    struct error error;
    uint64_t jobid;

    if (message_get_u64(m, "JOBID", UINT32_MAX, 0, &jobid, &error) < 0)
        request_refuse(request, "%s", error.text);
    else if (!jobid)
        request_refuse(request, "JOBID is missing");
    else
        return (uint32_t)jobid;
    return 0;
}

static void handle_job(const struct dispatch *dispatch, struct request *request,
                       const struct message *m)
{
    uint32_t jobid = read_jobid(request, m);

    if (!jobid)
        return;
    tracker_describe(dispatch->tracker, jobid, message_get(m, "USER"), message_get(m, "ACCOUNT"),
                     message_get(m, "PARTITION"));
    request_ok(request);
}

static void handle_job_end(const struct dispatch *dispatch, struct request *request,
                           const struct message *m)
{
    uint32_t jobid = read_jobid(request, m);
    struct error error;

    if (!jobid)
        return;
    if (tracker_job_end(dispatch->tracker, jobid, &error) < 0)
        request_refuse(request, "job-end: %s", error.text);
    else
        request_ok(request);
}

/* --- from the command ------------------------------------------------------------------------- */

static void handle_report(const struct dispatch *dispatch, struct request *request,
                          const struct message *m)
{
    reports_answer(dispatch->reports, request, m);
}

static void handle_top(const struct dispatch *dispatch, struct request *request,
                       const struct message *m)
{
    live_view_answer(dispatch->live_view, request, m);
}

static void handle_status(const struct dispatch *dispatch, struct request *request,
                          const struct message *m)
{
    (void)m;
    status_answer(dispatch->status, request);
}

static void handle_run_begin(const struct dispatch *dispatch, struct request *request,
                             const struct message *m)
{
    runs_start(dispatch->runs, request, m);
}

static void handle_run_end(const struct dispatch *dispatch, struct request *request,
                           const struct message *m)
{
    runs_end(dispatch->runs, request, m);
}

static void handle_retire(const struct dispatch *dispatch, struct request *request,
                          const struct message *m)
{
    (void)m;
    metrics_retire(dispatch->metrics);
    metrics_push_retire(dispatch->push, request);
}

static void handle_query_job(const struct dispatch *dispatch, struct request *request,
                             const struct message *m)
{
    question_job(&dispatch->questions, request, m);
}

static void handle_query_history(const struct dispatch *dispatch, struct request *request,
                                 const struct message *m)
{
    question_history(&dispatch->questions, request, m);
}

static void handle_query_array(const struct dispatch *dispatch, struct request *request,
                               const struct message *m)
{
    question_array(&dispatch->questions, request, m);
}

static void handle_query_trace(const struct dispatch *dispatch, struct request *request,
                               const struct message *m)
{
    trace_question(dispatch->tracker, dispatch->questions.large, request, m);
}

enum sender {
    FROM_ROOT,   /* on this node */
    FROM_USER,   /* on this node */
    FROM_REMOTE, /* also a user on another host */
};

static const struct handler {
    const char *type;
    enum sender sender; /* who may send it */
    void (*handle)(const struct dispatch *dispatch, struct request *request,
                   const struct message *m);
} handlers[] = {
    {"tag", FROM_ROOT, handle_tag},
    {"task-exit", FROM_ROOT, handle_task_exit},
    {"end", FROM_ROOT, handle_end},
    {"report", FROM_ROOT, handle_report},
    {"job", FROM_ROOT, handle_job},
    {"job-end", FROM_ROOT, handle_job_end},
    {"retire", FROM_ROOT, handle_retire},
    {"query-job", FROM_REMOTE, handle_query_job},
    {"query-history", FROM_REMOTE, handle_query_history},
    {"query-array", FROM_REMOTE, handle_query_array},
    {"query-top", FROM_USER, handle_top},
    {"query-trace", FROM_USER, handle_query_trace},
    {"status", FROM_REMOTE, handle_status},
    {"run-begin", FROM_USER, handle_run_begin},
    {"run-end", FROM_USER, handle_run_end},
};

static const struct handler *find_handler(const struct message *m)
{
    const char *type = message_get(m, "TYPE");

    for (size_t i = 0; type && i < ARRAY_SIZE(handlers); i++)
        if (strcmp(type, handlers[i].type) == 0)
            return &handlers[i];
    return NULL;
}

static void refuse_unknown(struct request *request, const struct message *m)
{
    const char *type = message_get(m, "TYPE");

    request_refuse(request, "unknown TYPE \"%.64s\"", type ? type : "");
}

/* A hook of the plugin that timed out leaves a mark; until it is removed, other hooks do not
 * contact jobiod. */
static void clear_down_mark(const struct dispatch *dispatch)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/down", dispatch->runtime_dir);
    (void)unlink(path);
}

void dispatch_request(struct request *request, const struct message *m, void *arg)
{
    const struct handler *handler = find_handler(m);
    const struct dispatch *dispatch = arg;

    if (request_uid(request) == 0)
        clear_down_mark(dispatch);
    if (!handler)
        refuse_unknown(request, m);
    else if (handler->sender == FROM_ROOT && request_uid(request) != 0)
        request_refuse(request, "only root may send \"%s\"", handler->type);
    else
        handler->handle(dispatch, request, m);
}

void dispatch_remote(struct request *request, const struct message *m, void *arg)
{
    const struct handler *handler = find_handler(m);

    if (!handler)
        refuse_unknown(request, m);
    else if (handler->sender != FROM_REMOTE)
        request_refuse(request, "\"%s\" is only for users on this node", handler->type);
    else
        handler->handle(arg, request, m);
}
