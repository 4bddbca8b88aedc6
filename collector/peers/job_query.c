/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries the accounts of a job from other nodes, in parallel, until a deadline. */
#define _GNU_SOURCE
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/peers/peers_impl.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "common/text.h"
#include "report/json/json.h"
#include "report/nodes.h"

/* The query to one node. */
struct peer_query {
    LIST_ENTRY(peer_query) link, all;
    struct peers *peers;
    struct job_query *job_query; /* NULL: past its deadline */
    char *node;
    char id[WIRE_ID_SIZE];
    struct job_key key; /* of the requested account, without the cluster */
    struct peers_step step;
    bool has_step;
    struct in_addr origin;       /* of the answer's credential */
    struct job_account *account; /* the answer; NULL: the job did nothing there */
    bool busy;                   /* tasks of `step` run there */
};

struct job_query {
    LIST_ENTRY(job_query) link;
    struct peers *peers;
    struct job_account *job;
    peers_done_f done;
    void *arg;
    sd_event_source *timer;
    LIST_HEAD(, peer_query) queries;
};

static void peer_query_free(struct peer_query *query)
{
    if (query->job_query)
        LIST_REMOVE(query, link);
    LIST_REMOVE(query, all);
    job_account_destroy(query->account);
    free(query->node);
    free(query);
}

/* Without memory to report that nodes did not count it, the sum of the others is not shown. */
static void check_mpi(struct job_account *job)
{
    if (job_account_check_mpi(job) == 0)
        return;
    mpi_account_destroy(job->mpi);
    job->mpi = NULL;
}

static void job_query_finish(struct job_query *job_query)
{
    struct peer_query *query, *next;

    LIST_REMOVE(job_query, link);
    sd_event_source_disable_unref(job_query->timer);
    for (query = LIST_FIRST(&job_query->queries); query; query = next) {
        next = LIST_NEXT(query, link);
        query->job_query = NULL;
        job_query->peers->counts.unanswered++;
    }
    check_mpi(job_query->job);
    job_query->done(job_query->job, job_query->arg);
    free(job_query);
}

/* Called after the answer, or after a failure. */
static void peer_query_finish(struct peer_query *query)
{
    struct job_query *job_query = query->job_query;

    peer_query_free(query);
    if (job_query && LIST_EMPTY(&job_query->queries))
        job_query_finish(job_query);
}

static void peer_query_fail(struct peer_query *query, const char *why)
{
    if (query->job_query)
        query->peers->counts.unanswered++;
    if (!query->peers->ending)
        peers_warn(query->peers, "peers-query", "job %u: no account from %s: %s", query->key.jobid,
                   query->node, why);
    peer_query_finish(query);
}

static int add(struct job_account *job, const char *node, const struct job_account *from, bool busy)
{
    const bool has_requests = io_mounts_requests(&job->mounts) > 0;
    int r = io_mounts_add(&job->mounts, &from->mounts);

    if (r == 0)
        r = nodes_add(job, node, &from->mounts, from->longest_wait_ns);
    if (r == 0)
        r = completeness_merge(&job->completeness, &from->completeness);
    if (r == 0)
        r = mpi_account_add(&job->mpi, from->mpi);
    if (r == 0)
        r = mpi_parts_merge(&job->mpi_parts, &from->mpi_parts);
    if (r == 0)
        r = block_account_add(&job->block, has_requests, from->block,
                              io_mounts_requests(&from->mounts) > 0);
    if (r < 0)
        return r;
    if (from->longest_wait_ns > job->longest_wait_ns)
        job->longest_wait_ns = from->longest_wait_ns;
    job->unsupported |= from->unsupported;
    job->nodes_reported += !busy;
    return 0;
}

/* A node on which the job did nothing until the end of the batch script has nothing more to send.
 */
struct idle_node {
    struct job_key key;
    char *node;
};

static void idle_node_free(struct idle_node *idle)
{
    free(idle->key.cluster);
    free(idle->node);
    free(idle);
}

static int put_idle_node(struct store *store, void *arg, struct error *error)
{
    const struct idle_node *idle = arg;

    return store_put_node(store, &idle->key, idle->node, error);
}

static void on_idle_node(int result, const struct error *error, void *arg)
{
    (void)result, (void)error; /* on failure, `jobio job` counts the node as missing */
    idle_node_free(arg);
}

static void record_idle_node(const struct peer_query *query)
{
    struct idle_node *idle = calloc(1, sizeof(*idle));

    if (!idle)
        return;
    idle->key = query->key;
    idle->key.cluster = strdup(query->peers->cluster);
    idle->node = strdup(query->node);
    if (!idle->key.cluster || !idle->node ||
        writer_submit(query->peers->writer, false, put_idle_node, on_idle_node, idle) < 0)
        idle_node_free(idle);
}

/* The answer is that of its node. */
static void on_checked(int result, const struct error *error, void *arg)
{
    struct peer_query *query = arg;

    query->peers->counts.wrong_origin += result == -EREMOTE;

    if (result < 0) {
        peer_query_fail(query, error->text);
        return;
    }
    if (query->job_query && !query->account) {
        query->job_query->job->nodes_reported += !query->busy;
        if (!query->has_step)
            record_idle_node(query);
    } else if (query->job_query &&
               add(query->job_query->job, query->node, query->account, query->busy) < 0) {
        peer_query_fail(query, "no memory");
        return;
    }
    query->peers->counts.answered += query->job_query != NULL;
    peer_query_finish(query);
}

static void on_opened(int result, const struct error *error, void *arg)
{
    struct peer_query *query = arg;

    if (result < 0)
        peer_query_fail(query, error->text);
    else
        origins_check(query->peers->origins, query->node, query->origin, on_checked, query);
}

/* Runs on the sealer's thread. */
static int read_answer(const char *payload, size_t size, const struct credential_maker *maker,
                       void *arg, struct error *error)
{
    struct peer_query *query = arg;
    struct wire_head head = {query->peers->cluster, query->node, query->peers->node, query->id};
    struct json_object *document = NULL, *account, *busy;
    int r;

    query->origin = maker->origin;
    if (maker->uid != 0)
        return error_set(error, -EPERM, "its answer is from user %u, not from root", maker->uid);
    r = wire_parse(payload, size, &head, &document, error);
    if (r < 0)
        return r;
    if (!json_object_object_get_ex(document, "account", &account))
        r = error_set(error, -EBADMSG, "\"account\" is missing");
    else if (account)
        r = report_json_parse(account, &query->account, error);
    if (r == 0 && query->account)
        r = wire_read_mpi_parts(document, &query->account->mpi_parts, error);
    query->busy =
        json_object_object_get_ex(document, "busy", &busy) && json_object_get_boolean(busy);
    if (r == 0 && query->account &&
        (query->account->key.jobid != query->key.jobid ||
         query->account->key.restart != query->key.restart))
        r = error_set(error, -EBADMSG, "its answer is for another job");
    json_object_put(document);
    return r;
}

static void on_answer(const struct http_answer *answer, void *arg)
{
    struct peer_query *query = arg;
    struct error error;
    int r;

    if (answer->code != 200 || !answer->body) {
        (void)error_set(&error, 0, answer->code ? "HTTP %ld: %.100s" : "%.0ld%.100s", answer->code,
                        answer->text);
        peer_query_fail(query, error.text);
        return;
    }
    r = sealer_open(query->peers->sealer, answer->body, answer->size, read_answer, on_opened,
                    query);
    if (r < 0)
        peer_query_fail(query, strerror(-r));
}

static void on_sealed(int result, const struct error *error, const char *text, void *arg)
{
    struct peer_query *query = arg;
    struct peers *peers = query->peers;
    _free_ char *url = peers_url(peers, query->node, "/v1/job");
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .answer_max = CREDENTIAL_TEXT_MAX,
                                   .timeout_ns = peers->timeout_ns};
    struct error why;

    if (result < 0 || peers->ending || !query->job_query) {
        peer_query_fail(query, result < 0 ? error->text : "the deadline has passed");
        return;
    }
    request.body = strdup(text);
    request.size = strlen(text);
    if (!request.body || !url) {
        free(request.body);
        peer_query_fail(query, "no memory");
    } else if (http_client_send(peers->client, &request, on_answer, query, &why) < 0) {
        peer_query_fail(query, why.text);
    }
}

static char *question_text(const struct peer_query *query, size_t *size)
{
    const struct wire_head head = peers_head(query->peers, query->node, query->id);
    struct json_object *document = wire_create(&head);

    if (!document)
        return NULL;
    (void)json_object_object_add(document, "jobid", json_object_new_int64(query->key.jobid));
    (void)json_object_object_add(document, "restart", json_object_new_int64(query->key.restart));
    if (query->has_step) {
        (void)json_object_object_add(document, "het", json_object_new_int64(query->step.het));
        (void)json_object_object_add(document, "step", json_object_new_int64(query->step.step));
        (void)json_object_object_add(document, "expected",
                                     json_object_new_boolean(query->step.expected));
    }
    return wire_text(document, size);
}

static int send_question(struct peer_query *query)
{
    size_t size = 0;
    char *text = question_text(query, &size);

    return text ? sealer_seal(query->peers->sealer, PEERS_UID, text, size, on_sealed, query)
                : -ENOMEM;
}

static int peer_query_start(struct job_query *job_query, const char *node,
                            const struct peers_step *step)
{
    struct peer_query *query = calloc(1, sizeof(*query));
    int r;

    if (!query || !(query->node = strdup(node))) {
        free(query);
        return -ENOMEM;
    }
    query->peers = job_query->peers;
    query->job_query = job_query;
    query->key = job_query->job->key;
    query->key.cluster = NULL;
    query->has_step = step != NULL;
    if (step)
        query->step = (struct peers_step){
            .het = step->het,
            .step = step->step,
            .expected = step->nodes && text_list_has(step->nodes, node),
        };
    LIST_INSERT_HEAD(&job_query->queries, query, link);
    LIST_INSERT_HEAD(&query->peers->peer_queries, query, all);
    job_query->peers->counts.asked++;
    r = wire_new_id(query->id);
    if (r == 0)
        r = send_question(query);
    if (r < 0) {
        job_query->peers->counts.unanswered++;
        peer_query_free(query);
    }
    return r;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    job_query_finish(arg);
    return 0;
}

void peers_query(struct peers *peers, const char *nodes, const struct peers_step *step,
                 uint64_t deadline_ns, struct job_account *job, peers_done_f done, void *arg)
{
    struct job_query *job_query = calloc(1, sizeof(*job_query));
    _free_ char *copy = strdup(nodes);
    char *rest = copy, *node;
    int r;

    if (!job_query || !copy ||
        nodes_add(job, peers->node, &job->mounts, job->longest_wait_ns) < 0 ||
        sd_event_add_time(peers->loop, &job_query->timer, CLOCK_MONOTONIC, deadline_ns / 1000, 1000,
                          on_deadline, job_query) < 0) {
        free(job_query);
        done(job, arg);
        return;
    }
    job_query->peers = peers;
    job_query->job = job;
    job_query->done = done;
    job_query->arg = arg;
    LIST_INSERT_HEAD(&peers->job_queries, job_query, link);
    while ((node = strsep(&rest, ","))) {
        r = *node && strcmp(node, peers->node) != 0 ? peer_query_start(job_query, node, step) : 0;
        if (r < 0)
            peers_warn(peers, "peers-query", "job %u: %s is not queried: %s", job->key.jobid, node,
                       r == -EAGAIN ? "too many queries are queued" : strerror(-r));
    }
    if (LIST_EMPTY(&job_query->queries))
        job_query_finish(job_query);
}

void job_queries_stop(struct peers *peers)
{
    struct job_query *job_query;

    while ((job_query = LIST_FIRST(&peers->job_queries)))
        job_query_finish(job_query);
}

void job_queries_free(struct peers *peers)
{
    struct peer_query *query;

    while ((query = LIST_FIRST(&peers->peer_queries)))
        peer_query_free(query);
}
