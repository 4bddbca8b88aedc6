/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/answer.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/utf8.h"

struct span {
    long first, last;
    enum sink_outcome outcome;
};

static enum sink_outcome find(const struct span *table, size_t n, long code,
                              enum sink_outcome other)
{
    for (size_t i = 0; i < n; i++)
        if (code >= table[i].first && code <= table[i].last)
            return table[i].outcome;
    return other;
}

static const struct span by_status[] = {
    {200, 200, SINK_OK},
    {201, 399, SINK_MISCONFIGURED}, /* none of them stores rows */
    {400, 400, SINK_REFUSED},
    {408, 408, SINK_RETRY},
    {413, 413, SINK_REFUSED},
    {422, 422, SINK_REFUSED},
    {425, 425, SINK_WAIT},
    {429, 429, SINK_WAIT},
    {401, 499, SINK_MISCONFIGURED},
};

/* Error codes of ClickHouse (src/Common/ErrorCodes.cpp), which tell more than its status: old
 * releases answer 500 to a row that they cannot read. */
static const struct span by_code[] = {
    {6, 6, SINK_REFUSED},           /* CANNOT_PARSE_TEXT */
    {16, 16, SINK_MISCONFIGURED},   /* NO_SUCH_COLUMN_IN_TABLE */
    {25, 27, SINK_REFUSED},         /* CANNOT_PARSE_..., _QUOTED_STRING, _INPUT_ASSERTION_FAILED */
    {33, 33, SINK_REFUSED},         /* CANNOT_READ_ALL_DATA */
    {38, 38, SINK_REFUSED},         /* CANNOT_PARSE_DATE */
    {41, 41, SINK_REFUSED},         /* CANNOT_PARSE_DATETIME */
    {47, 47, SINK_MISCONFIGURED},   /* UNKNOWN_IDENTIFIER */
    {53, 53, SINK_REFUSED},         /* TYPE_MISMATCH */
    {60, 60, SINK_MISCONFIGURED},   /* UNKNOWN_TABLE */
    {62, 62, SINK_MISCONFIGURED},   /* SYNTAX_ERROR: of the name of the table */
    {69, 70, SINK_REFUSED},         /* ARGUMENT_OUT_OF_BOUND, CANNOT_CONVERT_TYPE */
    {72, 72, SINK_REFUSED},         /* CANNOT_PARSE_NUMBER */
    {73, 73, SINK_MISCONFIGURED},   /* UNKNOWN_FORMAT */
    {81, 81, SINK_MISCONFIGURED},   /* UNKNOWN_DATABASE */
    {115, 115, SINK_MISCONFIGURED}, /* UNKNOWN_SETTING */
    {117, 117, SINK_REFUSED},       /* INCORRECT_DATA */
    {130, 131, SINK_REFUSED},       /* CANNOT_READ_ARRAY_FROM_TEXT, TOO_LARGE_STRING_SIZE */
    {164, 164, SINK_MISCONFIGURED}, /* READONLY */
    {190, 190, SINK_REFUSED},       /* SIZES_OF_ARRAYS_DONT_MATCH */
    {192, 195,
     SINK_MISCONFIGURED},     /* UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, IP_ADDRESS... */
    {202, 202, SINK_WAIT},    /* TOO_MANY_SIMULTANEOUS_QUERIES */
    {225, 225, SINK_WAIT},    /* NO_ZOOKEEPER */
    {242, 243, SINK_WAIT},    /* TABLE_IS_READ_ONLY, NOT_ENOUGH_SPACE */
    {252, 252, SINK_WAIT},    /* TOO_MANY_PARTS */
    {285, 285, SINK_WAIT},    /* TOO_FEW_LIVE_REPLICAS */
    {349, 349, SINK_REFUSED}, /* CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN */
    {469, 469, SINK_REFUSED}, /* VIOLATED_CONSTRAINT */
    {497, 497, SINK_MISCONFIGURED}, /* ACCESS_DENIED */
    {516, 516, SINK_MISCONFIGURED}, /* AUTHENTICATION_FAILED */
    {999, 999, SINK_WAIT},          /* KEEPER_EXCEPTION */
};

/* By item of a _bulk. */
static const struct span by_item[] = {
    {200, 299, SINK_OK},
    {409, 409, SINK_OK}, /* it has this version or a newer one */
    {429, 429, SINK_WAIT},
    {503, 503, SINK_WAIT}, /* a shard is away: it may be for all of its rows */
    {401, 401, SINK_MISCONFIGURED},
    {403, 404, SINK_MISCONFIGURED}, /* a right, or the index, that is missing */
    {400, 499, SINK_REFUSED},
};

static void say(char why[SINK_WHY_MAX], long code, const char *what, const char *text)
{
    _free_ char *safe = utf8_sanitize(text);

    if (code)
        (void)snprintf(why, SINK_WHY_MAX, "HTTP %ld%s%s%s", code, what, safe && *safe ? ": " : "",
                       safe ? safe : "");
    else
        (void)snprintf(why, SINK_WHY_MAX, "%s", safe && *safe ? safe : "no answer");
}

/* "Code: 60, e.displayText() = ..." or, since 20.x, "Code: 60. DB::Exception: ..." */
static long exception_code(const char *text)
{
    long code = 0;

    return sscanf(text, "Code: %ld", &code) == 1 ? code : 0;
}

static enum sink_outcome judge_clickhouse(const struct http_answer *answer, char why[SINK_WHY_MAX])
{
    enum sink_outcome by_http = find(by_status, ARRAY_SIZE(by_status), answer->code, SINK_RETRY);
    long code = exception_code(answer->text);

    say(why, answer->code, "", answer->text);
    if (code)
        return find(by_code, ARRAY_SIZE(by_code), code, by_http == SINK_OK ? SINK_RETRY : by_http);
    if (by_http != SINK_OK)
        return by_http;
    if (answer->marked && !*answer->text) {
        *why = '\0';
        return SINK_OK;
    }
    say(why, answer->code, ", but this is no answer of ClickHouse to an INSERT", answer->text);
    return SINK_MISCONFIGURED;
}

/* {"create":{"status":400,"error":{"type":"..","reason":".."}}} */
static void judge_item(struct json_object *item, struct sink_verdict *ret)
{
    struct json_object *result = NULL, *status, *error;
    long code;

    ret->outcome = SINK_RETRY;
    (void)snprintf(ret->why, sizeof(ret->why), "an item without a status");
    if (!json_object_is_type(item, json_type_object))
        return;
    json_object_object_foreach(item, action, value)
    {
        (void)action;
        result = value;
    }
    if (!json_object_is_type(result, json_type_object) ||
        !json_object_object_get_ex(result, "status", &status))
        return;
    code = (long)json_object_get_int64(status);
    ret->outcome = find(by_item, ARRAY_SIZE(by_item), code, SINK_RETRY);
    if (!json_object_object_get_ex(result, "error", &error))
        error = NULL;
    say(ret->why, code, "",
        error ? json_object_to_json_string_ext(error, JSON_C_TO_STRING_PLAIN) : "");
}

static enum sink_outcome judge_items(struct json_object *document, size_t rows,
                                     struct sink_verdict *verdicts)
{
    struct json_object *errors, *items = NULL;
    bool failed;

    if (!json_object_is_type(document, json_type_object) ||
        !json_object_object_get_ex(document, "errors", &errors) ||
        !json_object_is_type(errors, json_type_boolean))
        return SINK_MISCONFIGURED;
    failed = json_object_get_boolean(errors);
    if (!json_object_object_get_ex(document, "items", &items))
        return failed ? SINK_MISCONFIGURED : SINK_OK;
    if (!json_object_is_type(items, json_type_array) || json_object_array_length(items) != rows)
        return SINK_MISCONFIGURED;
    for (size_t i = 0; i < rows; i++)
        judge_item(json_object_array_get_idx(items, i), &verdicts[i]);
    return SINK_PARTLY;
}

static enum sink_outcome judge_bulk(const struct http_answer *answer, size_t rows,
                                    struct sink_verdict *verdicts, char why[SINK_WHY_MAX])
{
    enum sink_outcome outcome = find(by_status, ARRAY_SIZE(by_status), answer->code, SINK_RETRY);
    struct json_object *document;

    say(why, answer->code, "", answer->text);
    if (outcome != SINK_OK)
        return outcome;
    document = answer->body ? json_tokener_parse(answer->body) : NULL;
    outcome = judge_items(document, rows, verdicts);
    json_object_put(document);
    if (outcome == SINK_OK || outcome == SINK_PARTLY)
        *why = '\0';
    else
        say(why, answer->code, ", but this is no answer to a _bulk", answer->text);
    return outcome;
}

enum sink_outcome sink_answer_judge(enum sink_format format, const struct http_answer *answer,
                                    size_t rows, struct sink_verdict *verdicts,
                                    char why[SINK_WHY_MAX])
{
    if (!answer->code) {
        say(why, 0, "", answer->text);
        if (answer->too_long)
            return SINK_TOO_LONG;
        return answer->misconfigured ? SINK_MISCONFIGURED : SINK_RETRY;
    }
    return format == SINK_CLICKHOUSE ? judge_clickhouse(answer, why)
                                     : judge_bulk(answer, rows, verdicts, why);
}
