/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking other nodes what they have of a job, all at once, until a deadline. */
#define _GNU_SOURCE
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/peers/peers_impl.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "report/json/json.h"
#include "report/nodes.h"

/* One question to one node. */
struct ask {
    LIST_ENTRY(ask) link, all;
    struct gather *gather;
    struct gathering *gathering; /* NULL: its time is up */
    char *node;
    char id[WIRE_ID_SIZE];
    struct job_key key; /* whose account it is to be; without the cluster */
    struct gather_step step;
    bool has_step;
    struct job_account *account; /* the answer; NULL: nothing was done there */
    bool busy;                   /* tasks run there */
};

struct gathering {
    LIST_ENTRY(gathering) link;
    struct gather *gather;
    struct job_account *job;
    gather_done_f done;
    void *arg;
    sd_event_source *timer;
    LIST_HEAD(, ask) asks;
};

static void ask_free(struct ask *ask)
{
    if (ask->gathering)
        LIST_REMOVE(ask, link);
    LIST_REMOVE(ask, all);
    job_account_destroy(ask->account);
    free(ask->node);
    free(ask);
}

static void gathering_finish(struct gathering *gathering)
{
    struct ask *ask, *next;

    LIST_REMOVE(gathering, link);
    sd_event_source_disable_unref(gathering->timer);
    for (ask = LIST_FIRST(&gathering->asks); ask; ask = next) {
        next = LIST_NEXT(ask, link);
        ask->gathering = NULL;
        gathering->gather->counts.unanswered++;
    }
    gathering->done(gathering->job, gathering->arg);
    free(gathering);
}

/* The answer has come, or none will. */
static void ask_finish(struct ask *ask)
{
    struct gathering *gathering = ask->gathering;

    ask_free(ask);
    if (gathering && LIST_EMPTY(&gathering->asks))
        gathering_finish(gathering);
}

static void ask_fail(struct ask *ask, const char *why)
{
    if (ask->gathering)
        ask->gather->counts.unanswered++;
    if (!ask->gather->ending)
        gather_say(ask->gather, "gather-ask", "job %u: no account from %s: %s", ask->key.jobid,
                   ask->node, why);
    ask_finish(ask);
}

static int add(struct job_account *job, const char *node, const struct job_account *from, bool busy)
{
    int r = io_mounts_add(&job->mounts, &from->mounts);

    if (r == 0)
        r = nodes_add(job, node, &from->mounts, from->longest_wait_ns);
    if (r == 0)
        r = completeness_merge(&job->completeness, &from->completeness);
    if (r < 0)
        return r;
    if (from->longest_wait_ns > job->longest_wait_ns)
        job->longest_wait_ns = from->longest_wait_ns;
    job->unsupported |= from->unsupported;
    job->nodes_reported += !busy;
    return 0;
}

/* A node on which nothing was done when the job's script had ended has sent all that it had. */
struct quiet {
    struct job_key key;
    char *node;
};

static void quiet_free(struct quiet *quiet)
{
    free(quiet->key.cluster);
    free(quiet->node);
    free(quiet);
}

static int put_quiet(struct store *store, void *arg, struct error *error)
{
    const struct quiet *quiet = arg;

    return store_put_node(store, &quiet->key, quiet->node, error);
}

static void on_quiet(int result, const struct error *error, void *arg)
{
    (void)result, (void)error; /* without it, `jobio job` says that the node was not heard */
    quiet_free(arg);
}

static void note_quiet(const struct ask *ask)
{
    struct quiet *quiet = calloc(1, sizeof(*quiet));

    if (!quiet)
        return;
    quiet->key = ask->key;
    quiet->key.cluster = strdup(ask->gather->cluster);
    quiet->node = strdup(ask->node);
    if (!quiet->key.cluster || !quiet->node ||
        writer_submit(ask->gather->writer, false, put_quiet, on_quiet, quiet) < 0)
        quiet_free(quiet);
}

static void on_opened(int result, const struct error *error, void *arg)
{
    struct ask *ask = arg;

    if (result < 0) {
        ask_fail(ask, error->text);
        return;
    }
    if (ask->gathering && !ask->account) {
        ask->gathering->job->nodes_reported += !ask->busy;
        if (!ask->has_step)
            note_quiet(ask);
    } else if (ask->gathering && add(ask->gathering->job, ask->node, ask->account, ask->busy) < 0) {
        ask_fail(ask, "no memory");
        return;
    }
    ask->gather->counts.answered += ask->gathering != NULL;
    ask_finish(ask);
}

/* On the sealer's thread. */
static int read_answer(const char *payload, size_t size, uid_t uid, void *arg, struct error *error)
{
    struct ask *ask = arg;
    struct wire_head head = {ask->gather->cluster, ask->node, ask->gather->node, ask->id};
    struct json_object *document = NULL, *account, *busy;
    int r;

    if (uid != 0)
        return error_set(error, -EPERM, "its answer is of user %u, not of root", uid);
    r = wire_parse(payload, size, &head, &document, error);
    if (r < 0)
        return r;
    if (!json_object_object_get_ex(document, "account", &account))
        r = error_set(error, -EBADMSG, "\"account\" is missing");
    else if (account)
        r = report_json_parse(account, &ask->account, error);
    ask->busy = json_object_object_get_ex(document, "busy", &busy) && json_object_get_boolean(busy);
    if (r == 0 && ask->account &&
        (ask->account->key.jobid != ask->key.jobid ||
         ask->account->key.restart != ask->key.restart))
        r = error_set(error, -EBADMSG, "its answer is of another job");
    json_object_put(document);
    return r;
}

static void on_answer(const struct http_answer *answer, void *arg)
{
    struct ask *ask = arg;
    struct error error;
    int r;

    if (answer->code != 200 || !answer->body) {
        (void)error_set(&error, 0, answer->code ? "HTTP %ld: %.100s" : "%.0ld%.100s", answer->code,
                        answer->text);
        ask_fail(ask, error.text);
        return;
    }
    r = sealer_open(ask->gather->sealer, answer->body, answer->size, read_answer, on_opened, ask);
    if (r < 0)
        ask_fail(ask, strerror(-r));
}

static void on_sealed(int result, const struct error *error, const char *text, void *arg)
{
    struct ask *ask = arg;
    struct gather *gather = ask->gather;
    _free_ char *url = gather_url(gather, ask->node, "/v1/job");
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .answer_max = CREDENTIAL_TEXT_MAX,
                                   .timeout_ns = gather->timeout_ns};
    struct error why;

    if (result < 0 || gather->ending || !ask->gathering) {
        ask_fail(ask, result < 0 ? error->text : "its time is up");
        return;
    }
    request.body = strdup(text);
    request.size = strlen(text);
    if (!request.body || !url) {
        free(request.body);
        ask_fail(ask, "no memory");
    } else if (http_client_send(gather->client, &request, on_answer, ask, &why) < 0) {
        ask_fail(ask, why.text);
    }
}

static char *question_text(const struct ask *ask, size_t *size)
{
    const struct wire_head head = gather_head(ask->gather, ask->node, ask->id);
    struct json_object *document = wire_create(&head);

    if (!document)
        return NULL;
    (void)json_object_object_add(document, "jobid", json_object_new_int64(ask->key.jobid));
    (void)json_object_object_add(document, "restart", json_object_new_int64(ask->key.restart));
    if (ask->has_step) {
        (void)json_object_object_add(document, "het", json_object_new_int64(ask->step.het));
        (void)json_object_object_add(document, "step", json_object_new_int64(ask->step.step));
        (void)json_object_object_add(document, "expected",
                                     json_object_new_boolean(ask->step.expected));
    }
    return wire_text(document, size);
}

static bool has_name(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

static int ask_start(struct gathering *gathering, const char *node, const struct gather_step *step)
{
    struct ask *ask = calloc(1, sizeof(*ask));
    char *text;
    size_t size = 0;

    if (!ask || !(ask->node = strdup(node))) {
        free(ask);
        return -ENOMEM;
    }
    ask->gather = gathering->gather;
    ask->gathering = gathering;
    ask->key = gathering->job->key;
    ask->key.cluster = NULL;
    ask->has_step = step != NULL;
    if (step)
        ask->step = (struct gather_step){
            .het = step->het,
            .step = step->step,
            .expected = step->nodes && has_name(step->nodes, node),
        };
    wire_new_id(ask->id);
    LIST_INSERT_HEAD(&gathering->asks, ask, link);
    LIST_INSERT_HEAD(&ask->gather->asks, ask, all);
    gathering->gather->counts.asked++;
    text = question_text(ask, &size);
    if (!text || sealer_seal(ask->gather->sealer, text, size, on_sealed, ask) < 0) {
        gathering->gather->counts.unanswered++;
        ask_free(ask);
        return -ENOMEM;
    }
    return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    gathering_finish(arg);
    return 0;
}

void gather_ask(struct gather *gather, const char *nodes, const struct gather_step *step,
                uint64_t deadline_ns, struct job_account *job, gather_done_f done, void *arg)
{
    struct gathering *gathering = calloc(1, sizeof(*gathering));
    _free_ char *copy = strdup(nodes);
    char *rest = copy, *node;

    if (!gathering || !copy ||
        nodes_add(job, gather->node, &job->mounts, job->longest_wait_ns) < 0 ||
        sd_event_add_time(gather->loop, &gathering->timer, CLOCK_MONOTONIC, deadline_ns / 1000,
                          1000, on_deadline, gathering) < 0) {
        free(gathering);
        done(job, arg);
        return;
    }
    gathering->gather = gather;
    gathering->job = job;
    gathering->done = done;
    gathering->arg = arg;
    LIST_INSERT_HEAD(&gather->gatherings, gathering, link);
    while ((node = strsep(&rest, ",")))
        if (*node && strcmp(node, gather->node) != 0 && ask_start(gathering, node, step) < 0)
            gather_say(gather, "gather-ask", "job %u: %s is not asked: too many questions wait",
                       job->key.jobid, node);
    if (LIST_EMPTY(&gathering->asks))
        gathering_finish(gathering);
}

void gather_ask_stop(struct gather *gather)
{
    struct gathering *gathering;

    while ((gathering = LIST_FIRST(&gather->gatherings)))
        gathering_finish(gathering);
}

void gather_ask_free(struct gather *gather)
{
    struct ask *ask;

    while ((ask = LIST_FIRST(&gather->asks)))
        ask_free(ask);
}
