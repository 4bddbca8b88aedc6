/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history sink with databases that misbehave. Debian does not package Elasticsearch, OpenSearch
 * or VictoriaLogs, so _bulk is a fake that reads the requests, keeps the newest version of each
 * _id, and answers with a status for each item. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/deliver/fake_http.h"
#include "tests/deliver/feed.h"

#define HEAD(status) "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n"

static struct {
    struct fake_http http;
    struct json_object *documents; /* by _id */
    char answer[262144];
    unsigned items, largest;
    /* The status for a document of a job; 0: the correct one. */
    int (*verdict)(uint32_t jobid);
} bulk;

static struct json_object *field(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;

    (void)json_object_object_get_ex(object, name, &value);
    return value;
}

/* 201, 200 or 409 as Elasticsearch, with version_type external_gte and with create. */
static int keep(struct json_object *action, struct json_object *document)
{
    struct json_object *create = field(action, "create");
    struct json_object *meta = create ? create : field(action, "index");
    const char *id = json_object_get_string(field(meta, "_id"));
    struct json_object *old = field(bulk.documents, id);

    assert_non_null(id);
    if (old && create)
        return 409;
    if (!create) {
        assert_string_equal(json_object_get_string(field(meta, "version_type")), "external_gte");
        assert_int_equal(json_object_get_int64(field(meta, "version")),
                         json_object_get_int64(field(document, "version")));
        if (old && json_object_get_int64(field(old, "version")) >
                       json_object_get_int64(field(document, "version")))
            return 409;
    }
    (void)json_object_object_add(bulk.documents, id, json_object_get(document));
    return old ? 200 : 201;
}

static const char *respond(struct fake_http *fake, const char *body, size_t size)
{
    char *text = feed_gunzip(body, size), *save = NULL, *line = strtok_r(text, "\n", &save);
    char *items = calloc(1, sizeof(bulk.answer) - 256), *to = items;
    unsigned n = 0, bad = 0;

    (void)fake;
    for (; line; line = strtok_r(NULL, "\n", &save), n++) {
        struct json_object *action = json_tokener_parse(line), *document;
        int status;

        document = json_tokener_parse(strtok_r(NULL, "\n", &save));
        assert_non_null(document);
        status = bulk.verdict
                     ? bulk.verdict((uint32_t)json_object_get_int64(field(document, "jobid")))
                     : 0;
        if (!status)
            status = keep(action, document);
        bad += status > 299;
        to += sprintf(to, "%s{\"index\":{\"status\":%d%s}}", n ? "," : "", status,
                      status > 299 ? ",\"error\":{\"type\":\"x\",\"reason\":\"because\"}" : "");
        json_object_put(action);
        json_object_put(document);
    }
    bulk.items += n;
    bulk.largest = n > bulk.largest ? n : bulk.largest;
    (void)sprintf(bulk.answer,
                  HEAD("200 OK") "Content-Length: %zu\r\n\r\n{\"errors\":%s,\"items\":[%s]}",
                  strlen(items) + 22 + (bad ? 4 : 5), bad ? "true" : "false", items);
    free(items);
    free(text);
    return bulk.answer;
}

static int setup(void **state)
{
    feed_setup(state);
    memset(&bulk, 0, sizeof(bulk));
    bulk.documents = json_object_new_object();
    fake_http_start(&bulk.http, feed.loop, NULL);
    bulk.http.respond = respond;
    feed.options.kind = &bulk_kind;
    feed.options.to.table = "jobio";
    return 0;
}

static int teardown(void **state)
{
    feed_close();
    fake_http_stop(&bulk.http);
    json_object_put(bulk.documents);
    return feed_teardown(state);
}

static struct json_object *find(uint32_t jobid, const char *mount)
{
    json_object_object_foreach(bulk.documents, id, document)
    {
        (void)id;
        if (json_object_get_int64(field(document, "jobid")) == jobid &&
            !strcmp(json_object_get_string(field(document, "mount")), mount))
            return document;
    }
    return NULL;
}

static void test_documents(void **state)
{
    struct json_object *d, *read;

    (void)state;
    feed_put(7, STEP_BATCH, 5, NULL);
    feed_open(bulk.http.url);
    feed_until(!feed_stats().waiting);
    assert_string_equal(bulk.http.first_line,
                        "POST /_bulk?filter_path=errors,items.*.status,items.*.error.type,"
                        "items.*.error.reason HTTP/1.1");
    assert_int_equal(json_object_object_length(bulk.documents), 2);
    d = find(7, "/scratch");
    assert_non_null(d);
    assert_string_equal(json_object_get_string(field(d, "step_name")), "batch");
    assert_string_equal(json_object_get_string(field(d, "@timestamp")), "2026-09-21T14:13:31.294Z");
    assert_int_equal(json_object_get_int64(field(d, "read_bytes")), 5 * 4096);
    read = field(field(d, "io"), "read");
    assert_int_equal(json_object_get_int64(field(read, "requests")), 5);
    assert_int_equal(json_object_array_length(field(read, "size_log2")), 13);
    assert_int_equal(
        json_object_get_int64(field(field(field(field(d, "io"), "open"), "errno"), "ENOENT")), 2);
    /* The job ends: the same document, newer. */
    feed_end(7);
    step_queue_notify(feed.sink);
    feed_until(!feed_stats().waiting);
    assert_int_equal(json_object_object_length(bulk.documents), 2);
    assert_int_equal(json_object_get_int64(field(find(7, "/scratch"), "job_ended")), 1);
}

static void test_create(void **state)
{
    (void)state;
    feed.options.to.action = "create";
    feed.options.to.table = NULL;
    feed.options.to.parameters = "pipeline=jobio";
    feed_put(7, 0, 5, NULL);
    feed_open(bulk.http.url);
    feed_until(!feed_stats().waiting);
    assert_non_null(strstr(bulk.http.first_line, "&pipeline=jobio"));
    feed_end(7);
    step_queue_notify(feed.sink);
    feed_until(!feed_stats().waiting); /* 409: already stored */
    assert_int_equal(bulk.items, 4);
    assert_int_equal(feed.refused, 0);
    assert_int_equal(json_object_get_int64(field(find(7, "/scratch"), "job_ended")), 0);
}

/* Each item is judged alone: 409 is success, 429 and 503 are retried, 400 is set aside. */
static unsigned asked[16];

static int mixed(uint32_t jobid)
{
    static const int first[] = {[1] = 409, [2] = 429, [3] = 400, [4] = 503};

    asked[jobid]++;
    if (jobid == 3)
        return 400;
    return jobid <= 4 && asked[jobid] <= 2 ? first[jobid] : 0; /* two rows each */
}

static void test_item_errors(void **state)
{
    (void)state;
    memset(asked, 0, sizeof(asked));
    bulk.verdict = mixed;
    for (uint32_t n = 1; n <= 8; n++)
        feed_put(n, 0, n, NULL);
    feed_open(bulk.http.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed_stats().refused, 1);
    assert_non_null(strstr(feed.why, "because"));
    assert_null(find(3, "/scratch"));
    assert_null(find(1, "/scratch")); /* it answered that it has it */
    for (uint32_t n = 4; n <= 8; n++)
        assert_non_null(find(n, "/scratch"));
    assert_non_null(find(2, "/mnt/mine"));
    assert_true(feed_number("failures") >= 1);
    assert_int_equal(asked[8], 2); /* accepted rows are not sent again */
}

static int all_bad(uint32_t jobid)
{
    (void)jobid;
    return 400;
}

/* A sink that refuses all rows is probably misconfigured: after ten, no more are set aside. */
static void test_refuses_all(void **state)
{
    (void)state;
    bulk.verdict = all_bad;
    for (uint32_t n = 1; n <= 50; n++)
        feed_put(n, 0, 1, NULL);
    feed_open(bulk.http.url);
    feed_until(feed_number("failures") >= 2);
    assert_string_equal(feed_text("state"), "misconfigured");
    assert_int_equal(feed_stats().refused, 0);
    assert_int_equal(feed_stats().waiting, 50);
    bulk.verdict = NULL;
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed.delivered, 50);
}

/* One at a time: the first ten refusals are accepted. */
static void test_refuses_each(void **state)
{
    (void)state;
    bulk.verdict = all_bad;
    feed.options.limits.rows = 1;
    for (uint32_t n = 1; n <= 50; n++)
        feed_put(n, 0, 1, NULL);
    feed_open(bulk.http.url);
    feed_until(feed_number("failures") >= 2);
    assert_int_equal(feed_stats().refused, 10);
    assert_int_equal(feed_stats().waiting, 40);
}

static void assert_stays(const struct target_kind *kind, const char *answer, const char *say)
{
    feed_close();
    feed.options.kind = kind;
    bulk.http.respond = NULL;
    bulk.http.answer = answer;
    feed_open(bulk.http.url);
    feed_until(feed_number("failures") >= 1);
    if (!strstr(feed_text("last_error"), say))
        print_error("%s\n", feed_text("last_error"));
    assert_non_null(strstr(feed_text("last_error"), say));
    assert_int_equal(feed_stats().waiting, 1);
    assert_int_equal(feed_stats().refused, 0);
}

static void test_nonsense(void **state)
{
    (void)state;
    feed_put(1, 0, 1, NULL);
    assert_stays(&clickhouse_kind, HEAD("200 OK") "Content-Length: 0\r\n\r\n",
                 "no answer of Click");
    assert_stays(&clickhouse_kind, HEAD("200 OK") "Content-Length: 2\r\n\r\nhi", "hi");
    assert_stays(&clickhouse_kind,
                 HEAD("200 OK") "X-ClickHouse-Query-Id: 1\r\nContent-Length: 2\r\n\r\nhi", "hi");
    assert_stays(&clickhouse_kind, HEAD("204 No Content") "\r\n", "204");
    assert_stays(&clickhouse_kind,
                 HEAD("500 x") "X-ClickHouse-Query-Id: 1\r\nContent-Length: 28\r\n\r\n"
                               "Code: 252, too many parts...",
                 "Code: 252");
    assert_stays(&clickhouse_kind, HEAD("302 Found") "Location: /x\r\nContent-Length: 0\r\n\r\n",
                 "302");
    assert_stays(&bulk_kind, HEAD("200 OK") "Content-Length: 0\r\n\r\n", "no answer to a _bulk");
    assert_stays(&bulk_kind, HEAD("200 OK") "Content-Length: 4\r\n\r\nnull", "null");
    assert_stays(&bulk_kind,
                 HEAD("200 OK") "Content-Length: 27\r\n\r\n{\"errors\":false,\"items\":[]}",
                 "no answer to a _bulk");
    feed.options.timeout_ns = SECOND;
    assert_stays(&bulk_kind, HEAD("200 OK") "Content-Length: 100\r\n\r\n{\"errors\":fa", "");
    feed_close();
    bulk.http.respond = respond;
    feed_open(bulk.http.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(json_object_object_length(bulk.documents), 2);
}

static unsigned large;

static const char *too_large(struct fake_http *fake, const char *body, size_t size)
{
    const char *answer = respond(fake, body, size);

    if (bulk.largest <= 8)
        return answer;
    bulk.largest = 0;
    large++;
    json_object_put(bulk.documents);
    bulk.documents = json_object_new_object();
    return HEAD("413 Too Large") "Content-Length: 0\r\n\r\n";
}

static void test_too_large(void **state)
{
    (void)state;
    large = 0;
    bulk.http.respond = too_large;
    for (uint32_t n = 1; n <= 10; n++)
        feed_put(n, 0, 1, NULL);
    feed_open(bulk.http.url);
    feed_until(!feed_stats().waiting);
    assert_true(large >= 2);
    assert_int_equal(feed_stats().refused, 0);
    assert_int_equal(feed_number("failures"), 0);
    assert_int_equal(feed.delivered, 10);
}

static void test_retry_after(void **state)
{
    uint64_t began;

    (void)state;
    feed_put(1, 0, 1, NULL);
    bulk.http.respond = NULL;
    bulk.http.answer = HEAD("429 Too Many Requests") "Retry-After: 2\r\nContent-Length: 0\r\n\r\n";
    feed_open(bulk.http.url);
    feed_until(feed_number("failures") == 1);
    began = feed_now();
    bulk.http.respond = respond;
    feed_until(!feed_stats().waiting);
    assert_true(feed_now() - began > 19 * SECOND / 10);
}

/* One request at a time, in the order of the outbox, in batches below the limit. */
static uint32_t last_job;

static int in_order(uint32_t jobid)
{
    assert_true(jobid >= last_job);
    last_job = jobid;
    return 0;
}

static void test_limits_and_order(void **state)
{
    (void)state;
    last_job = 0;
    bulk.verdict = in_order;
    feed.options.limits = (struct step_limits){.rows = 100, .bytes = 20000};
    for (uint32_t n = 1; n <= 100; n++)
        feed_put(n, 0, 1, NULL);
    feed_open(bulk.http.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(bulk.items, 200);
    assert_true(feed.largest <= 20000);
    feed_close();
    feed.options.limits = (struct step_limits){.rows = 7, .bytes = 1 << 20};
    bulk.largest = 0;
    for (uint32_t n = 101; n <= 120; n++)
        feed_put(n, 0, 1, NULL);
    feed_open(bulk.http.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(bulk.largest, 6); /* steps are not split */
    assert_int_equal(last_job, 120);
}

static void test_options(void **state)
{
    static const struct {
        const char *url, *table, *parameters, *say;
    } bad[] = {
        {"ftp://x", "t", NULL, "http"},
        {"http://u:p@x", "t", NULL, "password"},
        {"http://x", "t; DROP TABLE u", NULL, "letters"},
        {"http://x", "", NULL, "needs a table"},
        {"http://x", "t", "a=1 b", "query of a URL"},
    };
    struct step_queue *sink = NULL;
    struct error error;

    (void)state;
    feed.options.kind = &clickhouse_kind;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        feed.options.to.url = bad[i].url;
        feed.options.to.table = bad[i].table;
        feed.options.to.parameters = bad[i].parameters;
        assert_int_equal(step_queue_create(&sink, feed.loop, &feed.options,
                                           &(struct step_queue_hooks){0}, &error),
                         -EINVAL);
        assert_non_null(strstr(error.text, bad[i].say));
        assert_null(sink);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_documents),   TEST(test_create),       TEST(test_item_errors),
        TEST(test_refuses_all), TEST(test_refuses_each), TEST(test_nonsense),
        TEST(test_too_large),   TEST(test_retry_after),  TEST(test_limits_and_order),
        TEST(test_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
