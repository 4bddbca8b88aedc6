/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/live_view.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/probe/probe.h"
#include "collector/store/query.h"
#include "collector/daemon/runs.h"
#include "collector/track/services.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/tree.h"
#include "report/top/top.h"

/* The maximum age of a reading in an answer. */
#define READING_MAX_NS 200000000ull

/* A reading, shared by all requests until the next one. */
struct snapshot {
    struct top_reading reading;
    unsigned refs; /* changed on the loop's thread only */
};

struct live_view {
    struct live_view_options options;
    struct snapshot *snapshot; /* the last one; NULL: none yet */
};

struct top_question {
    struct request *request;
    uint32_t uid;  /* show jobs of this user only; UINT32_MAX: all */
    bool services; /* show them, too */
    struct snapshot *snapshot;
    char *answer;
};

static void snapshot_release(struct snapshot *snapshot)
{
    if (snapshot && --snapshot->refs == 0) {
        top_reading_clear(&snapshot->reading);
        free(snapshot);
    }
}

static void question_free(struct top_question *q)
{
    snapshot_release(q->snapshot);
    free(q->answer);
    free(q);
}

static int write_answer(struct store *reader, void *arg, struct error *error)
{
    struct top_question *q = arg;
    struct json_object *document = top_json(&q->snapshot->reading, q->uid, q->services);

    (void)reader;
    q->answer = tree_text(document);
    return q->answer ? 0 : error_set(error, -ENOMEM, "no memory for the answer");
}

static void on_answered(int result, const struct error *error, void *arg)
{
    struct top_question *q = arg;

    if (result < 0)
        request_error(q->request, "top: %s", error->text);
    else
        request_text(q->request, TAKE_PTR(q->answer), false);
    question_free(q);
}

static int take_reading(struct live_view *view, struct top_reading *reading, struct error *error)
{
    const char *blind = probe_blind(view->options.probe);
    int r = tracker_top(view->options.tracker, reading, error);

    if (r < 0)
        return r;
    reading->node = strdup(view->options.node);
    reading->not_counted = blind ? strdup(blind) : NULL;
    reading->unsupported = probe_unsupported(view->options.probe);
    reading->ns_per_event = probe_ns_per_event(view->options.probe);
    reading->no_services = view->options.no_services ? strdup(view->options.no_services) : NULL;
    if (view->options.services && services_top(view->options.services, reading) < 0)
        return error_set(error, -ENOMEM, "no memory for the live numbers");
    if (!reading->node || (blind && !reading->not_counted) ||
        runs_top(view->options.runs, reading) < 0)
        return error_set(error, -ENOMEM, "no memory for the live numbers");
    return 0;
}

/* Set view->snapshot to the last reading of the counters; read them first if it is too old. */
static int refresh(struct live_view *view, struct error *error)
{
    struct snapshot *snapshot;
    int r = tracker_refresh(view->options.tracker, READING_MAX_NS, error);

    if (r < 0)
        return r;
    if (view->snapshot && view->snapshot->reading.at_ns == tracker_read_at(view->options.tracker))
        return 0;
    snapshot = calloc(1, sizeof(*snapshot));
    if (!snapshot)
        return error_set(error, -ENOMEM, "no memory for the live numbers");
    snapshot->refs = 1;
    r = take_reading(view, &snapshot->reading, error);
    if (r < 0) {
        snapshot_release(snapshot);
        return r;
    }
    snapshot_release(view->snapshot);
    view->snapshot = snapshot;
    return 0;
}

int live_view_create(struct live_view **ret, const struct live_view_options *options,
                     struct error *error)
{
    *ret = calloc(1, sizeof(**ret));
    if (!*ret)
        return error_set(error, -ENOMEM, "no memory");
    (*ret)->options = *options;
    return 0;
}

void live_view_destroy(struct live_view *view)
{
    if (!view)
        return;
    snapshot_release(view->snapshot);
    free(view);
}

void live_view_answer(struct live_view *view, struct request *request, const struct message *m)
{
    struct top_question *q = calloc(1, sizeof(*q));
    struct error error = {"no memory"};
    uint64_t services = 0;

    if (!q || message_get_u64(m, "SERVICES", 1, 0, &services, &error) < 0 ||
        refresh(view, &error) < 0) {
        request_error(request, "top: %s", error.text);
        free(q);
        return;
    }
    q->request = request;
    q->services = services;
    q->uid = request_is_admin(request) ? UINT32_MAX : request_uid(request);
    q->snapshot = view->snapshot;
    q->snapshot->refs++;
    if (query_submit_for(view->options.query, request_uid(request), write_answer, on_answered, q) <
        0) {
        request_error(request, "too many queries at once: try again");
        question_free(q);
    }
}
