/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sending the outbox's rows to the nodes that they are for: one parcel under way a node, in order,
 * each row until that node has said that its store has it. */
#define _GNU_SOURCE
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/backoff.h"
#include "collector/peers/gather_impl.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/credential.h"
#include "report/json/json.h"

/* Rows in a parcel, and about how long its text may get before no further row goes in. */
#define PARCEL_ROWS 64
#define PARCEL_BYTES (CREDENTIAL_PAYLOAD_MAX / 2)

struct parcel {
    LIST_ENTRY(parcel) link;
    struct gather *gather;
    struct gather_peer *peer;
    char sink[sizeof(GATHER_SINK_PREFIX) + 256], id[WIRE_ID_SIZE];
    struct json_object *accounts; /* until they are in the payload */
    size_t bytes;
    char *payload;
    size_t size;
    int64_t ids[PARCEL_ROWS];
    size_t n;
    /* From the answer: */
    bool later[PARCEL_ROWS];    /* to be sent again */
    char *refused[PARCEL_ROWS]; /* owned; why; NULL: taken */
    bool retry;                 /* some are */
};

static void parcel_free(struct parcel *parcel)
{
    LIST_REMOVE(parcel, link);
    json_object_put(parcel->accounts);
    free(parcel->payload);
    for (size_t i = 0; i < parcel->n; i++)
        free(parcel->refused[i]);
    free(parcel);
}

/* --- when ------------------------------------------------------------------------------------- */

static void wake_at(struct gather *gather, uint64_t at_ns)
{
    uint64_t usec = at_ns / 1000, set;
    int on = SD_EVENT_OFF;

    if (gather->ending)
        return;
    (void)sd_event_source_get_enabled(gather->timer, &on);
    if (on != SD_EVENT_OFF && sd_event_source_get_time(gather->timer, &set) >= 0 && set <= usec)
        return;
    (void)sd_event_source_set_time(gather->timer, usec);
    (void)sd_event_source_set_enabled(gather->timer, SD_EVENT_ONESHOT);
}

void gather_queued(struct gather *gather)
{
    wake_at(gather, gather_now_ns() + backoff_random(gather->spread_ns));
}

static void put_off(struct gather_peer *peer, const char *why)
{
    struct gather *gather = peer->gather;
    uint64_t wait = backoff_wait(gather->backoff_ns, gather->slow_ns, ++peer->failures);

    peer->next_ns = gather_now_ns() + wait;
    gather->counts.send_failures++;
    gather_say(gather, peer->node, "accounts for %s wait (again in %.0f s): %s", peer->node,
               (double)wait / NS_PER_S, why);
    wake_at(gather, peer->next_ns);
}

static void parcel_fail(struct parcel *parcel, const char *why)
{
    parcel->peer->busy = false;
    if (!parcel->gather->ending)
        put_off(parcel->peer, why);
    parcel_free(parcel);
}

/* --- after the answer ------------------------------------------------------------------------- */

/* On the writer's thread. */
static int settle(struct store *store, void *arg, struct error *error)
{
    struct parcel *parcel = arg;
    int r = 0;

    for (size_t i = 0; i < parcel->n && r >= 0; i++) {
        if (parcel->later[i])
            continue;
        r = parcel->refused[i]
                ? store_outbox_refuse(store, parcel->ids[i], parcel->refused[i], error)
                : store_outbox_drop(store, &parcel->ids[i], 1, error);
    }
    return r;
}

static void on_settled(int result, const struct error *error, void *arg)
{
    struct parcel *parcel = arg;
    struct gather_peer *peer = parcel->peer;

    if (result < 0) {
        parcel_fail(parcel, error->text);
        return;
    }
    for (size_t i = 0; i < parcel->n; i++) {
        parcel->gather->counts.sent += !parcel->later[i] && !parcel->refused[i];
        if (!parcel->refused[i])
            continue;
        parcel->gather->counts.refused_by_peer++;
        gather_say(parcel->gather, "gather-refused", "%s refuses an account: %.150s", peer->node,
                   parcel->refused[i]);
    }
    if (parcel->retry) {
        peer->failures = 0;
        parcel_fail(parcel, "it does not know the job yet");
        return;
    }
    peer->failures = 0;
    peer->busy = false;
    parcel_free(parcel);
    wake_at(peer->gather, gather_now_ns()); /* there may be more */
}

static int read_refused(struct json_object *document, struct parcel *parcel, struct error *error)
{
    struct json_object *list;
    size_t n;

    if (!json_object_object_get_ex(document, "refused", &list) ||
        !json_object_is_type(list, json_type_array))
        return 0;
    n = json_object_array_length(list);
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        unsigned long long index = 0;
        int r = wire_number(item, "index", parcel->n - 1, &index, error);

        if (r < 0)
            return r;
        if (*wire_string(item, "why") == '\0') {
            parcel->later[index] = parcel->retry = true;
            continue;
        }
        free(parcel->refused[index]);
        parcel->refused[index] = strdup(wire_string(item, "why"));
        if (!parcel->refused[index])
            return error_set(error, -ENOMEM, "no memory");
    }
    return 0;
}

/* On the sealer's thread. */
static int read_answer(const char *payload, size_t size, uid_t uid, void *arg, struct error *error)
{
    struct parcel *parcel = arg;
    struct wire_head head = {parcel->gather->cluster, parcel->peer->node, parcel->gather->node,
                             parcel->id};
    struct json_object *document = NULL;
    int r;

    if (uid != 0)
        return error_set(error, -EPERM, "the answer is of user %u, not of root", uid);
    r = wire_parse(payload, size, &head, &document, error);
    if (r < 0)
        return r;
    r = read_refused(document, parcel, error);
    json_object_put(document);
    return r;
}

static void on_opened(int result, const struct error *error, void *arg)
{
    struct parcel *parcel = arg;

    if (result < 0 || parcel->gather->ending)
        parcel_fail(parcel, error->text);
    else if (writer_submit(parcel->gather->writer, true, settle, on_settled, parcel) < 0)
        parcel_fail(parcel, "the queue of the store is full");
}

/* That one row can never be sent: it is put aside, so that the others can. */
static void refuse_only(struct parcel *parcel, const char *why)
{
    parcel->refused[0] = strdup(why);
    if (!parcel->refused[0] ||
        writer_submit(parcel->gather->writer, true, settle, on_settled, parcel) < 0)
        parcel_fail(parcel, why);
}

/* Something in it cannot be read there: one by one, until it is found. */
static void on_bad_parcel(struct parcel *parcel, const char *why)
{
    struct gather_peer *peer = parcel->peer;

    if (parcel->n == 1) {
        refuse_only(parcel, why);
        return;
    }
    peer->singly = true;
    peer->busy = false;
    parcel_free(parcel);
    wake_at(peer->gather, gather_now_ns());
}

static void on_answer(const struct http_answer *answer, void *arg)
{
    struct parcel *parcel = arg;
    struct error error;
    int r;

    if ((answer->code == 400 || answer->code == 413) && !parcel->gather->ending) {
        on_bad_parcel(parcel, answer->text);
        return;
    }

    if (answer->code != 200 || !answer->body) {
        (void)error_set(&error, 0, answer->code ? "HTTP %ld: %.150s" : "%.0ld%.150s", answer->code,
                        answer->text);
        parcel_fail(parcel, error.text);
        return;
    }
    r = sealer_open(parcel->gather->sealer, answer->body, answer->size, read_answer, on_opened,
                    parcel);
    if (r < 0)
        parcel_fail(parcel, strerror(-r));
}

/* --- on the way ------------------------------------------------------------------------------- */

static void on_sealed(int result, const struct error *error, const char *text, void *arg)
{
    struct parcel *parcel = arg;
    struct gather *gather = parcel->gather;
    _free_ char *url = gather_url(gather, parcel->peer->node, "/v1/accounts");
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .answer_max = CREDENTIAL_TEXT_MAX,
                                   .timeout_ns = gather->timeout_ns};
    struct error why;

    if (result == -EMSGSIZE && parcel->n == 1 && !gather->ending) {
        refuse_only(parcel, error->text);
        return;
    }
    if (result < 0 || gather->ending) {
        parcel_fail(parcel, error->text);
        return;
    }
    request.body = strdup(text);
    request.size = strlen(text);
    if (!request.body || !url) {
        free(request.body);
        parcel_fail(parcel, "no memory");
    } else if (http_client_send(gather->client, &request, on_answer, parcel, &why) < 0) {
        parcel_fail(parcel, why.text);
    }
}

/* --- out of the store: on the query's thread -------------------------------------------------- */

static int take_row(int64_t id, const struct job_account *job, void *arg)
{
    struct parcel *parcel = arg;
    struct json_object *account = gather_document(job, REPORT_STEPS);
    size_t bytes = account ? strlen(json_object_to_json_string_ext(account, 0)) : 0;

    if (!account)
        return -ENOMEM;
    if (parcel->n && parcel->bytes + bytes > PARCEL_BYTES) {
        json_object_put(account);
        return 1; /* in the next one */
    }
    if (json_object_array_add(parcel->accounts, account) < 0) {
        json_object_put(account);
        return -ENOMEM;
    }
    parcel->bytes += bytes;
    parcel->ids[parcel->n++] = id;
    return 0;
}

/* That a job has ended here says that all of it has been sent: only its last row may. */
static int hide_ends(struct parcel *parcel, struct store *reader, struct error *error)
{
    for (size_t i = 0; i < parcel->n; i++) {
        struct json_object *job, *account = json_object_array_get_idx(parcel->accounts, i);
        bool more = false;
        int r = store_outbox_more(reader, parcel->ids[i], &more, error);

        if (r < 0)
            return r;
        if (more && json_object_object_get_ex(account, "job", &job) &&
            json_object_object_add(job, "state", json_object_new_string("running")) < 0)
            return error_set(error, -ENOMEM, "no memory for a parcel");
    }
    return 0;
}

static int fill(struct store *reader, void *arg, struct error *error)
{
    struct parcel *parcel = arg;
    const struct wire_head head = gather_head(parcel->gather, parcel->peer->node, parcel->id);
    struct json_object *document;
    int r;

    parcel->accounts = json_object_new_array();
    if (!parcel->accounts)
        return error_set(error, -ENOMEM, "no memory for a parcel");
    r = store_outbox_read(reader, parcel->sink, 0, parcel->peer->singly ? 1 : PARCEL_ROWS, take_row,
                          parcel, error);
    if (r < 0)
        return r == -ENOMEM ? error_set(error, r, "no memory for a parcel") : r;
    if (!parcel->n)
        return 0;
    r = hide_ends(parcel, reader, error);
    if (r < 0)
        return r;
    document = wire_create(&head);
    if (document && json_object_object_add(document, "accounts", parcel->accounts) == 0)
        parcel->accounts = NULL;
    parcel->payload = wire_text(document, &parcel->size);
    return parcel->payload ? 0 : error_set(error, -ENOMEM, "no memory for a parcel");
}

static void on_filled(int result, const struct error *error, void *arg)
{
    struct parcel *parcel = arg;
    int r;

    if (result < 0) {
        parcel_fail(parcel, error->text);
        return;
    }
    if (!parcel->n || parcel->gather->ending) {
        parcel->peer->singly = false;
        parcel->peer->busy = false;
        parcel_free(parcel);
        return;
    }
    r = sealer_seal(parcel->gather->sealer, TAKE_PTR(parcel->payload), parcel->size, on_sealed,
                    parcel);
    if (r < 0)
        parcel_fail(parcel, strerror(-r));
}

static void start_parcel(struct gather_peer *peer)
{
    struct parcel *parcel = calloc(1, sizeof(*parcel));

    if (!parcel)
        return;
    parcel->gather = peer->gather;
    parcel->peer = peer;
    LIST_INSERT_HEAD(&peer->gather->parcels, parcel, link);
    (void)snprintf(parcel->sink, sizeof(parcel->sink), GATHER_SINK_PREFIX "%s", peer->node);
    wire_new_id(parcel->id);
    peer->busy = true;
    if (query_submit(peer->gather->query, fill, on_filled, parcel) < 0)
        parcel_fail(parcel, "too many questions to the store wait");
}

/* --- who has something to get ----------------------------------------------------------------- */

struct look {
    struct gather *gather;
    char **nodes; /* owned */
    size_t n;
};

static int add_sink(const char *sink, void *arg)
{
    struct look *look = arg;
    char **grown;

    if (strncmp(sink, GATHER_SINK_PREFIX, strlen(GATHER_SINK_PREFIX)) != 0)
        return 0;
    grown = realloc(look->nodes, (look->n + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    look->nodes = grown;
    grown[look->n] = strdup(sink + strlen(GATHER_SINK_PREFIX));
    if (!grown[look->n])
        return -ENOMEM;
    look->n++;
    return 0;
}

static int list_sinks(struct store *reader, void *arg, struct error *error)
{
    return store_outbox_sinks(reader, add_sink, arg, error);
}

static struct gather_peer *get_peer(struct gather *gather, const char *node)
{
    struct gather_peer *peer;

    LIST_FOREACH(peer, &gather->peers, link)
    if (!strcmp(peer->node, node))
        return peer;
    peer = calloc(1, sizeof(*peer));
    if (!peer || !(peer->node = strdup(node))) {
        free(peer);
        return NULL;
    }
    peer->gather = gather;
    LIST_INSERT_HEAD(&gather->peers, peer, link);
    return peer;
}

static void serve_peer(struct gather_peer *peer, uint64_t now)
{
    if (peer->busy)
        return;
    if (peer->next_ns > now)
        wake_at(peer->gather, peer->next_ns);
    else
        start_parcel(peer);
}

static void look_again(struct gather *gather);

static void on_listed(int result, const struct error *error, void *arg)
{
    struct look *look = arg;
    struct gather *gather = look->gather;
    uint64_t now = gather_now_ns();

    gather->looking = false;
    if (result < 0 && !gather->ending) {
        gather_say(gather, "gather-outbox", "the outbox cannot be read: %s", error->text);
        wake_at(gather, now + gather->backoff_ns);
    }
    for (size_t i = 0; i < look->n; i++) {
        struct gather_peer *peer =
            result < 0 || gather->ending ? NULL : get_peer(gather, look->nodes[i]);

        if (peer)
            serve_peer(peer, now);
        free(look->nodes[i]);
    }
    free(look->nodes);
    free(look);
    if (gather->again && !gather->ending)
        look_again(gather);
}

static void look_again(struct gather *gather)
{
    struct look *look = calloc(1, sizeof(*look));

    gather->again = false;
    if (look)
        look->gather = gather;
    if (look && query_submit(gather->query, list_sinks, on_listed, look) == 0) {
        gather->looking = true;
        return;
    }
    free(look);
    wake_at(gather, gather_now_ns() + gather->backoff_ns);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct gather *gather = arg;

    (void)source, (void)usec;
    if (gather->looking)
        gather->again = true;
    else
        look_again(gather);
    return 0;
}

int gather_send_start(struct gather *gather, struct error *error)
{
    int r = sd_event_add_time(gather->loop, &gather->timer, CLOCK_MONOTONIC, 0, 10000, on_timer,
                              gather);

    if (r >= 0)
        r = sd_event_source_set_enabled(gather->timer, SD_EVENT_OFF);
    return r < 0 ? error_errno(error, r, "cannot make a timer") : 0;
}

void gather_send_stop(struct gather *gather)
{
    gather->timer = sd_event_source_disable_unref(gather->timer);
}

void gather_send_free(struct gather *gather)
{
    struct gather_peer *peer;
    struct parcel *parcel;

    while ((parcel = LIST_FIRST(&gather->parcels)))
        parcel_free(parcel);
    while ((peer = LIST_FIRST(&gather->peers))) {
        LIST_REMOVE(peer, link);
        free(peer->node);
        free(peer);
    }
}
