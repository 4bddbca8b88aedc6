/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/easy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/numbers.h"

int http_easy_create(CURL **ret, struct error *error)
{
    CURL *easy;

    errno = 0;
    easy = curl_easy_init();
    if (!easy && errno == ELIBACC)
        return error_set(error, -ELIBACC, "cannot load libcurl.so.4: install libcurl");
    if (!easy)
        return error_errno(error, -ENOMEM, "start libcurl");
    *ret = easy;
    return 0;
}

static void set_protocols(CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A transfer that has timed out does not wait for its resolver thread. */
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

/* Seconds, or a date. libcurl does this only since 7.66. `data` is not NUL-terminated. */
static void take_retry_after(const char *data, size_t n, struct http_headers *headers)
{
    static const char name[] = "Retry-After:";
    char value[64];
    time_t at, now = time(NULL);

    if (n < sizeof(name) || strncasecmp(data, name, sizeof(name) - 1) != 0)
        return;
    (void)snprintf(value, sizeof(value), "%.*s", (int)(n - sizeof(name) + 1),
                   data + sizeof(name) - 1);
    value[strcspn(value, "\r\n")] = '\0';
    if (number_parse(value + strspn(value, " \t"), 0, UINT32_MAX, &headers->retry_after_s) == 0)
        return;
    at = curl_getdate(value, NULL);
    headers->retry_after_s = at > now ? (uint64_t)(at - now) : 0;
}

static size_t take_header(char *data, size_t size, size_t n, void *arg)
{
    struct http_headers *headers = arg;
    size_t length = headers->mark ? strlen(headers->mark) : 0;

    headers->size += size * n;
    take_retry_after(data, size * n, headers);
    headers->marked |=
        length && size * n >= length && strncasecmp(data, headers->mark, length) == 0;
    return headers->size > HTTP_HEADERS_MAX ? 0 : size * n;
}

void http_easy_setup(CURL *easy, const struct http_setup *setup, struct http_headers *headers)
{
    set_protocols(easy);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "jobio");
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, headers);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, setup->connect_timeout_ms);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, setup->timeout_ms);
    if (!setup->environment_proxy)
        (void)curl_easy_setopt(easy, CURLOPT_PROXY, setup->proxy ? setup->proxy : "");
    if (setup->compressed)
        (void)curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    if (setup->ca_file)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, setup->ca_file);
    if (setup->cert_file)
        (void)curl_easy_setopt(easy, CURLOPT_SSLCERT, setup->cert_file);
    if (setup->key_file)
        (void)curl_easy_setopt(easy, CURLOPT_SSLKEY, setup->key_file);
    if (setup->userpwd)
        (void)curl_easy_setopt(easy, CURLOPT_USERPWD, setup->userpwd);
}

const char *http_easy_reason(const struct http_headers *headers, CURLcode code, const char *text)
{
    if (headers->size > HTTP_HEADERS_MAX)
        return "the headers of the answer are too long";
    return *text ? text : curl_easy_strerror(code);
}
