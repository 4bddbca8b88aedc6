/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queries of users on other hosts: requests of the local protocol. munge says who asks, and
 * only that user can read the answer. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/peers/peers_impl.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "common/message.h"

struct user_query {
    LIST_ENTRY(user_query) link;
    struct peers *peers;
    struct http_exchange *exchange;
    uid_t uid;                    /* who asks */
    struct json_object *document; /* the message */
    struct message *m;            /* the request in it */
};

static void user_query_free(struct user_query *query)
{
    LIST_REMOVE(query, link);
    json_object_put(query->document);
    free(query->m);
    free(query);
}

static void finish_text(struct user_query *query, unsigned code, const char *text)
{
    http_exchange_text(query->exchange, code, "%s", text);
    user_query_free(query);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void on_sealed(int result, const struct error *error, const char *text, void *arg)
{
    struct user_query *query = arg;
    char *body = result < 0 ? NULL : strdup(text);

    if (!body) {
        finish_text(query, 503, result < 0 ? error->text : "no memory");
        return;
    }
    query->peers->counts.served++;
    http_exchange_answer(query->exchange, 200, PEERS_CONTENT_TYPE, body, strlen(body));
    user_query_free(query);
}

static char *answer_text(const struct user_query *query, const struct peers_answer *answer,
                         size_t *size)
{
    const struct wire_head head = peers_head(query->peers, wire_string(query->document, "from"),
                                             wire_string(query->document, "id"));
    struct json_object *document = wire_create(&head);
    bool added = document != NULL;

    if (answer->error)
        added = added && json_object_object_add(document, "error",
                                                json_object_new_string(answer->error)) == 0;
    if (answer->text)
        added = added &&
                json_object_object_add(document, "text", json_object_new_string(answer->text)) == 0;
    if (answer->applied)
        added = added && json_object_object_add(document, "applied",
                                                json_object_new_string(answer->applied)) == 0;
    if (answer->cut)
        added =
            added && json_object_object_add(document, "cut", json_object_new_boolean(true)) == 0;
    if (added)
        return wire_text(document, size);
    json_object_put(document);
    return NULL;
}

void peers_provide_answer(void *question, const struct peers_answer *answer)
{
    static const struct peers_answer too_long = {
        .error = "the answer is too long for another host: choose a shorter time or a limit"};
    struct user_query *query = question;
    _free_ char *text = NULL;
    size_t size = 0;

    if (answer->text && strlen(answer->text) > CREDENTIAL_PAYLOAD_MAX / 2)
        answer = &too_long;
    text = answer_text(query, answer, &size);
    if (text && size > CREDENTIAL_PAYLOAD_MAX) { /* many characters were escaped */
        free(TAKE_PTR(text));
        text = answer_text(query, &too_long, &size);
    }
    if (!text || query->peers->ending ||
        sealer_seal(query->peers->opener, query->uid, TAKE_PTR(text), size, on_sealed, query) < 0)
        finish_text(query, 503, "too many requests are queued");
}

/* --- the request ------------------------------------------------------------------------------ */

static int put_keys(struct message *m, struct json_object *request, struct error *error)
{
    message_init(m, wire_string(request, "TYPE"));
    json_object_object_foreach(request, key, value)
    {
        if (strcmp(key, "TYPE") == 0 || strcmp(key, "VERSION") == 0)
            continue;
        if (!json_object_is_type(value, json_type_string) || !*key || strchr(key, '='))
            return error_set(error, -EBADMSG, "\"request\" has a key that is not valid");
        if (message_put(m, key, json_object_get_string(value)) < 0)
            return error_set(error, -EBADMSG, "\"request\" is too long");
    }
    return 0;
}

/* Runs on the sealer's thread. Who asks may not know the name of this node or its cluster. */
static int read_query(const char *payload, size_t size, const struct credential_maker *maker,
                      void *arg, struct error *error)
{
    const struct wire_head any = {NULL, NULL, NULL, NULL};
    struct user_query *query = arg;
    struct json_object *request;
    int r = wire_parse(payload, size, &any, &query->document, error);

    query->uid = maker->uid;
    if (r < 0)
        return r;
    if (!json_object_object_get_ex(query->document, "request", &request) ||
        !json_object_is_type(request, json_type_object))
        return error_set(error, -EBADMSG, "\"request\" is missing");
    query->m = malloc(sizeof(*query->m));
    return query->m ? put_keys(query->m, request, error) : error_set(error, -ENOMEM, "no memory");
}

static void on_opened(int result, const struct error *error, void *arg)
{
    struct user_query *query = arg;
    struct peers *peers = query->peers;
    unsigned code = 503;

    if (result < 0) {
        code = peers_refuse(peers, http_exchange_peer(query->exchange), result, error);
        finish_text(query, code, error->text);
    } else if (peers->ending) {
        finish_text(query, code, "jobiod is stopping");
    } else {
        peers->hooks.query(query->uid, query->m, query, peers->hooks.arg);
    }
}

void user_query_serve(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    struct peers *peers = arg;
    struct user_query *query = calloc(1, sizeof(*query));

    if (!query) {
        http_exchange_text(exchange, 503, "no memory");
        return;
    }
    *query = (struct user_query){.peers = peers, .exchange = exchange};
    LIST_INSERT_HEAD(&peers->user_queries, query, link);
    if (sealer_open(peers->opener, size ? body : "", size, read_query, on_opened, query) < 0)
        finish_text(query, 503, "too many requests are queued");
}

void user_queries_free(struct peers *peers)
{
    struct user_query *query;

    while ((query = LIST_FIRST(&peers->user_queries)))
        finish_text(query, 503, "jobiod is stopping");
}
