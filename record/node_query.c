/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "record/node_query.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "collector/http/easy.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/credential.h"
#include "report/record/record.h"

#define PATH "/v1/record"

struct body {
    char *text;
    size_t size;
};

/* So many questions in a row may go without an answer. */
#define SILENT_MAX 3

/* A node with its questions, asked one after the other. */
struct host {
    struct asking *asking;
    struct ask **asks;
    size_t n, next;
    unsigned silent; /* questions in a row that it did not answer in time */
    CURL *easy;      /* NULL: none is under way */
    char *credential;
    struct body body;
    char error[CURL_ERROR_SIZE];
};

struct asking {
    const struct ask_options *options;
    void (*say)(const char *line);
    CURLM *multi;
    struct curl_slist *headers;
    struct ask **order;
    struct host *hosts;
    size_t n_hosts, next, running;
};

/* --- what is said --------------------------------------------------------------------------- */

static void new_id(char id[17])
{
    uint64_t number = 0;

    (void)!getrandom(&number, sizeof(number), 0);
    (void)snprintf(id, 17, "%016" PRIx64, number);
}

char *ask_question(struct ask *ask, const char *cluster)
{
    struct json_object *o = json_object_new_object();
    char *text = NULL;

    if (!o)
        return NULL;
    new_id(ask->id);
    json_object_object_add(o, "version", json_object_new_int(1));
    json_object_object_add(o, "cluster", json_object_new_string(cluster));
    json_object_object_add(o, "from", json_object_new_string("jobio-record"));
    json_object_object_add(o, "to", json_object_new_string(ask->host));
    json_object_object_add(o, "id", json_object_new_string(ask->id));
    json_object_object_add(o, "jobid", json_object_new_int64(ask->jobid));
    json_object_object_add(o, "restart", json_object_new_int64(ask->restart));
    text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
    json_object_put(o);
    return text;
}

static struct json_object *parse(const char *text, size_t size)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *o = NULL;

    if (tokener && size <= CREDENTIAL_PAYLOAD_MAX)
        o = json_tokener_parse_ex(tokener, text, (int)size);
    json_tokener_free(tokener);
    return o;
}

static bool is_number(struct json_object *o, const char *key, int64_t value)
{
    struct json_object *field = json_object_object_get(o, key);

    return json_object_is_type(field, json_type_int) && json_object_get_int64(field) == value;
}

static const char *text_of(struct json_object *o, const char *key)
{
    struct json_object *field = json_object_object_get(o, key);

    return json_object_is_type(field, json_type_string) ? json_object_get_string(field) : "";
}

/* It goes into the accounting as it is. */
static bool is_record(const char *text, uint32_t restart)
{
    struct record_head head;
    size_t n = strlen(text);

    if (n > RECORD_MAX || strncmp(text, "IO1:{", 5) != 0 || !record_head(text, &head) ||
        head.restart != restart)
        return false;
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c == 0x7f)
            return false;
    return true;
}

int ask_understand(struct ask *ask, const char *cluster, const char *payload, size_t size,
                   struct error *error)
{
    struct json_object *o = parse(payload, size);
    struct json_object *ended = json_object_object_get(o, "ended");
    int r = -EBADMSG;

    if (!json_object_is_type(o, json_type_object) || !is_number(o, "version", 1))
        (void)error_set(error, r, "its answer is none of version 1");
    else if (strcmp(text_of(o, "cluster"), cluster) != 0)
        (void)error_set(error, r, "it is of another cluster");
    else if (strcmp(text_of(o, "from"), ask->host) != 0 || strcmp(text_of(o, "id"), ask->id) != 0)
        (void)error_set(error, r, "its answer is to another question");
    else if (!is_number(o, "jobid", ask->jobid) || !is_number(o, "restart", ask->restart))
        (void)error_set(error, r, "it answered for another job");
    else if (!is_record(text_of(o, "record"), ask->restart))
        (void)error_set(error, r, "job %u: what it sent is no record", ask->jobid);
    else
        r = 0;
    if (!r) {
        ask->record = strdup(text_of(o, "record"));
        ask->answer = json_object_get_boolean(ended) ? ANSWER_ENDED : ANSWER_RUNS;
        if (!ask->record)
            r = error_set(error, -ENOMEM, "no memory");
    }
    json_object_put(o);
    return r;
}

static int open_answer(struct ask *ask, const char *cluster, const struct body *body,
                       struct error *error)
{
    _free_ char *payload = NULL;
    size_t size;
    uid_t uid;
    int r;

    if (!body->text)
        return error_set(error, -EBADMSG, "its answer is empty");
    r = credential_open(NULL, body->text, &payload, &size, &uid, error);
    if (r < 0)
        return r;
    if (uid != 0)
        return error_set(error, -EACCES, "its answer is not root's");
    return ask_understand(ask, cluster, payload, size, error);
}

/* --- one question --------------------------------------------------------------------------- */

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
    struct body *body = arg;
    char *grown;

    if (n > CREDENTIAL_TEXT_MAX - body->size)
        return 0;
    grown = realloc(body->text, body->size + n + 1);
    if (!grown)
        return 0;
    memcpy(grown + body->size, data, n);
    body->text = grown;
    body->size += n;
    grown[body->size] = '\0';
    return n * one;
}

static char *url_of(const char *template, const char *host)
{
    const char *at = strstr(template, "%n");
    char *url;

    if (!at)
        return asprintf(&url, "%s" PATH, template) < 0 ? NULL : url;
    if (asprintf(&url, "%.*s%s%s" PATH, (int)(at - template), template, host, at + 2) < 0)
        return NULL;
    return url;
}

static CURL *make_easy(struct host *host, const char *url)
{
    const struct ask_options *options = host->asking->options;
    long timeout_ms = (long)(options->timeout_ns / NS_PER_MS);
    const struct http_setup setup = {.connect_timeout_ms = timeout_ms, .timeout_ms = timeout_ms};
    CURL *easy = curl_easy_init();

    if (!easy)
        return NULL;
    http_easy_setup(easy, &setup);
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, host->credential);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, host->asking->headers);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, &host->body);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, host->error);
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, host);
    return easy;
}

static int host_ask(struct host *host, struct error *error)
{
    struct ask *ask = host->asks[host->next];
    const struct ask_options *options = host->asking->options;
    _free_ char *question = ask_question(ask, options->cluster);
    _free_ char *url = url_of(options->url, ask->host);
    int r;

    if (!question || !url)
        return error_set(error, -ENOMEM, "no memory");
    r = credential_make(NULL, question, strlen(question), &host->credential, error);
    if (r < 0)
        return r;
    host->easy = make_easy(host, url);
    if (!host->easy || curl_multi_add_handle(host->asking->multi, host->easy) != CURLM_OK) {
        curl_easy_cleanup(host->easy);
        host->easy = NULL;
        return error_set(error, -ENOMEM, "no memory");
    }
    host->asking->running++;
    return 0;
}

static void host_clear(struct host *host)
{
    if (host->easy) {
        (void)curl_multi_remove_handle(host->asking->multi, host->easy);
        curl_easy_cleanup(host->easy);
        host->easy = NULL;
        host->asking->running--;
    }
    free(host->credential);
    free(host->body.text);
    host->credential = NULL;
    host->body = (struct body){0};
    *host->error = '\0';
}

static int host_answer(struct host *host, CURLcode result, struct error *error)
{
    struct ask *ask = host->asks[host->next];
    long code = 0;

    if (result != CURLE_OK)
        return error_set(error, -EHOSTUNREACH, "%s",
                         *host->error ? host->error : curl_easy_strerror(result));
    (void)curl_easy_getinfo(host->easy, CURLINFO_RESPONSE_CODE, &code);
    if (code == 404) {
        ask->answer = ANSWER_UNKNOWN;
        return 0;
    }
    if (code != 200)
        return error_set(error, -EPROTO, "HTTP %ld: %.120s", code,
                         host->body.text ? host->body.text : "");
    return open_answer(ask, host->asking->options->cluster, &host->body, error);
}

static void host_say(struct host *host, const char *text)
{
    char line[512];

    snprintf(line, sizeof(line), "%s: job %u (%zu of %zu): %s", host->asks[0]->host,
             host->asks[host->next]->jobid, host->next + 1, host->n, text);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c == 0x7f)
            *c = ' ';
    host->asking->say(line);
}

/* One job may be too large to be answered in time; a node that answers nothing is of no use. */
static bool is_silent(struct host *host, CURLcode result)
{
    if (result == CURLE_OK)
        host->silent = 0;
    else if (result == CURLE_OPERATION_TIMEDOUT)
        host->silent++;
    else
        host->silent = SILENT_MAX;
    return host->silent >= SILENT_MAX;
}

/* After the answer to a question: the next one, unless the node is of no use. */
static int host_done(struct host *host, CURLcode result, struct error *error)
{
    struct error why;
    int r = host_answer(host, result, &why);

    host_clear(host);
    if (r == -ENOMEM)
        return error_set(error, r, "no memory");
    if (r < 0)
        host_say(host, why.text);
    if (is_silent(host, result))
        return 0;
    host->next++;
    return host->next < host->n ? host_ask(host, error) : 0;
}

/* --- all of them ---------------------------------------------------------------------------- */

static int start_hosts(struct asking *a, struct error *error)
{
    int r = 0;

    while (!r && a->next < a->n_hosts && a->running < a->options->parallel)
        r = host_ask(&a->hosts[a->next++], error);
    return r;
}

static int reap(struct asking *a, struct error *error)
{
    CURLMsg *message;
    int left, r = 0;

    while (!r && (message = curl_multi_info_read(a->multi, &left))) {
        struct host *host = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&host);
        r = host_done(host, message->data.result, error);
    }
    return r;
}

static int run(struct asking *a, struct error *error)
{
    int still, r = start_hosts(a, error);

    while (!r && a->running) {
        if (curl_multi_perform(a->multi, &still) != CURLM_OK ||
            curl_multi_poll(a->multi, NULL, 0, 1000, NULL) != CURLM_OK)
            return error_set(error, -EIO, "libcurl's loop failed");
        r = reap(a, error);
        if (!r)
            r = start_hosts(a, error);
    }
    return r;
}

static int by_host(const void *pa, const void *pb)
{
    const struct ask *const *a = pa, *const *b = pb;

    return strcmp((*a)->host, (*b)->host);
}

/* The questions by host: each struct host has a part of `order`. */
static int part(struct asking *a, struct ask *asks, size_t n)
{
    a->order = calloc(n, sizeof(struct ask *));
    a->hosts = calloc(n, sizeof(*a->hosts));
    if (!a->order || !a->hosts)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        a->order[i] = &asks[i];
    qsort(a->order, n, sizeof(struct ask *), by_host);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(a->order[i]->host, a->order[i - 1]->host) != 0)
            a->hosts[a->n_hosts++] = (struct host){.asking = a, .asks = &a->order[i]};
        a->hosts[a->n_hosts - 1].n++;
    }
    return 0;
}

static void asking_clear(struct asking *a)
{
    for (size_t i = 0; i < a->n_hosts; i++)
        host_clear(&a->hosts[i]);
    curl_slist_free_all(a->headers);
    curl_multi_cleanup(a->multi);
    free(a->hosts);
    free(a->order);
}

int ask_all(const struct ask_options *options, struct ask *asks, size_t n,
            void (*say)(const char *line), struct error *error)
{
    struct asking a = {.options = options, .say = say, .multi = curl_multi_init()};
    struct curl_slist *more = NULL;
    int r = -ENOMEM;

    if (!n)
        r = 0;
    a.headers = curl_slist_append(NULL, "Content-Type: text/plain");
    if (a.headers)
        more = curl_slist_append(a.headers, "Expect:");
    if (a.multi && more && n)
        r = part(&a, asks, n);
    if (r < 0)
        (void)error_set(error, r, "no memory");
    else if (n)
        r = run(&a, error);
    asking_clear(&a);
    return r;
}
