/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements to ClickHouse and their answers. */
#define _GNU_SOURCE /* asprintf */
#include "config.h"

#include "cli/source/clickhouse_impl.h"

#include <curl/curl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/conf.h"
#include "collector/http/client.h"
#include "collector/http/easy.h"
#include "common/cleanup.h"
#include "common/utf8.h"

#define TIMEOUT_MS 300000L /* of one query */
#define LINE_MAX_BYTES (16u << 20)

/* --- a statement ------------------------------------------------------------------------------ */

char *clickhouse_quote(const char *text)
{
    char *quoted = NULL;
    size_t size;
    FILE *out = open_memstream(&quoted, &size);

    if (!out)
        return NULL;
    (void)fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            (void)fputc('\\', out);
        (void)fputc(*text, out);
    }
    (void)fputc('\'', out);
    if (fclose(out) != 0) {
        free(quoted);
        return NULL;
    }
    return quoted;
}

static const struct clickhouse_value *find_value(const struct clickhouse_value *values, size_t n,
                                                 const char *at)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(at, values[i].name, strlen(values[i].name)))
            return &values[i];
    return NULL;
}

char *clickhouse_fill(const char *sql, const struct clickhouse_value *values, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    while (*sql) {
        const struct clickhouse_value *value = *sql == ':' ? find_value(values, n, sql + 1) : NULL;

        if (value) {
            (void)fputs(value->text, out);
            sql += 1 + strlen(value->name);
        } else {
            (void)fputc(*sql++, out);
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *clickhouse_cluster(const struct clickhouse *c)
{
    _free_ char *name = c->cluster ? clickhouse_quote(c->cluster) : NULL;
    char *text = NULL;

    if (!c->cluster)
        return strdup("");
    return name && asprintf(&text, "AND cluster = %s", name) >= 0 ? text : NULL;
}

/* --- the answer ------------------------------------------------------------------------------- */

struct answer {
    CURL *easy;
    struct http_headers headers;
    clickhouse_row_f each;
    void *arg;
    struct error *error;
    char *line;
    size_t length;
    int result;
    char text[HTTP_TEXT_MAX + 1]; /* of a failure */
};

/* A failure after the first rows ends the answer with a text or, from about 23.9, with
 * {"exception":"Code: ..."}. */
static int take_line(struct answer *answer)
{
    struct json_object *row = json_tokener_parse(answer->line), *failure = NULL;
    int r;

    if (!json_object_is_type(row, json_type_object) ||
        json_object_object_get_ex(row, "exception", &failure)) {
        const char *text = failure ? json_object_get_string(failure) : answer->line;
        _free_ char *safe = utf8_sanitize(text ? text : "");

        json_object_put(row);
        return error_set(answer->error, -EIO, "ClickHouse: %.200s", safe ? safe : "");
    }
    r = answer->each(row, answer->arg, answer->error);
    json_object_put(row);
    return r;
}

static int add_part(struct answer *answer, const char *data, size_t size)
{
    char *grown;

    if (answer->length + size > LINE_MAX_BYTES)
        return error_set(answer->error, -EIO, "ClickHouse: a row is longer than 16 MiB");
    grown = realloc(answer->line, answer->length + size + 1);
    if (!grown)
        return clickhouse_no_memory(answer->error);
    memcpy(grown + answer->length, data, size);
    answer->line = grown;
    answer->length += size;
    grown[answer->length] = '\0';
    return 0;
}

static int take_rows(struct answer *answer, const char *data, size_t size)
{
    while (size) {
        const char *end = memchr(data, '\n', size);
        size_t n = end ? (size_t)(end - data) : size;
        int r = add_part(answer, data, n);

        if (r == 0 && end && answer->length)
            r = take_line(answer);
        if (r < 0)
            return r;
        if (end)
            answer->length = 0;
        data += n + (end != NULL);
        size -= n + (end != NULL);
    }
    return 0;
}

int clickhouse_no_memory(struct error *error)
{
    return error_errno(error, -ENOMEM, "read the answer of ClickHouse");
}

/* With a status other than 200 the body is an error text. */
static size_t take(char *data, size_t size, size_t n, void *arg)
{
    struct answer *answer = arg;
    size_t room = HTTP_TEXT_MAX - strlen(answer->text);
    long code = 0;

    (void)curl_easy_getinfo(answer->easy, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200) {
        (void)strncat(answer->text, data, size * n < room ? size * n : room);
        return size * n;
    }
    answer->result = take_rows(answer, data, size * n);
    return answer->result < 0 ? 0 : size * n;
}

static void set_options(CURL *easy, const struct clickhouse *c, struct answer *answer)
{
    const struct http_setup setup = {
        .ca_file = c->settings->history.access.ca_file,
        .userpwd = c->userpwd,
        .proxy = c->settings->history.access.proxy,
        .compressed = true,
        .connect_timeout_ms = 10000L,
        .timeout_ms = TIMEOUT_MS,
    };

    http_easy_setup(easy, &setup, &answer->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
}

/* UNKNOWN_IDENTIFIER: the table lacks a column of this version. */
static bool is_older(const char *text)
{
    return !strncmp(text, "Code: 47", strlen("Code: 47"));
}

static int judge(struct answer *answer, CURLcode code, struct error *error)
{
    _free_ char *safe = utf8_sanitize(answer->text);
    long status = 0;

    if (answer->result < 0)
        return answer->result;
    if (code != CURLE_OK)
        return error_set(error, -EIO, "ClickHouse does not answer: %s",
                         http_easy_reason(&answer->headers, code, ""));
    (void)curl_easy_getinfo(answer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return error_set(
            error, -EIO, "ClickHouse: HTTP %ld: %s%s", status,
            is_older(answer->text) ? "its table was made by an older jobio, see upgrade.sql: " : "",
            safe ? safe : "");
    return answer->length ? take_line(answer) : 0; /* the last line may lack its newline */
}

static int perform(struct clickhouse *c, const char *url, const char *text, struct answer *answer,
                   struct error *error)
{
    int rc = http_easy_create(&answer->easy, error);

    if (rc < 0)
        return rc;
    set_options(answer->easy, c, answer);
    curl_easy_setopt(answer->easy, CURLOPT_URL, url);
    curl_easy_setopt(answer->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(text));
    curl_easy_setopt(answer->easy, CURLOPT_POSTFIELDS, text);
    return judge(answer, curl_easy_perform(answer->easy), error);
}

/* Numbers as numbers; by the setting, because a profile may have another. */
int clickhouse_ask(struct clickhouse *c, const char *sql, const struct clickhouse_value *values,
                   size_t n, clickhouse_row_f each, void *arg, struct error *error)
{
    struct answer answer = {.each = each, .arg = arg, .error = error};
    _free_ char *text = clickhouse_fill(sql, values, n), *url = NULL;
    size_t length = strlen(c->url);
    int r = -ENOMEM;

    while (length && c->url[length - 1] == '/')
        length--;
    if (text &&
        asprintf(&url, "%.*s/?output_format_json_quote_64bit_integers=0", (int)length, c->url) >= 0)
        r = perform(c, url, text, &answer, error);
    else
        (void)error_errno(error, r, "ask ClickHouse");
    if (answer.easy)
        curl_easy_cleanup(answer.easy);
    free(answer.line);
    return r;
}
