/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first node of a job as a target: this node sends the accounts of steps that have ended here,
 * and resends each until the first node confirms that it is stored. Requests and answers are munge
 * credentials. */
#define _GNU_SOURCE /* asprintf */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/deliver/step_outbox.h"
#include "collector/http/backoff.h"
#include "collector/peers/peers_impl.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/credential.h"
#include "common/tree.h"
#include "common/utf8.h"
#include "report/json/json.h"

/* Limits of a request: number of accounts, and length of their text before the last one. */
#define BATCH_ROWS 64
#define BATCH_BYTES (CREDENTIAL_PAYLOAD_MAX / 2)

/* A node that the outbox has rows for. */
struct first_node {
    LIST_ENTRY(first_node) link;
    struct peers *peers;
    char *node, *sink;
    struct step_outbox outbox;
    bool wanted;           /* the outbox has rows for it */
    char id[WIRE_ID_SIZE]; /* of the request in progress */
    struct in_addr origin; /* of the credential that answers it */
};

/* --- a request -------------------------------------------------------------------------------- */

/* The end of a job on this node means that all of its steps have been sent, so only the last row of
 * the job may contain it. */
static int hide_end(const struct step_source *step, struct json_object *account,
                    struct error *error)
{
    struct json_object *job;
    bool more = false;
    int r = store_outbox_more(step->reader, step->id, &more, error);

    if (r == 0 && more && json_object_object_get_ex(account, "job", &job) &&
        json_object_object_add(job, "state", json_object_new_string("running")) < 0)
        return -ENOMEM;
    return r;
}

static int write_step(FILE *out, const struct step_source *step,
                      const struct target_options *options, unsigned *rows, struct error *error)
{
    struct json_object *account = peers_document(step->job, REPORT_STEPS);
    int r = account ? hide_end(step, account, error) : -ENOMEM;
    const char *text = r == 0 ? tree_print(account) : NULL;

    (void)options;
    if (r == 0 && (!text || fprintf(out, "%s,", text) < 0))
        r = -ENOMEM;
    json_object_put(account);
    *rows = 1;
    return r;
}

static void on_sealed(int result, const struct error *error, const char *text, void *arg)
{
    struct target *target = arg;
    struct error why = {"out of memory"};
    char *body;

    if (target->stopped)
        return;
    if (result < 0) {
        target_judged(target, result == -EMSGSIZE ? ANSWER_REFUSED : ANSWER_WAIT, error->text);
        return;
    }
    body = strdup(text);
    if (!body || target_post(target, body, strlen(body), &why) < 0)
        target_judged(target, ANSWER_WAIT, why.text);
}

/* The document: a head and the accounts that write_step() wrote, each followed by a comma. */
static int make_payload(struct first_node *peer, const char *accounts, size_t size, char **ret)
{
    struct wire_head head;
    _free_ char *start = NULL;
    size_t length = 0;
    int r = wire_new_id(peer->id);

    if (r < 0)
        return r;
    head = peers_head(peer->peers, peer->node, peer->id);
    start = wire_text(wire_create(&head), &length);
    if (!start || asprintf(ret, "%.*s,\"accounts\":[%.*s]}", (int)length - 1, start, (int)size - 1,
                           accounts) < 0)
        return -ENOMEM;
    return 0;
}

static int request(struct target *target, void *body, size_t size, struct error *error)
{
    struct first_node *peer = target->arg;
    char *payload;
    int r = make_payload(peer, body, size, &payload);

    free(body);
    if (r == 0)
        r = sealer_seal(peer->peers->sealer, PEERS_UID, payload, strlen(payload), on_sealed,
                        target);
    return r < 0 ? error_errno(error, r, "cannot make a credential") : 0;
}

/* --- an answer -------------------------------------------------------------------------------- */

static int read_refused(struct json_object *document, struct target *target, struct error *error)
{
    struct json_object *list;
    size_t n;

    if (!json_object_object_get_ex(document, "refused", &list) ||
        !json_object_is_type(list, json_type_array))
        return 0;
    n = json_object_array_length(list);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *why = wire_string(item, "why");
        unsigned long long index = 0;
        int r = wire_number(item, "index", target->rows - 1, &index, error);

        if (r < 0)
            return r;
        target->verdicts[index].answer = *why ? ANSWER_REFUSED : ANSWER_LATER;
        answer_describe(target->verdicts[index].why, 0, "",
                        *why ? why : "it does not know the job yet");
    }
    return 0;
}

/* Runs on the sealer's thread. The verdicts are initialised to ANSWER_OK. */
static int read_answer(const char *payload, size_t size, const struct credential_maker *maker,
                       void *arg, struct error *error)
{
    struct target *target = arg;
    struct first_node *peer = target->arg;
    const struct wire_head head = {peer->peers->cluster, peer->node, peer->peers->node, peer->id};
    struct json_object *document = NULL;
    int r;

    peer->origin = maker->origin;
    if (maker->uid != 0)
        return error_set(error, -EPERM, "the answer is from user %u, not from root", maker->uid);
    r = wire_parse(payload, size, &head, &document, error);
    if (r < 0)
        return r;
    r = read_refused(document, target, error);
    json_object_put(document);
    return r;
}

/* The answer is that of the first node. */
static void on_checked(int result, const struct error *error, void *arg)
{
    struct target *target = arg;
    const struct first_node *peer = target->arg;

    peer->peers->counts.wrong_origin += result == -EREMOTE;
    if (result < 0)
        target_judged(arg, ANSWER_WAIT, error->text);
    else
        target_judged(arg, ANSWER_PARTLY, "");
}

static void on_opened(int result, const struct error *error, void *arg)
{
    struct target *target = arg;
    const struct first_node *peer = target->arg;

    if (result < 0)
        target_judged(arg, ANSWER_WAIT, error->text);
    else
        origins_check(peer->peers->origins, peer->node, peer->origin, on_checked, target);
}

static enum answer judge(struct target *target, const struct http_answer *answer, size_t rows,
                         struct answer_verdict *verdicts, char why[ANSWER_WHY_MAX])
{
    const struct first_node *peer = target->arg;
    int r;

    (void)rows, (void)verdicts;
    answer_describe(why, answer->code, "", answer->text);
    if (answer->code == 400 || answer->code == 413)
        return ANSWER_REFUSED;
    if (answer->code != 200 || !answer->body)
        return ANSWER_WAIT;
    r = sealer_open(peer->peers->sealer, answer->body, answer->size, read_answer, on_opened,
                    target);
    if (r == 0)
        return ANSWER_PENDING;
    answer_describe(why, 0, "", strerror(-r));
    return ANSWER_WAIT;
}

static const struct target_kind first_node_kind = {
    .name = "first_node",
    .method = "POST",
    .verdicts = true,
    .trusted = true, /* its answers are authenticated */
    .write_step = write_step,
    .request = request,
    .judge = judge,
};

/* --- the outbox of the store ------------------------------------------------------------------ */

static void read_outbox(int64_t after, const struct step_limits *limits,
                        const struct step_format *format, void *arg)
{
    struct first_node *peer = arg;

    step_outbox_read(&peer->outbox, after, limits, format);
}

static void on_delivered(const int64_t *ids, size_t n, void *arg)
{
    struct first_node *peer = arg;

    step_outbox_settle(&peer->outbox, ids, n, "");
}

static void on_refused(int64_t id, const char *why, void *arg)
{
    struct first_node *peer = arg;

    peers_warn(peer->peers, "peers-refused", "%s refuses an account: %.*s", peer->node,
               utf8_fit(why, 150), why);
    step_outbox_settle(&peer->outbox, &id, 1, why);
}

static void on_settled(int result, const struct error *error, size_t n, const char *why, void *arg)
{
    struct peers *peers = ((struct first_node *)arg)->peers;

    if (result < 0)
        peers_warn(peers, "peers-outbox", "the outbox cannot be written: %s", error->text);
    else if (*why)
        peers->counts.refused_by_peer++;
    else
        peers->counts.sent += n;
}

static void say(enum log_level level, const char *text, void *arg)
{
    const struct first_node *peer = arg;

    peer->peers->hooks.say(level, text, peer->peers->hooks.arg);
}

/* --- peers ------------------------------------------------------------------------------------ */

static void peer_free(struct first_node *peer)
{
    step_queue_destroy(peer->outbox.queue);
    free(peer->node);
    free(peer->sink);
    free(peer);
}

static int peer_init(struct first_node *peer, struct peers *peers, const char *node,
                     struct error *error)
{
    _free_ char *url = peers_url(peers, node, "/v1/accounts");
    const struct step_queue_hooks hooks = {read_outbox, on_delivered, on_refused, say, peer};
    const struct step_queue_options options = {
        .kind = &first_node_kind,
        .kind_arg = peer,
        .to = {.url = url, .answer_max = CREDENTIAL_TEXT_MAX},
        .what = "accounts for",
        .name = node,
        .client = peers->client,
        .poll_ns = UINT64_MAX,
        .backoff_ns = peers->backoff_ns,
        .slow_ns = peers->slow_ns,
        .limits = {.rows = BATCH_ROWS, .bytes = BATCH_BYTES},
        .late_ns = peers->late_ns,
        .answers_ns = peers->answers_ns,
    };

    peer->peers = peers;
    peer->node = strdup(node);
    if (!url || !peer->node || asprintf(&peer->sink, PEERS_SINK_PREFIX "%s", node) < 0) {
        peer->sink = NULL;
        return error_set(error, -ENOMEM, "out of memory");
    }
    peer->outbox = (struct step_outbox){
        .sink = peer->sink,
        .query = peers->query,
        .writer = peers->writer,
        .final = true,
        .settled = on_settled,
        .arg = peer,
    };
    return step_queue_create(&peer->outbox.queue, peers->loop, &options, &hooks, error);
}

/* Find or create the node. Returns NULL on failure, which is logged. */
static struct first_node *get_peer(struct peers *peers, const char *node)
{
    struct error error = {"out of memory"};
    struct first_node *peer;

    LIST_FOREACH (peer, &peers->first_nodes, link)
        if (!strcmp(peer->node, node))
            return peer;
    peer = calloc(1, sizeof(*peer));
    if (!peer || peer_init(peer, peers, node, &error) < 0) {
        peers_warn(peers, node, "accounts for %s cannot be sent: %s", node, error.text);
        if (peer)
            peer_free(peer);
        return NULL;
    }
    LIST_INSERT_HEAD(&peers->first_nodes, peer, link);
    step_queue_start(peer->outbox.queue);
    return peer;
}

static uint64_t count_failures(const struct first_node *peer)
{
    struct step_queue_counts counts;

    step_queue_counts(peer->outbox.queue, &counts);
    return counts.failures;
}

uint64_t first_node_failures(const struct peers *peers)
{
    uint64_t failures = peers->counts.send_failures; /* of nodes that were freed */
    const struct first_node *peer;

    LIST_FOREACH (peer, &peers->first_nodes, link)
        failures += count_failures(peer);
    return failures;
}

/* Free the nodes that have no rows in the outbox any more. */
static void drop_idle_peers(struct peers *peers)
{
    struct first_node *peer, *next;

    for (peer = LIST_FIRST(&peers->first_nodes); peer; peer = next) {
        next = LIST_NEXT(peer, link);
        if (peer->wanted || peer->outbox.writes || !step_queue_is_idle(peer->outbox.queue))
            continue;
        peers->counts.send_failures += count_failures(peer);
        LIST_REMOVE(peer, link);
        peer_free(peer);
    }
}

/* --- the nodes that the outbox has rows for --------------------------------------------------- */

static void wake_at(struct peers *peers, uint64_t at_ns)
{
    uint64_t usec = at_ns / 1000, set;
    int on = SD_EVENT_OFF;

    if (peers->ending)
        return;
    (void)sd_event_source_get_enabled(peers->timer, &on);
    if (on != SD_EVENT_OFF && sd_event_source_get_time(peers->timer, &set) >= 0 && set <= usec)
        return;
    (void)sd_event_source_set_time(peers->timer, usec);
    (void)sd_event_source_set_enabled(peers->timer, SD_EVENT_ONESHOT);
}

void peers_notify(struct peers *peers)
{
    wake_at(peers, clock_ns(CLOCK_MONOTONIC) + backoff_random(peers->spread_ns));
}

struct listing {
    struct peers *peers;
    char **nodes; /* owned */
    size_t n;
};

static int add_sink(const char *sink, void *arg)
{
    struct listing *listing = arg;
    char **grown;

    if (strncmp(sink, PEERS_SINK_PREFIX, strlen(PEERS_SINK_PREFIX)) != 0)
        return 0;
    grown = realloc(listing->nodes, (listing->n + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    listing->nodes = grown;
    grown[listing->n] = strdup(sink + strlen(PEERS_SINK_PREFIX));
    if (!grown[listing->n])
        return -ENOMEM;
    listing->n++;
    return 0;
}

static int list_sinks(struct store *reader, void *arg, struct error *error)
{
    return store_outbox_sinks(reader, add_sink, arg, error);
}

static void listing_free(struct listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        free(listing->nodes[i]);
    free(listing->nodes);
    free(listing);
}

static void notify_peers(struct peers *peers, const struct listing *listing)
{
    struct first_node *peer;

    LIST_FOREACH (peer, &peers->first_nodes, link)
        peer->wanted = false;
    for (size_t i = 0; i < listing->n; i++) {
        peer = get_peer(peers, listing->nodes[i]);
        if (!peer)
            continue;
        peer->wanted = true;
        step_queue_notify(peer->outbox.queue);
    }
    drop_idle_peers(peers);
}

static void list_again(struct peers *peers);

static void on_listed(int result, const struct error *error, void *arg)
{
    struct listing *listing = arg;
    struct peers *peers = listing->peers;

    peers->looking = false;
    if (result < 0 && !peers->ending) {
        peers_warn(peers, "peers-outbox", "the outbox cannot be read: %s", error->text);
        wake_at(peers, clock_ns(CLOCK_MONOTONIC) + peers->backoff_ns);
    } else if (!peers->ending) {
        notify_peers(peers, listing);
    }
    listing_free(listing);
    if (peers->again && !peers->ending)
        list_again(peers);
}

static void list_again(struct peers *peers)
{
    struct listing *listing = calloc(1, sizeof(*listing));

    peers->again = false;
    if (listing)
        listing->peers = peers;
    if (listing && query_submit(peers->query, list_sinks, on_listed, listing) == 0) {
        peers->looking = true;
        return;
    }
    free(listing);
    wake_at(peers, clock_ns(CLOCK_MONOTONIC) + peers->backoff_ns);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct peers *peers = arg;

    (void)source, (void)usec;
    if (peers->looking)
        peers->again = true;
    else
        list_again(peers);
    return 0;
}

/* --- start and end ---------------------------------------------------------------------------- */

int first_node_start(struct peers *peers, struct error *error)
{
    int r =
        sd_event_add_time(peers->loop, &peers->timer, CLOCK_MONOTONIC, 0, 10000, on_timer, peers);

    if (r >= 0)
        r = sd_event_source_set_enabled(peers->timer, SD_EVENT_OFF);
    return r < 0 ? error_errno(error, r, "cannot create a timer") : 0;
}

void first_node_stop(struct peers *peers)
{
    struct first_node *peer;

    peers->timer = sd_event_source_disable_unref(peers->timer);
    LIST_FOREACH (peer, &peers->first_nodes, link)
        step_queue_stop(peer->outbox.queue);
}

void first_node_free(struct peers *peers)
{
    struct first_node *peer;

    while ((peer = LIST_FIRST(&peers->first_nodes))) {
        LIST_REMOVE(peer, link);
        peer_free(peer);
    }
}
