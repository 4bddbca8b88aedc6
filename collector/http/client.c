/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/http/client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "collector/http/easy.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

/* Bytes to read of a body that is not kept. */
#define SKIP_MAX (1u << 20)

struct transfer {
    LIST_ENTRY(transfer) link;
    struct http_client *client;
    CURL *easy;
    struct curl_slist *headers;
    void *body;
    http_done_f done;
    void *arg;
    size_t length, kept, skipped, answer_max;
    char *kept_body; /* NUL-terminated; NULL: the body is empty or not kept */
    struct http_headers received;
    char error[CURL_ERROR_SIZE];
    struct http_answer answer;
};

struct http_client {
    sd_event *loop;
    sd_event_source *timer;
    CURLM *multi;
    LIST_HEAD(, transfer) transfers;
    char *ca_file, *cert_file, *key_file, *userpwd, *proxy;
    struct http_setup setup; /* borrows the strings above */
};

static void transfer_destroy(struct transfer *transfer)
{
    if (transfer->easy) {
        (void)curl_multi_remove_handle(transfer->client->multi, transfer->easy);
        curl_easy_cleanup(transfer->easy);
    }
    curl_slist_free_all(transfer->headers);
    free(transfer->body);
    free(transfer->kept_body);
    free(transfer);
}

/* Errors that a retry does not fix. */
static bool is_misconfigured(CURLcode code)
{
    switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return true;
    default:
        return false;
    }
}

static void transfer_finish(struct transfer *transfer, CURLcode code)
{
    struct http_answer *answer = &transfer->answer;

    answer->marked = transfer->received.marked;
    if (code == CURLE_OK) {
        (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &answer->code);
        answer->retry_after_s = transfer->received.retry_after_s;
        answer->body = transfer->kept_body;
        answer->size = transfer->kept;
    } else {
        answer->misconfigured = is_misconfigured(code);
        snprintf(answer->text, sizeof(answer->text), "%.*s", HTTP_TEXT_MAX,
                 answer->too_long ? "the answer is too long"
                                  : http_easy_reason(&transfer->received, code, transfer->error));
    }
    LIST_REMOVE(transfer, link);
    transfer->done(answer, transfer->arg);
    transfer_destroy(transfer);
}

static void client_reap(struct http_client *client)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left))) {
        struct transfer *transfer = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        transfer_finish(transfer, message->data.result);
    }
}

static int on_socket(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
    struct http_client *client = arg;
    int what = 0, running;

    (void)source;
    if (revents & EPOLLIN)
        what |= CURL_CSELECT_IN;
    if (revents & EPOLLOUT)
        what |= CURL_CSELECT_OUT;
    if (revents & (EPOLLERR | EPOLLHUP))
        what |= CURL_CSELECT_ERR;
    (void)curl_multi_socket_action(client->multi, fd, what, &running);
    client_reap(client);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct http_client *client = arg;
    int running;

    (void)source;
    (void)usec;
    (void)curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    client_reap(client);
    return 0;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *assigned)
{
    struct http_client *client = arg;
    sd_event_source *source = assigned;
    uint32_t events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        sd_event_source_disable_unref(source);
        return curl_multi_assign(client->multi, fd, NULL) == CURLM_OK ? 0 : -1;
    }
    if (what & CURL_POLL_IN)
        events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        events |= EPOLLOUT;
    if (source)
        return sd_event_source_set_io_events(source, events) < 0 ? -1 : 0;
    if (sd_event_add_io(client->loop, &source, fd, events, on_socket, client) < 0)
        return -1;
    return curl_multi_assign(client->multi, fd, source) == CURLM_OK ? 0 : -1;
}

static int want_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct http_client *client = arg;
    uint64_t usec;

    (void)multi;
    if (timeout_ms < 0)
        return sd_event_source_set_enabled(client->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
    usec = clock_ns(CLOCK_MONOTONIC) / 1000;
    if (sd_event_source_set_time(client->timer, usec + (uint64_t)timeout_ms * 1000) < 0)
        return -1;
    return sd_event_source_set_enabled(client->timer, SD_EVENT_ONESHOT) < 0 ? -1 : 0;
}

static bool keep(struct transfer *transfer, const char *data, size_t length)
{
    char *grown;

    if (length > transfer->answer_max - transfer->kept) {
        transfer->answer.too_long = true;
        return false;
    }
    grown = realloc(transfer->kept_body, transfer->kept + length + 1);
    if (!grown)
        return false;
    memcpy(grown + transfer->kept, data, length);
    transfer->kept += length;
    grown[transfer->kept] = '\0';
    transfer->kept_body = grown;
    return true;
}

/* Read the rest of a body that is not kept, so that the connection can be reused, but not a body
 * without end. */
static bool skip(struct transfer *transfer, size_t length)
{
    transfer->skipped += length;
    transfer->answer.too_long = transfer->skipped > SKIP_MAX;
    return !transfer->answer.too_long;
}

/* Keep the start of the body for the operator. A body that starts with NUL is not empty. */
static size_t take_text(char *data, size_t size, size_t n, void *arg)
{
    struct transfer *transfer = arg;
    size_t room = HTTP_TEXT_MAX - transfer->length, length = size * n;

    for (size_t i = 0; i < length && i < room; i++)
        transfer->answer.text[transfer->length++] = data[i] ? data[i] : '?';
    if (!(transfer->answer_max ? keep(transfer, data, length) : skip(transfer, length)))
        return 0;
    return length;
}

static int client_init(struct http_client *client, sd_event *loop,
                       const struct http_client_options *options)
{
    const struct http_access *access = &options->access;
    int rc;

    client->loop = sd_event_ref(loop);
    LIST_INIT(&client->transfers);
    if (text_copy(&client->ca_file, access->ca_file) < 0 ||
        text_copy(&client->cert_file, access->cert_file) < 0 ||
        text_copy(&client->key_file, access->key_file) < 0 ||
        text_copy(&client->proxy, access->proxy) < 0)
        return -ENOMEM;
    client->setup = (struct http_setup){
        .ca_file = client->ca_file,
        .cert_file = client->cert_file,
        .key_file = client->key_file,
        .proxy = client->proxy,
        .connect_timeout_ms = (long)(options->connect_timeout_ns / NS_PER_MS),
        .timeout_ms = (long)(options->timeout_ns / NS_PER_MS),
    };
    rc = sd_event_add_time(loop, &client->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, client);
    if (rc < 0)
        return rc;
    rc = sd_event_source_set_enabled(client->timer, SD_EVENT_OFF);
    if (rc < 0)
        return rc;
    client->multi = curl_multi_init();
    if (!client->multi)
        return -ENOMEM;
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    /* In newer versions of libcurl, the cleanup of the multi handle waits for the resolver threads.
     */
#if HAVE_DECL_CURLMOPT_QUICK_EXIT
    curl_multi_setopt(client->multi, CURLMOPT_QUICK_EXIT, 1L);
#endif
    return 0;
}

int http_client_create(struct http_client **ret, sd_event *loop,
                       const struct http_client_options *options, struct error *error)
{
    struct http_client *client;
    int rc;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_errno(error, -ENOMEM, "libcurl");
    if (!(curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS))
        return error_set(error, -ENOTSUP, "this libcurl has no asynchronous resolver");
    client = calloc(1, sizeof(*client));
    if (!client)
        return error_errno(error, -ENOMEM, "HTTP client");
    rc = client_init(client, loop, options);
    rc = rc < 0 ? error_errno(error, rc, "HTTP client")
                : http_read_userpwd(options->access.userpwd_file, !options->access.insecure,
                                    &client->userpwd, error);
    if (rc < 0) {
        http_client_destroy(client);
        return rc;
    }
    client->setup.userpwd = client->userpwd;
    *ret = client;
    return 0;
}

void http_client_destroy(struct http_client *client)
{
    struct transfer *transfer;

    if (!client)
        return;
    while ((transfer = LIST_FIRST(&client->transfers))) {
        LIST_REMOVE(transfer, link);
        transfer_destroy(transfer);
    }
    if (client->multi)
        (void)curl_multi_cleanup(client->multi);
    sd_event_source_disable_unref(client->timer);
    sd_event_unref(client->loop);
    free(client->ca_file);
    free(client->cert_file);
    free(client->key_file);
    if (client->userpwd)
        explicit_bzero(client->userpwd, strlen(client->userpwd));
    free(client->userpwd);
    free(client->proxy);
    free(client);
}

const char *http_client_weakness(void)
{
    /* Without CURLOPT_QUICK_EXIT, a timed-out transfer waits for its resolver thread. */
#if LIBCURL_VERSION_NUM >= 0x075700
    if (curl_version_info(CURLVERSION_NOW)->version_num >= 0x075700)
        return NULL;
#endif
    return "libcurl before 7.87 waits for a name server that does not answer; give addresses";
}

static int transfer_headers(struct transfer *transfer, const char *const *headers)
{
    /* No "100 Continue" round trip. */
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");

    if (!list)
        return -ENOMEM;
    transfer->headers = list;
    for (; headers && *headers; headers++)
        if (!curl_slist_append(list, *headers))
            return -ENOMEM;
    return 0;
}

static void set_options(struct transfer *transfer, const struct http_request *request)
{
    struct http_setup setup = transfer->client->setup;
    CURL *easy = transfer->easy;

    if (request->timeout_ns)
        setup.timeout_ms = (long)(request->timeout_ns / NS_PER_MS);
    http_easy_setup(easy, &setup, &transfer->received);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_text);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    if (transfer->body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer->body);
    }
}

int http_client_send(struct http_client *client, const struct http_request *request,
                     http_done_f done, void *arg, struct error *error)
{
    struct transfer *transfer = calloc(1, sizeof(*transfer));

    if (!transfer) {
        free(request->body);
        return error_errno(error, -ENOMEM, "HTTP request");
    }
    transfer->client = client;
    transfer->body = request->body;
    transfer->answer_max = request->answer_max;
    transfer->done = done;
    transfer->arg = arg;
    transfer->received.mark = request->mark;
    transfer->easy = curl_easy_init();
    if (!transfer->easy || transfer_headers(transfer, request->headers) < 0)
        goto fail;
    set_options(transfer, request);
    if (curl_easy_setopt(transfer->easy, CURLOPT_URL, request->url) != CURLE_OK ||
        curl_multi_add_handle(client->multi, transfer->easy) != CURLM_OK)
        goto fail;
    LIST_INSERT_HEAD(&client->transfers, transfer, link);
    return 0;
fail:
    transfer_destroy(transfer);
    return error_errno(error, -ENOMEM, "HTTP request");
}
