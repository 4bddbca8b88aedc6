/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include "config.h"

#include "cli/explain/llm.h"

#include <ctype.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/conf.h"
#include "cli/explain/llm_impl.h"
#include "cli/base/output.h"
#include "collector/http/access.h"
#include "collector/http/easy.h"
#include "collector/http/url.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/utf8.h"

#define KEY_MAX 4096
#define CONNECT_MS 10000L

void llm_close(struct llm *llm)
{
    if (!llm)
        return;
    if (llm->key)
        explicit_bzero(llm->key, strlen(llm->key));
    free(llm->key);
    free(llm->key_file);
    free(llm->url);
    free(llm->model);
    free(llm);
}
DEFINE_CLEANUP(struct llm, llm_close)
DEFINE_CLEANUP(struct settings, settings_destroy)

/* --- the address ------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A base address, with or without the version of the API, or the complete one. */
static char *complete_url(const char *text, const struct url *parts)
{
    _free_ char *path = strndup(text + parts->path, parts->path_end - parts->path);
    char *whole;

    if (!path || ends_with(path, "/chat/completions"))
        return path ? strdup(text) : NULL;
    for (size_t n = strlen(path); n && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    if (asprintf(&whole, "%.*s%s%s/chat/completions%s", (int)parts->path, text, path,
                 ends_with(path, "/v1") ? "" : "/v1", text + parts->path_end) < 0)
        return NULL;
    return whole;
}

static int parse_url(const char *text, struct llm *llm, struct error *error)
{
    struct url parts;
    int r = url_parse(text, &parts);

    if (parts.has_user)
        return error_set(error, -EINVAL, "--llm: a password in the address: use --key-file");
    if (r < 0 || !parts.web)
        return error_set(error, -EINVAL, "--llm \"%s\": use a URL like https://host/v1", text);
    llm->encrypted = parts.encrypted;
    llm->loopback = parts.loopback;
    llm->url = complete_url(text, &parts);
    return llm->url ? 0 : error_errno(error, -ENOMEM, "--llm");
}

/* --- the key ---------------------------------------------------------------------------------- */

/* Checks the open file, so that it is the one that is read. */
static int check_mode(int fd, const char *path, struct error *error)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_errno(error, -errno, "read the key in \"%s\"", path);
    if (!S_ISREG(st.st_mode))
        return error_set(error, -EINVAL, "the key file \"%s\" is not a regular file", path);
    if (st.st_mode & (S_IRWXO | S_IWGRP))
        return error_set(error, -EINVAL,
                         "the key file \"%s\" is readable by others: chmod 600 \"%s\"", path, path);
    return 0;
}

/* The first line, without the white space at its end, if it is a key. */
static size_t key_length(const char *text)
{
    size_t n = strcspn(text, "\n");

    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    for (size_t i = 0; i < n; i++)
        if (!isgraph((unsigned char)text[i]))
            return 0;
    return n <= KEY_MAX ? n : 0;
}

/* Does not block on a pipe, and leaves no copy of the key in another buffer. */
static int read_key(const char *path, char **ret, struct error *error)
{
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[KEY_MAX + 2] = "";
    size_t n;
    int rc;

    if (fd < 0)
        return error_errno(error, -errno, "read the key in \"%s\"", path);
    rc = check_mode(fd, path, error);
    if (rc < 0)
        return rc;
    if (read(fd, text, sizeof(text) - 1) < 0)
        return error_errno(error, -errno, "read the key in \"%s\"", path);
    n = key_length(text);
    if (n)
        *ret = strndup(text, n);
    explicit_bzero(text, sizeof(text));
    if (!n)
        return error_set(error, -EINVAL, "the first line of \"%s\" is not a key", path);
    return *ret ? 0 : error_errno(error, -ENOMEM, "read the key");
}

static int take_key(struct llm *llm, const char *path, struct error *error)
{
    llm->key_file = strdup(path);
    if (!llm->key_file)
        return error_errno(error, -ENOMEM, "read the key");
    return read_key(path, &llm->key, error);
}

/* --- jobio.conf ------------------------------------------------------------------------------- */

/* The site's key is for the site's endpoint. */
static bool is_sites(const struct llm *llm, const struct settings *settings)
{
    CLEANUP(llm_closep) struct llm *site = calloc(1, sizeof(*site));
    struct error error;

    return site && settings->explain.url && parse_url(settings->explain.url, site, &error) == 0 &&
           strcmp(site->url, llm->url) == 0;
}

static int fill(struct llm *llm, const struct llm_options *options, const struct settings *settings,
                struct error *error)
{
    bool site = strcmp(options->url, "site") == 0;
    const char *model = options->model ? options->model : settings->explain.model,
               *key_file = options->key_file;
    int rc;

    if (site && !settings->explain.url)
        return error_set(error, -EINVAL, "--llm site: [explain] url of jobio.conf is not set");
    rc = parse_url(site ? settings->explain.url : options->url, llm, error);
    if (rc < 0)
        return rc;
    if (!model)
        return error_set(error, -EINVAL, "no model is set: use --model NAME");
    llm->model = strdup(model);
    if (!llm->model)
        return error_errno(error, -ENOMEM, "--model");
    if (!key_file && is_sites(llm, settings))
        key_file = settings->explain.key_file;
    llm->timeout_ms = (long)(options->timeout_ns / NS_PER_MS);
    /* The document is about a person. */
    if (!llm->encrypted && !llm->loopback && !options->insecure)
        return error_set(
            error, -EINVAL,
            "the document would be sent to %s unencrypted: use https://, or --insecure", llm->url);
    return key_file ? take_key(llm, key_file, error) : 0;
}

int llm_open(const struct llm_options *options, struct llm **ret, struct error *error)
{
    CLEANUP(llm_closep) struct llm *llm = calloc(1, sizeof(*llm));
    CLEANUP(settings_destroyp) struct settings *settings = NULL;
    int rc =
        llm ? conf_read(options->config, &settings, error) : error_errno(error, -ENOMEM, "--llm");

    if (rc == 0)
        rc = fill(llm, options, settings, error);
    if (rc == 0)
        *ret = TAKE_PTR(llm);
    return rc;
}

const char *llm_model(const struct llm *llm)
{
    return llm->model;
}

char *llm_show(const struct llm *llm, const char *context)
{
    _free_ char *body = llm_request(llm->model, context), *url = utf8_sanitize(llm->url),
                *file = llm->key_file ? utf8_sanitize(llm->key_file) : NULL;
    char *text;

    if (!body || !url || (llm->key_file && !file))
        return NULL;
    if (asprintf(&text, "POST %s\nContent-Type: application/json\n%s%s%s\n%s", url,
                 file ? "Authorization: Bearer (the key in " : "", file ? file : "",
                 file ? ")\n" : "", body) < 0)
        return NULL;
    return text;
}

/* --- the conversation ------------------------------------------------------------------------- */

/* A proxy of the environment sees nothing of https, but everything of http. */
static void set_options(CURL *easy, const struct llm *llm, struct http_headers *received,
                        struct llm_answer *answer)
{
    const struct http_setup setup = {
        .environment_proxy = llm->encrypted,
        .compressed = true,
        .connect_timeout_ms = CONNECT_MS,
        .timeout_ms = llm->timeout_ms,
    };

    http_easy_setup(easy, &setup, received);
    curl_easy_setopt(easy, CURLOPT_URL, llm->url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_body_append);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer->body);
}

static struct curl_slist *headers(const struct llm *llm)
{
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json"), *more;
    _free_ char *line = NULL;

    if (!list || !llm->key)
        return list;
    if (asprintf(&line, "Authorization: Bearer %s", llm->key) < 0)
        line = NULL;
    more = line ? curl_slist_append(list, line) : NULL;
    if (line)
        explicit_bzero(line, strlen(line));
    if (!more)
        curl_slist_free_all(list);
    return more;
}

static int perform(CURL *easy, const struct llm *llm, const char *body, struct llm_answer *answer,
                   struct error *error)
{
    struct curl_slist *list = headers(llm);
    struct http_headers received = {.size = 0};
    char span[UNITS_SIZE];
    CURLcode code;

    if (!list)
        return error_errno(error, -ENOMEM, "ask %s", llm->url);
    set_options(easy, llm, &received, answer);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    code = curl_easy_perform(easy);
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->code);
    curl_slist_free_all(list);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return error_set(error, -EIO, "%s did not answer within %s s", llm->url,
                         units_seconds((uint64_t)llm->timeout_ms * NS_PER_MS, span));
    if (code != CURLE_OK && !answer->body.over)
        return error_set(error, -EIO, "%s does not answer: %s", llm->url,
                         http_easy_reason(&received, code, ""));
    return 0;
}

int llm_ask(struct llm *llm, const char *context, char **ret, struct error *error)
{
    _free_ char *body = llm_request(llm->model, context);
    struct llm_answer answer = {.body.max = LLM_ANSWER_MAX};
    CURL *easy = NULL;
    int rc =
        body ? http_easy_create(&easy, error) : error_errno(error, -ENOMEM, "ask %s", llm->url);

    if (rc == 0)
        rc = perform(easy, llm, body, &answer, error);
    if (rc == 0)
        rc = llm_answer_read(&answer, ret, error);
    if (rc < 0 && answer.code)
        (void)error_prefix(error, rc, "%s", llm->url);
    curl_easy_cleanup(easy);
    http_body_clear(&answer.body);
    return rc;
}
