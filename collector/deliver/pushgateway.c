/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Pushgateway: one group for each node, which every push replaces. */
#include "collector/deliver/pushgateway.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/deliver/kinds.h"
#include "common/cleanup.h"

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

/* /metrics/job/jobio/cluster/C/instance/I. What a path cannot contain goes as label@base64. */
static void write_url(FILE *out, const struct target_options *options)
{
    fputs("/metrics/job/jobio", out);
    put_label(out, "cluster", options->cluster);
    put_label(out, "instance", options->instance);
}

enum answer pushgateway_judge(struct target *target, const struct http_answer *answer, size_t rows,
                              struct answer_verdict *verdicts, char why[ANSWER_WHY_MAX])
{
    static const struct answer_code table[] = {
        /* 202: queued unchecked; 204: what VictoriaMetrics answers */
        {200, 200, ANSWER_OK},
        {202, 202, ANSWER_OK},
        {204, 204, ANSWER_OK},
        {300, 399, ANSWER_MISCONFIGURED},
        {401, 401, ANSWER_MISCONFIGURED},
        {403, 405, ANSWER_MISCONFIGURED},
        {407, 407, ANSWER_MISCONFIGURED},
        {408, 408, ANSWER_RETRY},
        {429, 429, ANSWER_RETRY},
        {400, 499, ANSWER_REFUSED},
    };

    (void)target, (void)rows, (void)verdicts;
    answer_describe(why, answer->code, "", answer->text);
    /* A login page, or the start page of a web server, has stored nothing. */
    if (answer->code >= 200 && answer->code < 300 &&
        answer->text[strspn(answer->text, " \r\n")] != '\0')
        return ANSWER_MISCONFIGURED;
    return answer_of_code(table, ARRAY_SIZE(table), answer->code, ANSWER_RETRY);
}

static bool claims(const char *url)
{
    (void)url;
    return true;
}

const struct target_kind pushgateway_kind = {
    .name = "pushgateway",
    .method = "PUT",
    .remove = "DELETE",
    .headers = pushgateway_headers,
    .compress = true,
    .claims = claims,
    .write_url = write_url,
    .write_node = report_prometheus,
    .judge = pushgateway_judge,
};
