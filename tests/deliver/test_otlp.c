/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces to an OpenTelemetry collector, which is a fake: what is sent, and what its answers mean.
 */
#define _GNU_SOURCE /* asprintf */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/daemon/trace_batch.h"
#include "collector/deliver/otlp.h"
#include "collector/deliver/step_batch.h"
#include "collector/trace/outbox.h"
#include "common/cleanup.h"
#include "tests/deliver/fake_http.h"
#include "tests/deliver/feed.h"

#define ANSWER(status, headers, length, body) \
    "HTTP/1.1 " status "\r\n" headers "Content-Length: " length "\r\n\r\n" body
#define TAKEN ANSWER("200 OK", "Content-Type: application/json\r\n", "2", "{}")
#define SPANS 10 /* of each step */
#define REQUESTS 64

static struct {
    struct fake_http http;
    char directory[600];
    struct trace_outbox *outbox;
    struct otlp_answers answers;
    size_t spans_max; /* of a request */
    uint64_t unreadable;
    size_t refused_spans;
    unsigned messages;
    const char *first, *then; /* the answers to the first request and to others */
    uint64_t at_ns[REQUESTS];
    unsigned seen[8]; /* spans of each step, by its number */
    char last[8192];  /* the body of the last request */
} rig;

/* --- the collector ---------------------------------------------------------------------------- */

static struct json_object *member(struct json_object *o, const char *key)
{
    struct json_object *value = NULL;

    assert_true(json_object_object_get_ex(o, key, &value));
    return value;
}

static struct json_object *first_of(struct json_object *list)
{
    assert_true(json_object_is_type(list, json_type_array));
    assert_int_equal(json_object_array_length(list), 1);
    return json_object_array_get_idx(list, 0);
}

/* The start of a span has the number of its step: put(). */
static void count_spans(struct json_object *document)
{
    struct json_object *spans = member(
        first_of(member(first_of(member(document, "resourceSpans")), "scopeSpans")), "spans");

    for (size_t i = 0; i < json_object_array_length(spans); i++) {
        struct json_object *span = json_object_array_get_idx(spans, i);
        const char *name = json_object_get_string(member(span, "name"));
        uint64_t start = json_object_get_uint64(member(span, "startTimeUnixNano"));

        if (!strcmp(name, "write"))
            rig.seen[(start - 1000000) / 1000]++;
    }
}

/* An answer of 200; until the next call. */
static const char *ok(const char *body)
{
    static char answer[512];

    (void)snprintf(
        answer, sizeof(answer),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        strlen(body), body);
    return answer;
}

static const char *respond(struct fake_http *http, const char *body, size_t size)
{
    char *text = feed_gunzip(body, size);
    struct json_object *document = json_tokener_parse(text);
    const char *answer = http->requests == 1 && rig.first ? rig.first : rig.then;

    assert_non_null(document);
    if (http->requests <= REQUESTS)
        rig.at_ns[http->requests - 1] = feed_now();
    if (!strncmp(answer, "HTTP/1.1 200", 12))
        count_spans(document);
    (void)snprintf(rig.last, sizeof(rig.last), "%s", text);
    json_object_put(document);
    free(text);
    return answer;
}

/* --- jobiod ----------------------------------------------------------------------------------- */

static void read_next(int64_t after, const struct step_limits *limits,
                      const struct step_format *format, void *arg)
{
    struct step_batch *batch = NULL;
    struct error error;
    int r = trace_batch_read(rig.outbox, after, rig.spans_max, &batch, &rig.unreadable, &error);

    (void)limits, (void)format, (void)arg;
    step_queue_provide(feed.sink, r, batch, &error);
}

static void on_delivered(const int64_t *ids, size_t n, void *arg)
{
    struct error error;

    (void)arg;
    feed.delivered += (unsigned)n;
    assert_ok(trace_outbox_settle(rig.outbox, ids, n, &error), error);
}

static void on_refused(int64_t id, const char *why, void *arg)
{
    struct error error;

    (void)arg;
    feed.refused++;
    rig.refused_spans += trace_outbox_spans(rig.outbox, id);
    (void)snprintf(feed.why, sizeof(feed.why), "%s", why);
    assert_ok(trace_outbox_settle(rig.outbox, &id, 1, &error), error);
}

static void hear(enum log_level level, const char *text, void *arg)
{
    size_t length = strlen(feed.said);

    (void)arg;
    (void)snprintf(feed.said + length, sizeof(feed.said) - length, "%d %s\n", (int)level, text);
}

static void on_message(const char *message, void *arg)
{
    (void)message, (void)arg;
    rig.messages++;
}

static void open_sink(const char *url)
{
    const struct step_queue_hooks hooks = {read_next, on_delivered, on_refused, hear, NULL};
    struct error error;

    rig.outbox = trace_outbox_create(rig.directory);
    feed.options.to = (struct target_options){.url = url, .answer_max = 1000};
    assert_ok(step_queue_create(&feed.sink, feed.loop, &feed.options, &hooks, &error), error);
    step_queue_start(feed.sink);
}

static void close_sink(void)
{
    feed_close();
    trace_outbox_destroy(rig.outbox);
    rig.outbox = NULL;
}

/* A step with one process and SPANS spans. */
static void put(uint32_t number)
{
    const struct trace_directory traces = {rig.directory, 1 << 20, 0, true};
    struct span spans[SPANS] = {{0}};
    struct trace_process process = {.pid = 7, .comm = "app"};
    struct step_trace step = {
        .trace = {.spans = spans,
                  .n_spans = SPANS,
                  .processes = &process,
                  .n_processes = 1,
                  .real_ns = 1000000},
        .cluster = (char *)"c1",
        .node = (char *)"n1",
        .jobid = 12,
        .step = number,
        .start_ns = 1000000 + number * 1000,
        .end_ns = 1000000 + number * 1000 + 500,
    };
    uint64_t undelivered;
    struct error error;

    for (unsigned i = 0; i < SPANS; i++)
        spans[i] = (struct span){.start_ns = number * 1000 + i,
                                 .time_ns = 1,
                                 .name = "write",
                                 .mount = "/scratch",
                                 .pid = 7,
                                 .tid = 7};
    assert_ok(trace_directory_put(&traces, &step, &undelivered, &error), error);
}

static uint64_t waiting(void)
{
    struct trace_outbox_stats stats;
    struct error error;

    assert_ok(trace_outbox_stats(rig.outbox, &stats, &error), error);
    return stats.waiting;
}

static int setup(void **state)
{
    static unsigned n;

    feed_setup(state);
    memset(&rig, 0, sizeof(rig));
    (void)snprintf(rig.directory, sizeof(rig.directory), "/tmp/jobio-otlp-%d-%u", (int)getpid(),
                   n++);
    rig.spans_max = 100;
    rig.then = TAKEN;
    rig.answers.on_message = on_message;
    fake_http_start(&rig.http, feed.loop, NULL);
    rig.http.respond = respond;
    feed.options.kind = &otlp_kind;
    feed.options.kind_arg = &rig.answers;
    feed.options.what = "traces to";
    return 0;
}

static int teardown(void **state)
{
    _free_ char *command = NULL;

    close_sink();
    fake_http_stop(&rig.http);
    assert_true(asprintf(&command, "rm -rf %s", rig.directory) > 0);
    assert_int_equal(system(command), 0);
    return feed_teardown(state);
}

static void assert_seen(uint32_t number, unsigned times)
{
    assert_int_equal(rig.seen[number], times * SPANS);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_taken(void **state)
{
    (void)state;
    put(1);
    put(2);
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_seen(1, 1);
    assert_seen(2, 1);
    assert_int_equal(feed_number("rows"), 2 * (SPANS + 2)); /* the step, the process */
    assert_int_equal(rig.messages, 0);
    assert_string_equal(rig.http.first_line, "POST /v1/traces HTTP/1.1");
    put(3); /* another look finds it */
    step_queue_notify(feed.sink);
    feed_until(!waiting());
    assert_seen(3, 1);
    assert_int_equal(rig.http.requests, 3);
}

static void test_path(void **state)
{
    char url[128];

    (void)state;
    put(1);
    (void)snprintf(url, sizeof(url), "%s/otlp/traces", rig.http.url);
    open_sink(url);
    feed_until(!waiting());
    assert_string_equal(rig.http.first_line, "POST /otlp/traces HTTP/1.1");
    close_sink();
    put(2);
    (void)snprintf(url, sizeof(url), "%s/", rig.http.url);
    open_sink(url);
    feed_until(!waiting());
    assert_string_equal(rig.http.first_line, "POST /v1/traces HTTP/1.1");
}

/* Each request is a document with a part of the spans; a restart repeats the trace. */
static void test_parts(void **state)
{
    (void)state;
    rig.spans_max = 5;
    put(1);
    open_sink(rig.http.url);
    feed_until(rig.http.requests == 2);
    close_sink();
    assert_true(rig.seen[1] < SPANS);
    memset(rig.seen, 0, sizeof(rig.seen));
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_seen(1, 1);
    assert_int_equal(feed_number("steps"), 3);
}

/* What is put while parts of another trace are sent does not wait for the next look. */
static void test_put_meanwhile(void **state)
{
    (void)state;
    feed.options.poll_ns = 3600 * SECOND;
    rig.spans_max = 5;
    put(1);
    open_sink(rig.http.url);
    feed_until(rig.http.requests == 1);
    put(2);
    step_queue_notify(feed.sink);
    feed_until(!waiting());
    assert_seen(1, 1);
    assert_seen(2, 1);
}

static void test_partial_success(void **state)
{
    (void)state;
    rig.first =
        ok("{\"partialSuccess\":{\"rejectedSpans\":\"4\",\"errorMessage\":\"no \\u0001\"}}");
    put(1);
    put(2);
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_int_equal(rig.http.requests, 2); /* it is not sent again */
    assert_int_equal(rig.answers.rejected, 4);
    assert_int_equal(rig.messages, 1);
    assert_non_null(strstr(rig.answers.message, "4 of 12 spans rejected: no "));
    assert_null(strchr(rig.answers.message, '\001'));
    assert_string_equal(feed_text("state"), "ok");
}

/* A warning: all spans were taken. */
static void test_message_only(void **state)
{
    (void)state;
    rig.then = ok("{\"partialSuccess\":{\"errorMessage\":\"deprecated field\"}}");
    put(1);
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_int_equal(rig.answers.rejected, 0);
    assert_int_equal(rig.messages, 1);
    assert_non_null(strstr(rig.answers.message, "deprecated field"));
}

static void test_odd_partial_success(void **state)
{
    static const char *const bodies[] = {
        "",
        "{\"partialSuccess\":{}}",
        "{\"partialSuccess\":null}",
        "{\"partialSuccess\":{\"rejectedSpans\":\"-5\"}}",
        "{\"partialSuccess\":{\"rejectedSpans\":[1]}}",
    };

    (void)state;
    for (uint32_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        rig.then = ok(bodies[i]);
        put(i);
        open_sink(rig.http.url);
        feed_until(!waiting());
        close_sink();
        assert_seen(i, 1);
    }
    assert_int_equal(rig.answers.rejected, 0);
    rig.then = ok("{\"partialSuccess\":{\"rejectedSpans\":\"99999\"}}");
    put(7);
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_int_equal(rig.answers.rejected, SPANS + 2);
}

static void test_retry_after(void **state)
{
    (void)state;
    rig.first = ANSWER("429 Too Many", "Retry-After: 1\r\n", "0", "");
    put(1);
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_int_equal(rig.http.requests, 2);
    assert_true(rig.at_ns[1] - rig.at_ns[0] >= SECOND);
    assert_seen(1, 1);
    assert_int_equal(feed.refused, 0);
}

/* However long it lasts, no trace is at fault. */
static void test_unavailable(void **state)
{
    static const char *const answers[] = {
        ANSWER("429 x", "", "0", ""), ANSWER("502 x", "", "0", ""), ANSWER("503 x", "", "0", ""),
        ANSWER("504 x", "", "0", "")};

    (void)state;
    feed.options.backoff_ns = feed.options.slow_ns = SECOND / 100;
    for (uint32_t i = 0; i < ARRAY_SIZE(answers); i++) {
        unsigned before = rig.http.requests;

        rig.then = answers[i];
        put(i);
        open_sink(rig.http.url);
        feed_until(rig.http.requests >= before + 12);
        assert_string_equal(feed_text("state"), "backoff");
        rig.then = TAKEN;
        feed_until(!waiting());
        close_sink();
        assert_seen(i, 1);
    }
    assert_int_equal(feed.refused, 0);
}

static void test_refused(void **state)
{
    static const char *const answers[] = {ANSWER("400 x", "", "4", "ouch"),
                                          ANSWER("413 x", "", "0", ""),
                                          ANSWER("422 x", "", "0", "")};

    (void)state;
    for (uint32_t i = 0; i < ARRAY_SIZE(answers); i++) {
        unsigned before = rig.http.requests;

        rig.then = answers[i];
        put(i);
        open_sink(rig.http.url);
        feed_until(!waiting());
        assert_int_equal(rig.http.requests, before + 1);
        assert_int_equal(feed.refused, i + 1);
        assert_int_equal(feed_number("refusals"), 1);
        assert_int_equal(rig.refused_spans, (i + 1) * (SPANS + 2));
        close_sink();
    }
}

/* Only the spans of this request. */
static void test_refused_part(void **state)
{
    (void)state;
    rig.spans_max = 5;
    rig.first = ANSWER("400 x", "", "4", "ouch");
    put(1);
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_int_equal(feed.refused, 1);
    assert_int_equal(rig.refused_spans, 5);
    assert_int_equal(rig.seen[1], SPANS - 3); /* that of the step and of the process were in it */
}

/* A request that fails alone is given up at last; the others are delivered. */
static const char *fail_step_3(struct fake_http *http, const char *body, size_t size)
{
    const char *answer = respond(http, body, size);

    return strstr(rig.last, "\"step 3\"") ? ANSWER("500 x", "", "0", "") : answer;
}

static void test_poison(void **state)
{
    (void)state;
    feed.options.backoff_ns = feed.options.slow_ns = SECOND / 100;
    rig.http.respond = fail_step_3;
    put(3);
    put(1);
    open_sink(rig.http.url);
    for (uint32_t i = 0; waiting(); i++) {
        put(i % 2 ? 1 : 2);
        step_queue_notify(feed.sink);
        for (uint64_t end = feed_now() + SECOND / 10; feed_now() < end && waiting();)
            feed_step();
        assert_true(i < 200);
    }
    assert_int_equal(feed.refused, 1);
    assert_true(rig.seen[1] >= SPANS);
}

/* A proxy, a login page, another server: an operator must act, and nothing is lost. */
static void test_no_collector(void **state)
{
    static const char *const answers[] = {ANSWER("200 OK", "", "13", "<html></html>"),
                                          ANSWER("200 OK", "", "2", "[]"),
                                          ANSWER("200 OK", "", "2", "{\""),
                                          ANSWER("301 x", "", "0", ""),
                                          ANSWER("401 x", "", "0", ""),
                                          ANSWER("404 x", "", "0", ""),
                                          ANSWER("415 x", "", "0", "")};

    (void)state;
    put(1);
    for (uint32_t i = 0; i < ARRAY_SIZE(answers); i++) {
        rig.then = answers[i];
        open_sink(rig.http.url);
        feed_until(feed_number("failures") >= 2);
        assert_string_equal(feed_text("state"), "misconfigured");
        assert_int_equal(waiting(), 1);
        close_sink();
    }
    assert_int_equal(feed.delivered, 0);
    assert_int_equal(feed.refused, 0);
}

static void test_slow_and_long(void **state)
{
    char answer[2200] = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n";

    (void)state;
    feed.options.timeout_ns = SECOND / 5;
    put(1);
    rig.then = TAKEN;
    rig.http.byte_ms = 100; /* it has the spans, but its answer takes longer than the timeout */
    open_sink(rig.http.url);
    feed_until(feed_number("failures") >= 2);
    assert_string_equal(feed_text("state"), "backoff");
    rig.http.byte_ms = 0;
    memset(answer + strlen(answer), ' ', 2000); /* longer than answer_max */
    rig.then = answer;
    feed_until(feed_number("failures") >= 5);
    assert_int_equal(waiting(), 1);
    rig.then = TAKEN;
    feed_until(!waiting());
    assert_int_equal(feed.refused, 0);
}

static void put_torn(void)
{
    char file[700];
    FILE *out;

    (void)snprintf(file, sizeof(file), "%s/0.0.0.0.0" TRACE_UNDELIVERED, rig.directory);
    out = fopen(file, "w");
    assert_non_null(out);
    (void)fputs("torn", out);
    assert_int_equal(fclose(out), 0);
}

static void test_files_that_are_no_traces(void **state)
{
    (void)state;
    put(1);
    put_torn();
    open_sink(rig.http.url);
    feed_until(!waiting());
    assert_seen(1, 1);
    assert_int_equal(rig.unreadable, 1);
    put(2);
    step_queue_notify(feed.sink);
    feed_until(rig.seen[2]);
    assert_int_equal(rig.unreadable, 1);
}

/* As on a file system that is read-only: it must not be looked at again and again. */
static void test_file_that_cannot_be_renamed(void **state)
{
    struct step_batch *batch = NULL;
    char other[700];
    struct error error;

    (void)state;
    assert_int_equal(mkdir(rig.directory, 0700), 0);
    put_torn();
    (void)snprintf(other, sizeof(other), "%s/0.0.0.0.0", rig.directory);
    assert_int_equal(mkdir(other, 0700), 0);
    open_sink(rig.http.url);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            trace_batch_read(rig.outbox, 0, rig.spans_max, &batch, &rig.unreadable, &error),
            -EISDIR);
    assert_int_equal(rig.unreadable, 0);
    assert_int_equal(rmdir(other), 0);
    put(1);
    step_queue_notify(feed.sink);
    feed_until(!waiting());
    assert_seen(1, 1);
    assert_int_equal(rig.unreadable, 1);
}

#define OTLP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OTLP_TEST(test_taken),
        OTLP_TEST(test_path),
        OTLP_TEST(test_parts),
        OTLP_TEST(test_put_meanwhile),
        OTLP_TEST(test_partial_success),
        OTLP_TEST(test_message_only),
        OTLP_TEST(test_odd_partial_success),
        OTLP_TEST(test_retry_after),
        OTLP_TEST(test_unavailable),
        OTLP_TEST(test_refused),
        OTLP_TEST(test_refused_part),
        OTLP_TEST(test_poison),
        OTLP_TEST(test_no_collector),
        OTLP_TEST(test_slow_and_long),
        OTLP_TEST(test_files_that_are_no_traces),
        OTLP_TEST(test_file_that_cannot_be_renamed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
