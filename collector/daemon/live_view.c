/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-top: what is being done now. The sums are taken here, their text is made on the query's
 * thread. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/daemon_impl.h"
#include "collector/probe/probe.h"
#include "collector/store/query.h"
#include "collector/daemon/runs.h"
#include "collector/track/services.h"
#include "common/cleanup.h"
#include "report/top/top.h"

/* Who asks within this time of a reading gets its numbers. */
#define READING_MAX_NS 200000000ull

/* All who ask between two readings share this one; only the loop's thread counts them. */
struct live {
    struct top_reading reading;
    unsigned refs;
};

struct top_question {
    struct request *request;
    uint32_t uid;  /* whose jobs may be shown; UINT32_MAX: all */
    bool services; /* these, too */
    struct live *live;
    char *answer;
};

void live_release(struct live *live)
{
    if (live && --live->refs == 0) {
        top_reading_clear(&live->reading);
        free(live);
    }
}

static void question_free(struct top_question *q)
{
    live_release(q->live);
    free(q->answer);
    free(q);
}

static int write_answer(struct store *reader, void *arg, struct error *error)
{
    struct top_question *q = arg;
    struct json_object *document = top_json(&q->live->reading, q->uid, q->services);

    (void)reader;
    if (document)
        q->answer = strdup(json_object_to_json_string_ext(
            document, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(document);
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

static int take_reading(struct daemon *daemon, struct top_reading *reading, struct error *error)
{
    const char *blind = probe_blind(daemon->probe);
    int r = tracker_top(daemon->tracker, reading, error);

    if (r < 0)
        return r;
    reading->node = strdup(daemon->node);
    reading->not_counted = blind ? strdup(blind) : NULL;
    reading->unsupported = probe_unsupported(daemon->probe);
    reading->ns_per_event = probe_ns_per_event(daemon->probe);
    reading->no_services = daemon->no_services ? strdup(daemon->no_services) : NULL;
    if (daemon->services && services_top(daemon->services, reading) < 0)
        return error_set(error, -ENOMEM, "no memory for the live numbers");
    if (!reading->node || (blind && !reading->not_counted) || runs_top(daemon->runs, reading) < 0)
        return error_set(error, -ENOMEM, "no memory for the live numbers");
    return 0;
}

/* daemon->live is that of the last reading of the counters then. */
static int refresh(struct daemon *daemon, struct error *error)
{
    struct live *live;
    int r = tracker_refresh(daemon->tracker, READING_MAX_NS, error);

    if (r < 0)
        return r;
    if (daemon->live && daemon->live->reading.at_ns == tracker_read_at(daemon->tracker))
        return 0;
    live = calloc(1, sizeof(*live));
    if (!live)
        return error_set(error, -ENOMEM, "no memory for the live numbers");
    live->refs = 1;
    r = take_reading(daemon, &live->reading, error);
    if (r < 0) {
        live_release(live);
        return r;
    }
    live_release(daemon->live);
    daemon->live = live;
    return 0;
}

void daemon_query_top(struct daemon *daemon, struct request *request, const struct message *m)
{
    struct top_question *q = calloc(1, sizeof(*q));
    struct error error = {"no memory"};
    uint64_t services = 0;

    if (!q || message_get_u64(m, "SERVICES", 1, 0, &services, &error) < 0 ||
        refresh(daemon, &error) < 0) {
        request_error(request, "top: %s", error.text);
        free(q);
        return;
    }
    q->request = request;
    q->services = services;
    q->uid = request_is_admin(request) ? UINT32_MAX : request_uid(request);
    q->live = daemon->live;
    q->live->refs++;
    if (query_submit_for(daemon->query, request_uid(request), write_answer, on_answered, q) < 0) {
        request_error(request, "too many questions at once: try again");
        question_free(q);
    }
}
