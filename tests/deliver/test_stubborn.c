/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A history sink that always fails for some rows: the other rows must get through, and no row is
 * set aside because a sink is down. The databases are fakes. */
#define _GNU_SOURCE /* asprintf */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/deliver/poison.h"
#include "tests/deliver/fake_http.h"
#include "tests/deliver/feed.h"

#define HEAD(status) "HTTP/1.1 " status "\r\n"
#define TAKEN HEAD("200 OK") "X-ClickHouse-Query-Id: 1\r\nContent-Length: 0\r\n\r\n"
#define BROKEN HEAD("500 x") "Content-Length: 5\r\n\r\nouch!"
#define JOBS 300

static struct {
    struct fake_http http;
    const char *bad;   /* the answer to a request with a bad job */
    const char *every; /* the answer to each request, unless NULL */
    unsigned jobs[2];  /* the bad jobs */
    unsigned requests, taken[JOBS + 1];
    char *answer;
} fake;

static unsigned is_bad(unsigned job)
{
    return job && (job == fake.jobs[0] || job == fake.jobs[1]);
}

static const char *respond(struct fake_http *http, const char *body, size_t size)
{
    char *text = feed_gunzip(body, size);
    unsigned bad = 0;

    (void)http;
    fake.requests++;
    for (const char *at = text; (at = strstr(at, "\"jobid\":")); at++)
        bad += is_bad((unsigned)strtoul(at + 8, NULL, 10));
    for (const char *at = text; !bad && !fake.every && (at = strstr(at, "\"jobid\":")); at++)
        fake.taken[strtoul(at + 8, NULL, 10)]++;
    free(text);
    return fake.every ? fake.every : bad ? fake.bad : TAKEN;
}

static int setup(void **state)
{
    feed_setup(state);
    memset(&fake, 0, sizeof(fake));
    fake.bad = BROKEN;
    fake_http_start(&fake.http, feed.loop, NULL);
    fake.http.respond = respond;
    feed.options.backoff_ns = SECOND / 100;
    feed.options.slow_ns = SECOND / 20;
    return 0;
}

static int teardown(void **state)
{
    feed_close();
    fake_http_stop(&fake.http);
    return feed_teardown(state);
}

static void put_jobs(unsigned first, unsigned last)
{
    for (unsigned n = first; n <= last; n++)
        feed_put(n, 0, n, NULL);
}

/* Small batches, so that other steps are behind one that is retried. */
static void put_in_batches(void)
{
    feed.options.limits.rows = 20; /* ten steps */
    put_jobs(1, JOBS);
}

static void assert_all_but_bad(void)
{
    for (unsigned n = 1; n <= JOBS; n++)
        if (!fake.taken[n] == !is_bad(n))
            fail_msg("job %u was taken %u times", n, fake.taken[n]);
}

static void test_one_breaks_it(void **state)
{
    (void)state;
    fake.jobs[0] = 137;
    put_in_batches();
    feed_open(fake.http.url);
    feed_until(feed_stats().refused == 1 && !feed_stats().waiting);
    assert_all_but_bad();
    assert_int_equal(feed.refused, 1);
    assert_non_null(strstr(feed.why, "HTTP 500: ouch!"));
    assert_int_equal(feed_number("refusals"), 1);
    assert_int_equal(feed_number("held"), 0);
    assert_string_equal(feed_text("state"), "ok");
    assert_true(fake.requests < 100);
}

static void test_two_side_by_side(void **state)
{
    (void)state;
    fake.jobs[0] = 5;
    fake.jobs[1] = 6;
    put_in_batches();
    feed_open(fake.http.url);
    feed_until(feed_stats().refused == 2 && !feed_stats().waiting);
    assert_all_but_bad();
}

static void test_it_hangs_up(void **state)
{
    (void)state;
    fake.jobs[0] = 1;
    fake.bad = "";
    put_in_batches();
    feed_open(fake.http.url);
    feed_until(feed_stats().refused == 1 && !feed_stats().waiting);
    assert_all_but_bad();
}

/* Down for long periods, and up again: whenever it is up, it accepts all rows. */
static void test_down_blames_nobody(void **state)
{
    (void)state;
    put_jobs(1, JOBS);
    fake.every = BROKEN;
    feed_open(fake.http.url);
    feed_until(feed_number("failures") >= 60);
    assert_int_equal(feed_stats().waiting, JOBS);
    fake.every = NULL;
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed.refused, 0);
    assert_all_but_bad();
}

/* No other row passes, so it is unknown which row is bad; it does not block others. */
static void test_the_only_one(void **state)
{
    (void)state;
    fake.jobs[0] = 7;
    put_jobs(7, 7);
    feed_open(fake.http.url);
    feed_until(feed_number("failures") >= 40);
    assert_int_equal(feed.refused, 0);
    assert_int_equal(feed_number("held"), 1);
    for (unsigned n = 8; n < 8 + POISON_FAILURES; n++) {
        assert_int_equal(feed.refused, 0);
        put_jobs(n, n);
        feed_until(fake.taken[n]);
    }
    feed_until(feed_stats().waiting == 0);
    assert_int_equal(feed.refused, 1);
}

/* An answer that asks to wait is not a failure of a row. */
static void test_too_many_requests(void **state)
{
    static const char *const answers[] = {
        HEAD("429 x") "Content-Length: 0\r\n\r\n",
        HEAD("500 x") "X-ClickHouse-Query-Id: 1\r\nContent-Length: 29\r\n\r\n"
                      "Code: 252, too many parts ...",
    };

    (void)state;
    fake.jobs[0] = 7;
    feed.options.limits.rows = 2; /* one step */
    put_jobs(1, 12);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        fake.bad = answers[i];
        feed_open(fake.http.url);
        feed_until(feed_number("failures") >= 30);
        assert_int_equal(feed_number("held"), 0);
        assert_int_equal(feed_stats().waiting, 6); /* those behind it are not tried */
        assert_int_equal(feed.refused, 0);
        feed_close();
    }
}

static void test_slow_store(void **state)
{
    (void)state;
    feed.slow_rows = 20;
    put_jobs(1, 40);
    feed_open(fake.http.url);
    feed_until(!feed_stats().waiting);
    assert_true(feed_number("failures") >= 6); /* 1000, 500, 250, 125, 62, 31 */
    assert_int_equal(feed.delivered, 40);
}

/* --- _bulk ------------------------------------------------------------------------------------ */

static unsigned statuses[JOBS + 1]; /* by job */

static const char *bulk_respond(struct fake_http *http, const char *body, size_t size)
{
    char *text = feed_gunzip(body, size), *items = NULL;
    size_t length;
    FILE *out = open_memstream(&items, &length);
    unsigned rows = 0, bad = 0;

    (void)http;
    fake.requests++;
    for (const char *at = text; (at = strstr(at, "\"jobid\":")); at++, rows++) {
        unsigned job = (unsigned)strtoul(at + 8, NULL, 10);

        (void)fprintf(out, "%s{\"index\":{\"status\":%u}}", rows ? "," : "",
                      statuses[job] ? statuses[job] : 201);
        bad += statuses[job] != 0;
        fake.taken[job] += !statuses[job];
    }
    (void)fclose(out);
    free(text);
    free(fake.answer);
    assert_true(asprintf(&fake.answer,
                         HEAD("200 OK") "Content-Length: %zu\r\n\r\n{\"errors\":%s,\"items\":[%s]}",
                         length + 22 + (bad ? 4 : 5), bad ? "true" : "false", items) > 0);
    free(items);
    return fake.answer;
}

static int bulk_setup(void **state)
{
    setup(state);
    memset(statuses, 0, sizeof(statuses));
    fake.http.respond = bulk_respond;
    feed.options.kind = &bulk_kind;
    feed.options.to.table = "jobio";
    return 0;
}

static int bulk_teardown(void **state)
{
    free(fake.answer);
    return teardown(state);
}

static unsigned count_lines(const char *what)
{
    unsigned n = 0;

    for (const char *at = feed.said; (at = strstr(at, what)); at++)
        n++;
    return n;
}

/* Some rows are accepted each time, others must wait: the waits grow, the log does not. */
static void test_some_wait(void **state)
{
    uint64_t in_a_row;

    (void)state;
    feed.options.slow_ns = SECOND / 50;
    feed.options.limits.rows = 10;
    put_jobs(1, JOBS);
    statuses[1] = 429;
    feed_open(fake.http.url);
    feed_until(feed.delivered >= 100);
    in_a_row = feed_number("failures_in_a_row");
    assert_true(in_a_row >= 20);
    assert_string_equal(feed_text("state"), "backoff");
    assert_int_equal(count_lines("next try in"), 1);
    assert_int_equal(count_lines("works again"), 0);
    assert_int_equal(feed.refused, 0);
    statuses[1] = 0;
    feed_until(!feed_stats().waiting);
    assert_string_equal(feed_text("state"), "ok");
    assert_int_equal(count_lines("works again"), 1);
}

/* An item that fails in each answer while others are accepted. */
static void test_bad_item(void **state)
{
    (void)state;
    feed.options.limits.rows = 10; /* five steps */
    statuses[3] = 500;
    put_jobs(1, 100);
    feed_open(fake.http.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed.refused, 1);
    assert_non_null(strstr(feed.why, "HTTP 500"));
    assert_true(fake.requests <= 60);
}

/* It fails and works in turn: one log line each. */
static void test_flapping_is_said_once(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 20; n++) {
        uint64_t failures = feed.sink ? feed_number("failures") : 0;

        put_jobs(n, n);
        fake.http.respond = NULL;
        fake.http.answer = HEAD("503 x") "Content-Length: 0\r\n\r\n";
        if (feed.sink)
            step_queue_notify(feed.sink);
        else
            feed_open(fake.http.url);
        feed_until(feed_number("failures") > failures);
        fake.http.respond = bulk_respond;
        feed_until(!feed_stats().waiting);
    }
    assert_int_equal(count_lines("next try in"), 1);
    assert_int_equal(count_lines("works again"), 1);
}

/* An answer of 1 KB per step, as from a server without filter_path. */
static const char *verbose(struct fake_http *http, const char *body, size_t size)
{
    static char filler[JOBS * 1000 + 1];
    unsigned steps = 0;
    char *answer, *document;

    (void)bulk_respond(http, body, size);
    document = strchr(fake.answer, '{');
    for (const char *at = document; (at = strstr(at, "status")); at++)
        steps++;
    steps /= 2; /* two rows each */
    memset(filler, 'x', steps * 1000);
    filler[steps * 1000] = '\0';
    assert_true(asprintf(&answer, HEAD("200 OK") "Content-Length: %zu\r\n\r\n{\"took\":\"%s\",%s",
                         strlen(document) + 10 + strlen(filler), filler, document + 1) > 0);
    free(fake.answer);
    fake.answer = answer;
    return answer;
}

static void test_long_answers(void **state)
{
    (void)state;
    fake.http.respond = verbose;
    feed.options.to.answer_max = 4000;
    put_jobs(1, 12);
    feed_open(fake.http.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed.delivered, 12);
    assert_int_equal(feed.refused, 0);
    assert_int_equal(feed_number("failures"), 0);
    assert_int_equal(fake.requests, 1 + 2 + 4); /* 12, 6, 3 */
}

/* Too long for a single step: nothing is lost, and the reason is logged. */
static void test_endless_answer(void **state)
{
    (void)state;
    fake.http.respond = verbose;
    feed.options.to.answer_max = 700;
    put_jobs(1, 1);
    feed_open(fake.http.url);
    feed_until(feed_number("failures") >= 10);
    assert_string_equal(feed_text("state"), "backoff");
    assert_non_null(strstr(feed_text("last_error"), "too long"));
    assert_int_equal(feed_stats().waiting, 1);
    assert_int_equal(feed.refused, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define BULK(name) cmocka_unit_test_setup_teardown(name, bulk_setup, bulk_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_breaks_it), TEST(test_two_side_by_side),
        TEST(test_it_hangs_up),   TEST(test_down_blames_nobody),
        TEST(test_the_only_one),  TEST(test_too_many_requests),
        TEST(test_slow_store),    BULK(test_some_wait),
        BULK(test_bad_item),      BULK(test_flapping_is_said_once),
        BULK(test_long_answers),  BULK(test_endless_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
