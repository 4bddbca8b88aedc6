/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/otlp.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "collector/deliver/kinds.h"
#include "common/cleanup.h"

/* The specification names four codes that may be retried. A request may be at fault for 400, 413,
 * 422 and 5xx; for others it is the setting or a proxy, so that an operator must act. Collectors
 * answer 200, and their official clients take each 2xx. */
static const struct answer_code by_code[] = {
    {200, 299, ANSWER_OK},   {300, 399, ANSWER_MISCONFIGURED}, {400, 400, ANSWER_REFUSED},
    {408, 408, ANSWER_WAIT}, {413, 413, ANSWER_REFUSED},       {422, 422, ANSWER_REFUSED},
    {429, 429, ANSWER_WAIT}, {401, 499, ANSWER_MISCONFIGURED}, {502, 504, ANSWER_WAIT},
};

/* A number of 64 bits is a text in JSON; more than the spans of the request is nonsense. */
static uint64_t read_rejected(struct json_object *partial, size_t spans)
{
    struct json_object *value;
    int64_t n = json_object_object_get_ex(partial, "rejectedSpans", &value)
                    ? json_object_get_int64(value)
                    : 0;

    return n < 0 ? 0 : (uint64_t)n > spans ? spans : (uint64_t)n;
}

static void note_partial(struct otlp_answers *answers, struct json_object *partial, size_t spans)
{
    uint64_t rejected = read_rejected(partial, spans);
    struct json_object *value;
    const char *text = json_object_object_get_ex(partial, "errorMessage", &value)
                           ? json_object_get_string(value)
                           : NULL;
    char said[ANSWER_WHY_MAX] = "";

    if (!rejected && (!text || !*text))
        return;
    if (text && *text)
        answer_describe(said, 0, "", text);
    answers->rejected += rejected;
    answers->messages++;
    (void)snprintf(answers->message, sizeof(answers->message),
                   "%" PRIu64 " of %zu spans rejected%s%.200s", rejected, spans, *said ? ": " : "",
                   said);
    if (answers->on_message)
        answers->on_message(answers->message, answers->arg);
}

/* {} or {"partialSuccess":{"rejectedSpans":"1","errorMessage":".."}}. Nothing else is an answer of
 * a collector; an empty one is, in protobuf. */
static bool read_answer(struct otlp_answers *answers, const char *body, size_t spans)
{
    struct json_object *document, *partial;
    bool ok;

    if (!body || !*body)
        return true;
    document = json_tokener_parse(body);
    ok = json_object_is_type(document, json_type_object);
    if (ok && answers && json_object_object_get_ex(document, "partialSuccess", &partial) &&
        json_object_is_type(partial, json_type_object))
        note_partial(answers, partial, spans);
    json_object_put(document);
    return ok;
}

static enum answer judge(struct target *target, const struct http_answer *answer, size_t rows,
                         struct answer_verdict *verdicts, char why[ANSWER_WHY_MAX])
{
    enum answer result = answer_of_code(by_code, ARRAY_SIZE(by_code), answer->code, ANSWER_RETRY);

    (void)verdicts;
    answer_describe(why, answer->code, "", answer->text);
    if (result != ANSWER_OK || read_answer(target->arg, answer->body, rows))
        return result;
    answer_describe(why, answer->code, ", but this is no answer of an OTLP collector",
                    answer->text);
    return ANSWER_MISCONFIGURED;
}

/* A path of the URL is used as it is: gateways have others. */
static void write_url(FILE *out, const struct target_options *options)
{
    const char *host = strstr(options->url, "://");
    const char *path = strchr(host ? host + 3 : options->url, '/');

    if (!path || !path[1])
        (void)fprintf(out, "/v1/traces");
}

const struct target_kind otlp_kind = {
    .name = "otlp",
    .method = "POST",
    .headers =
        (const char *const[]){"Content-Type: application/json", "Content-Encoding: gzip", NULL},
    .compress = true,
    .write_url = write_url,
    .judge = judge,
};
