/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include "collector/deliver/pushgateway.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/http/gzip.h"
#include "common/cleanup.h"

#define IMPORT "/api/v1/import/prometheus"

const char *const pushgateway_headers[] = {
    "Content-Type: text/plain; version=0.0.4; charset=utf-8",
    "Content-Encoding: gzip",
    NULL,
};

/* base64url without padding; an empty value is a single "=". */
static void put_base64(FILE *out, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strlen(text);

    if (left == 0)
        fputc('=', out);
    for (; left > 0; p += 3, left -= left < 3 ? left : 3) {
        unsigned bits =
            (unsigned)p[0] << 16 | (left > 1 ? (unsigned)p[1] << 8 : 0) | (left > 2 ? p[2] : 0);

        fputc(digits[bits >> 18], out);
        fputc(digits[bits >> 12 & 63], out);
        if (left > 1)
            fputc(digits[bits >> 6 & 63], out);
        if (left > 2)
            fputc(digits[bits & 63], out);
    }
}

static bool fits_a_path(const char *value)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

    return *value && value[strspn(value, plain)] == '\0' && strcmp(value, ".") != 0 &&
           strcmp(value, "..") != 0;
}

static void put_label(FILE *out, const char *label, const char *value)
{
    if (fits_a_path(value)) {
        fprintf(out, "/%s/%s", label, value);
        return;
    }
    fprintf(out, "/%s@base64/", label);
    put_base64(out, value);
}

static size_t trimmed(const char *url)
{
    size_t length = strlen(url);

    while (length > 0 && url[length - 1] == '/')
        length--;
    return length;
}

char *pushgateway_group_url(const char *url, const char *cluster, const char *instance)
{
    char *group = NULL;
    size_t size;
    FILE *out = open_memstream(&group, &size);

    if (!out)
        return NULL;
    fprintf(out, "%.*s/metrics/job/jobio", (int)trimmed(url), url);
    put_label(out, "cluster", cluster);
    put_label(out, "instance", instance);
    if (fclose(out) != 0) {
        free(group);
        return NULL;
    }
    return group;
}

bool pushgateway_is_import(const char *url)
{
    size_t length = trimmed(url), n = strlen(IMPORT);

    return length >= n && memcmp(url + length - n, IMPORT, n) == 0;
}

char *pushgateway_import_url(const char *url)
{
    char *import;

    if (asprintf(&import, "%.*s?extra_label=job=jobio", (int)trimmed(url), url) < 0)
        return NULL;
    return import;
}

int pushgateway_compress(const char *text, void **ret, size_t *size)
{
    return gzip_compress(text, strlen(text), ret, size);
}

enum push_outcome pushgateway_outcome(const struct http_answer *answer)
{
    static const struct {
        long first, last;
        enum push_outcome outcome;
    } table[] = {
        /* 202: queued unchecked; 204: what VictoriaMetrics answers. */
        {200, 200, PUSH_OK},
        {202, 202, PUSH_OK},
        {204, 204, PUSH_OK},
        {300, 399, PUSH_MISCONFIGURED},
        {401, 401, PUSH_MISCONFIGURED},
        {403, 405, PUSH_MISCONFIGURED},
        {407, 407, PUSH_MISCONFIGURED},
        {408, 408, PUSH_RETRY},
        {429, 429, PUSH_RETRY},
        {400, 499, PUSH_REJECTED},
    };

    if (answer->code == 0 && answer->misconfigured)
        return PUSH_MISCONFIGURED;
    /* A login page, the start page of a web server: it has taken nothing. */
    if (answer->code >= 200 && answer->code < 300 &&
        answer->text[strspn(answer->text, " \r\n")] != '\0')
        return PUSH_MISCONFIGURED;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (answer->code >= table[i].first && answer->code <= table[i].last)
            return table[i].outcome;
    return PUSH_RETRY;
}
