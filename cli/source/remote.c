/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/remote.h"

#include <curl/curl.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/http/access.h"
#include "collector/http/body.h"
#include "collector/http/easy.h"
#include "collector/peers/wire.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "common/text.h"
#include "common/tree.h"

#define PATH "/v1/query"
#define CONNECT_MS 3000
#define JOBIOD_UID 0 /* on all nodes */

/* --- the message ------------------------------------------------------------------------------ */

static struct json_object *request_json(struct tree *tree, const struct message *m)
{
    struct json_object *request = tree_object(tree);

    for (const char *field = NULL; (field = message_next(m, field));) {
        const char *value = strchr(field, '=') + 1;
        _free_ char *key = strndup(field, (size_t)(value - 1 - field));

        if (!key)
            tree->failed = true;
        else if (strcmp(key, "VERSION") != 0)
            tree_put_text(tree, request, key, value);
    }
    return request;
}

static int make_credential(const char *munge_socket, const struct message *m, const char *id,
                           char **ret, struct error *error)
{
    const struct wire_head head = {"", "", "", id};
    struct json_object *document = wire_create(&head);
    struct tree tree = {.failed = !document};
    struct json_object *request = request_json(&tree, m);
    _free_ char *text = NULL;
    size_t size = 0;

    if (document)
        tree_put(&tree, document, "request", request);
    text = wire_text(tree_end(&tree, document), &size);
    return text ? credential_make(munge_socket, JOBIOD_UID, text, size, ret, error)
                : error_errno(error, -ENOMEM, "query another host");
}

/* --- the transfer ----------------------------------------------------------------------------- */

static int transfer(CURL *easy, const char *url, const struct http_headers *headers,
                    struct http_body *body, struct error *error)
{
    char why[CURL_ERROR_SIZE] = "";
    CURLcode result;
    long code = 0;

    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, why);
    result = curl_easy_perform(easy);
    if (result != CURLE_OK)
        return error_set(error, -EHOSTUNREACH, "no answer from jobiod at %s: %s", url,
                         http_easy_reason(headers, result, why));
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    if (code == 404)
        return error_set(error, -EREMOTEIO,
                         "jobiod at %s is older than this command and cannot answer it", url);
    if (code != 200 || !body->text)
        return error_set(error, -EREMOTEIO, "jobiod at %s refused the query: HTTP %ld: %.200s", url,
                         code, body->text ? body->text : "");
    return 0;
}

static int post(const char *url, const char *credential, unsigned timeout_ms,
                struct http_body *body, struct error *error)
{
    const struct http_setup setup = {.connect_timeout_ms = CONNECT_MS, .timeout_ms = timeout_ms};
    struct http_headers headers = {.size = 0};
    _free_ char *full = text_node_url(url, "", PATH);
    struct curl_slist *type;
    CURL *easy = NULL;
    int rc = http_easy_create(&easy, error);

    if (rc < 0)
        return rc;
    rc = error_errno(error, -ENOMEM, "query another host");
    type = curl_slist_append(NULL, "Content-Type: text/plain");
    if (type && full) {
        http_easy_setup(easy, &setup, &headers);
        (void)curl_easy_setopt(easy, CURLOPT_URL, full);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, credential);
        (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, type);
        (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_body_append);
        (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
        rc = transfer(easy, url, &headers, body, error);
    }
    curl_slist_free_all(type);
    curl_easy_cleanup(easy);
    return rc;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int take_answer(struct json_object *document, const char *url, struct message *m, char **ret,
                       struct error *error)
{
    struct json_object *text, *cut;
    const char *why = wire_string(document, "error");

    if (*why)
        return error_set(error, -EREMOTEIO, "jobiod at %s: %.200s", url, why);
    if (!json_object_object_get_ex(document, "text", &text))
        return error_set(error, -EBADMSG, "the answer of jobiod at %s has no text", url);
    message_init(m, "answer");
    (void)message_put(m, "APPLIED", wire_string(document, "applied"));
    if (json_object_object_get_ex(document, "cut", &cut) && json_object_get_boolean(cut))
        (void)message_put(m, "CUT", "1");
    *ret = strdup(json_object_get_string(text));
    return *ret ? 0 : error_errno(error, -ENOMEM, "read the answer");
}

static int open_answer(const char *munge_socket, const char *text, const char *id,
                       struct json_object **ret, struct error *error)
{
    const struct wire_head head = {.id = id};
    _free_ char *payload = NULL;
    struct credential_maker maker;
    size_t size;
    int rc = credential_open(munge_socket, text, &payload, &size, &maker, error);

    if (rc < 0)
        return rc;
    if (maker.uid != JOBIOD_UID)
        return error_set(error, -EBADMSG, "the answer was not made by root");
    return wire_parse(payload, size, &head, ret, error);
}

int remote_ask(const char *url, const char *munge_socket, struct message *m, unsigned timeout_ms,
               char **ret, struct error *error)
{
    _free_ char *credential = NULL;
    struct json_object *document = NULL;
    struct http_body body = {.max = CREDENTIAL_TEXT_MAX};
    char id[WIRE_ID_SIZE];
    int rc = http_check_url(url, error);

    if (rc < 0)
        return rc;
    rc = wire_new_id(id);
    if (rc < 0)
        return error_errno(error, rc, "query another host");
    rc = make_credential(munge_socket, m, id, &credential, error);
    if (rc == 0)
        rc = post(url, credential, timeout_ms, &body, error);
    if (rc == 0)
        rc = open_answer(munge_socket, body.text, id, &document, error);
    if (rc == 0)
        rc = take_answer(document, url, m, ret, error);
    json_object_put(document);
    http_body_clear(&body);
    return rc;
}
