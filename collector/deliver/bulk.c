/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Elasticsearch, OpenSearch and others that accept a _bulk request. */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "collector/deliver/kinds.h"
#include "common/cleanup.h"
#include "common/tree.h"

/* By item of a _bulk. */
static const struct answer_code by_item[] = {
    {200, 299, ANSWER_OK},
    {409, 409, ANSWER_OK}, /* it has this version or a newer one */
    {429, 429, ANSWER_WAIT},
    {503, 503, ANSWER_WAIT}, /* a shard is away: it may be for all of its rows */
    {401, 401, ANSWER_MISCONFIGURED},
    {403, 404, ANSWER_MISCONFIGURED}, /* a right, or the index, that is missing */
    {400, 499, ANSWER_REFUSED},
};

/* {"create":{"status":400,"error":{"type":"..","reason":".."}}} */
static void judge_item(struct json_object *item, struct answer_verdict *ret)
{
    struct json_object *result = NULL, *status, *error;
    const char *reason;
    long code;

    ret->answer = ANSWER_RETRY;
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
    ret->answer = answer_of_code(by_item, ARRAY_SIZE(by_item), code, ANSWER_RETRY);
    if (!json_object_object_get_ex(result, "error", &error))
        error = NULL;
    reason = tree_print(error);
    answer_describe(ret->why, code, "", reason ? reason : "");
}

static enum answer judge_items(struct json_object *document, size_t rows,
                               struct answer_verdict *verdicts)
{
    struct json_object *errors, *items = NULL;
    bool failed;

    if (!json_object_is_type(document, json_type_object) ||
        !json_object_object_get_ex(document, "errors", &errors) ||
        !json_object_is_type(errors, json_type_boolean))
        return ANSWER_MISCONFIGURED;
    failed = json_object_get_boolean(errors);
    if (!json_object_object_get_ex(document, "items", &items))
        return failed ? ANSWER_MISCONFIGURED : ANSWER_OK;
    if (!json_object_is_type(items, json_type_array) || json_object_array_length(items) != rows)
        return ANSWER_MISCONFIGURED;
    for (size_t i = 0; i < rows; i++)
        judge_item(json_object_array_get_idx(items, i), &verdicts[i]);
    return ANSWER_PARTLY;
}

/* 200 means little: "errors" and the status of each row decide. */
static enum answer judge(struct target *target, const struct http_answer *answer, size_t rows,
                         struct answer_verdict *verdicts, char why[ANSWER_WHY_MAX])
{
    enum answer result = answer_of_rows_status(answer->code);
    struct json_object *document;

    (void)target;
    answer_describe(why, answer->code, "", answer->text);
    if (result != ANSWER_OK)
        return result;
    document = answer->body ? json_tokener_parse(answer->body) : NULL;
    result = judge_items(document, rows, verdicts);
    json_object_put(document);
    if (result == ANSWER_MISCONFIGURED)
        answer_describe(why, answer->code, ", but this is no answer to a _bulk", answer->text);
    return result;
}

/* Only the statuses are requested. */
static void write_url(FILE *out, const struct target_options *options)
{
    (void)fprintf(out, "/_bulk?filter_path=errors,items.*.status,items.*.error.type,"
                       "items.*.error.reason");
    if (options->parameters)
        (void)fprintf(out, "&%s", options->parameters);
}

static int write_step(FILE *out, const struct step_source *step,
                      const struct target_options *options, unsigned *rows, struct error *error)
{
    const struct sink_row_options format = {SINK_BULK, options->table, options->action};

    (void)error;
    return sink_row_write(out, step->job, (uint64_t)step->id, &format, rows);
}

const struct target_kind bulk_kind = {
    .name = "bulk",
    .method = "POST",
    .headers =
        (const char *const[]){"Content-Type: application/x-ndjson", "Content-Encoding: gzip", NULL},
    .compress = true,
    .verdicts = true,
    .write_url = write_url,
    .write_step = write_step,
    .judge = judge,
};
