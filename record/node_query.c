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

#include "collector/http/body.h"
#include "collector/http/easy.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/credential.h"
#include "common/text.h"
#include "common/tree.h"
#include "report/record/record.h"

#define PATH "/v1/record"

/* Queries without an answer in a row before a node is given up. */
#define SILENT_MAX 3

/* A node and its queries, which run one after the other. */
struct host {
    struct query_batch *batch;
    struct node_query **queries;
    size_t n, next;
    unsigned silent; /* timeouts in a row */
    CURL *easy;      /* NULL: no query is running */
    char *credential;
    struct http_body body;
    struct http_headers headers;
    char error[CURL_ERROR_SIZE];
};

struct query_batch {
    const struct node_query_options *options;
    void (*print_line)(const char *line);
    CURLM *multi;
    struct curl_slist *headers;
    struct node_query **order;
    struct host *hosts;
    size_t n_hosts, next, running;
};

/* --- payloads ------------------------------------------------------------------------------- */

static void make_id(char id[17])
{
    uint64_t number = 0;

    (void)!getrandom(&number, sizeof(number), 0);
    (void)snprintf(id, 17, "%016" PRIx64, number);
}

char *node_query_format(struct node_query *query, const char *cluster)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t);

    make_id(query->id);
    tree_put_u64(t, o, "version", 1);
    tree_put(t, o, "cluster", json_object_new_string(cluster));
    tree_put(t, o, "from", json_object_new_string("jobio-record"));
    tree_put(t, o, "to", json_object_new_string(query->host));
    tree_put(t, o, "id", json_object_new_string(query->id));
    tree_put_u64(t, o, "jobid", query->jobid);
    tree_put_u64(t, o, "restart", query->restart);
    return tree_text(tree_end(t, o));
}

static struct json_object *parse_json(const char *text, size_t size)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *o = NULL;

    if (tokener && size <= CREDENTIAL_PAYLOAD_MAX)
        o = json_tokener_parse_ex(tokener, text, (int)size);
    json_tokener_free(tokener);
    return o;
}

static bool has_number(struct json_object *o, const char *key, int64_t value)
{
    struct json_object *field = json_object_object_get(o, key);

    return json_object_is_type(field, json_type_int) && json_object_get_int64(field) == value;
}

static const char *get_text(struct json_object *o, const char *key)
{
    struct json_object *field = json_object_object_get(o, key);

    return json_object_is_type(field, json_type_string) ? json_object_get_string(field) : "";
}

/* Checked, because it is written to the accounting as it is. */
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

int node_query_parse_answer(struct node_query *query, const char *cluster, const char *payload,
                            size_t size, struct error *error)
{
    struct json_object *o = parse_json(payload, size);
    struct json_object *ended = json_object_object_get(o, "ended");
    int r = -EBADMSG;

    if (!json_object_is_type(o, json_type_object) || !has_number(o, "version", 1))
        (void)error_set(error, r, "its answer does not have version 1");
    else if (strcmp(get_text(o, "cluster"), cluster) != 0)
        (void)error_set(error, r,
                        "it is of cluster \"%.64s\", not \"%.64s\": set `cluster` in its "
                        "jobio.conf or --cluster here; the record is retried",
                        get_text(o, "cluster"), cluster);
    else if (strcmp(get_text(o, "from"), query->host) != 0 ||
             strcmp(get_text(o, "id"), query->id) != 0)
        (void)error_set(error, r, "its answer is to another query");
    else if (!has_number(o, "jobid", query->jobid) || !has_number(o, "restart", query->restart))
        (void)error_set(error, r, "it answered for another job");
    else if (!is_record(get_text(o, "record"), query->restart))
        (void)error_set(error, r, "job %u: its answer has no valid record", query->jobid);
    else
        r = 0;
    if (!r) {
        query->record = strdup(get_text(o, "record"));
        query->answer = json_object_get_boolean(ended) ? ANSWER_ENDED : ANSWER_RUNS;
        if (!query->record)
            r = error_set(error, -ENOMEM, "no memory");
    }
    json_object_put(o);
    return r;
}

static int open_answer(struct node_query *query, const char *cluster, const struct http_body *body,
                       struct error *error)
{
    _free_ char *payload = NULL;
    size_t size;
    struct credential_maker maker;
    int r;

    if (!body->text)
        return error_set(error, -EBADMSG, "its answer is empty");
    r = credential_open(NULL, body->text, &payload, &size, &maker, error);
    if (r < 0)
        return r;
    if (maker.uid != 0)
        return error_set(error, -EACCES, "its answer was not made by root");
    return node_query_parse_answer(query, cluster, payload, size, error);
}

/* --- one query ------------------------------------------------------------------------------ */

static CURL *make_easy(struct host *host, const char *url)
{
    const struct node_query_options *options = host->batch->options;
    long timeout_ms = (long)(options->timeout_ns / NS_PER_MS);
    const struct http_setup setup = {.connect_timeout_ms = timeout_ms, .timeout_ms = timeout_ms};
    CURL *easy = curl_easy_init();

    if (!easy)
        return NULL;
    host->headers = (struct http_headers){.size = 0};
    host->body.max = CREDENTIAL_TEXT_MAX;
    http_easy_setup(easy, &setup, &host->headers);
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, host->credential);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, host->batch->headers);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_body_append);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, &host->body);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, host->error);
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, host);
    return easy;
}

static int host_start_query(struct host *host, struct error *error)
{
    struct node_query *query = host->queries[host->next];
    const struct node_query_options *options = host->batch->options;
    _free_ char *payload = node_query_format(query, options->cluster);
    _free_ char *url = text_node_url(options->url, query->host, PATH);
    int r;

    if (!payload || !url)
        return error_set(error, -ENOMEM, "no memory");
    r = credential_make(NULL, 0, payload, strlen(payload), &host->credential, error); /* jobiod */
    if (r < 0)
        return r;
    host->easy = make_easy(host, url);
    if (!host->easy || curl_multi_add_handle(host->batch->multi, host->easy) != CURLM_OK) {
        curl_easy_cleanup(host->easy);
        host->easy = NULL;
        return error_set(error, -ENOMEM, "no memory");
    }
    host->batch->running++;
    return 0;
}

static void host_clear(struct host *host)
{
    if (host->easy) {
        (void)curl_multi_remove_handle(host->batch->multi, host->easy);
        curl_easy_cleanup(host->easy);
        host->easy = NULL;
        host->batch->running--;
    }
    free(host->credential);
    http_body_clear(&host->body);
    host->credential = NULL;
    *host->error = '\0';
}

static int host_read_answer(struct host *host, CURLcode result, struct error *error)
{
    struct node_query *query = host->queries[host->next];
    long code = 0;

    if (result != CURLE_OK)
        return error_set(error, -EHOSTUNREACH, "%s",
                         http_easy_reason(&host->headers, result, host->error));
    (void)curl_easy_getinfo(host->easy, CURLINFO_RESPONSE_CODE, &code);
    if (code == 404) {
        query->answer = ANSWER_UNKNOWN;
        return 0;
    }
    if (code != 200)
        return error_set(error, -EPROTO, "HTTP %ld: %.120s", code,
                         host->body.text ? host->body.text : "");
    return open_answer(query, host->batch->options->cluster, &host->body, error);
}

static void host_print(struct host *host, const char *text)
{
    char line[512];

    snprintf(line, sizeof(line), "%s: job %u (%zu of %zu): %s", host->queries[0]->host,
             host->queries[host->next]->jobid, host->next + 1, host->n, text);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c == 0x7f)
            *c = ' ';
    host->batch->print_line(line);
}

/* A single job may be too large to be answered in time. */
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

/* After an answer or a timeout: start the next query, unless the node is given up. */
static int host_finish_query(struct host *host, CURLcode result, struct error *error)
{
    struct error why;
    int r = host_read_answer(host, result, &why);

    host_clear(host);
    if (r == -ENOMEM)
        return error_set(error, r, "no memory");
    if (r < 0)
        host_print(host, why.text);
    if (is_silent(host, result))
        return 0;
    host->next++;
    return host->next < host->n ? host_start_query(host, error) : 0;
}

/* --- all nodes ------------------------------------------------------------------------------ */

static int start_hosts(struct query_batch *a, struct error *error)
{
    int r = 0;

    while (!r && a->next < a->n_hosts && a->running < a->options->parallel)
        r = host_start_query(&a->hosts[a->next++], error);
    return r;
}

static int finish_queries(struct query_batch *a, struct error *error)
{
    CURLMsg *message;
    int left, r = 0;

    while (!r && (message = curl_multi_info_read(a->multi, &left))) {
        struct host *host = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&host);
        r = host_finish_query(host, message->data.result, error);
    }
    return r;
}

static int run_queries(struct query_batch *a, struct error *error)
{
    const struct timespec pause = {0, 10000000};
    int still, descriptors, r = start_hosts(a, error);

    while (!r && a->running) {
        if (curl_multi_perform(a->multi, &still) != CURLM_OK ||
            curl_multi_wait(a->multi, NULL, 0, 1000, &descriptors) != CURLM_OK)
            return error_set(error, -EIO, "libcurl's loop failed");
        if (!descriptors) /* it does not wait for the thread that resolves a name */
            (void)nanosleep(&pause, NULL);
        r = finish_queries(a, error);
        if (!r)
            r = start_hosts(a, error);
    }
    return r;
}

static int compare_hosts(const void *pa, const void *pb)
{
    const struct node_query *const *a = pa, *const *b = pb;

    return strcmp((*a)->host, (*b)->host);
}

/* Sort the queries by host: each struct host has a part of `order`. */
static int group_by_host(struct query_batch *a, struct node_query *queries, size_t n)
{
    a->order = calloc(n, sizeof(struct node_query *));
    a->hosts = calloc(n, sizeof(*a->hosts));
    if (!a->order || !a->hosts)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        a->order[i] = &queries[i];
    qsort(a->order, n, sizeof(struct node_query *), compare_hosts);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(a->order[i]->host, a->order[i - 1]->host) != 0)
            a->hosts[a->n_hosts++] = (struct host){.batch = a, .queries = &a->order[i]};
        a->hosts[a->n_hosts - 1].n++;
    }
    return 0;
}

static void batch_clear(struct query_batch *a)
{
    for (size_t i = 0; i < a->n_hosts; i++)
        host_clear(&a->hosts[i]);
    curl_slist_free_all(a->headers);
    curl_multi_cleanup(a->multi);
    free(a->hosts);
    free(a->order);
}

int node_query_all(const struct node_query_options *options, struct node_query *queries, size_t n,
                   void (*print_line)(const char *line), struct error *error)
{
    struct query_batch a = {
        .options = options, .print_line = print_line, .multi = curl_multi_init()};
    struct curl_slist *more = NULL;
    int r = -ENOMEM;

    if (!n)
        r = 0;
    a.headers = curl_slist_append(NULL, "Content-Type: text/plain");
    if (a.headers)
        more = curl_slist_append(a.headers, "Expect:");
    if (a.multi && more && n)
        r = group_by_host(&a, queries, n);
    if (r < 0)
        (void)error_set(error, r, "no memory");
    else if (n)
        r = run_queries(&a, error);
    batch_clear(&a);
    return r;
}
