/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A target whose answers are believed, as the first node of a job is. The kind and the server are
 * fakes. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/deliver/fake_http.h"
#include "tests/deliver/feed.h"

#define REQUESTS 64

static struct fake_http http;
static enum answer verdicts[8]; /* on the rows of each answer, in order */
static enum answer whole;       /* ANSWER_PARTLY: the verdicts count */
static uint64_t arrived_ns[REQUESTS];

static int write_step(FILE *out, const struct step_source *step,
                      const struct target_options *options, unsigned *rows, struct error *error)
{
    (void)options, (void)error;
    *rows = 1;
    return fprintf(out, "%u\n", step->job->key.jobid) < 0 ? -EIO : 0;
}

static enum answer judge(struct target *target, const struct http_answer *answer, size_t rows,
                         struct answer_verdict *ret, char why[ANSWER_WHY_MAX])
{
    (void)target, (void)answer;
    (void)snprintf(why, ANSWER_WHY_MAX, "it was told so");
    for (size_t i = 0; i < rows; i++) {
        ret[i].answer = verdicts[i];
        (void)snprintf(ret[i].why, sizeof(ret[i].why), "it was told so");
    }
    return whole;
}

static const struct target_kind kind = {
    .name = "trusted",
    .method = "POST",
    .verdicts = true,
    .trusted = true,
    .write_step = write_step,
    .judge = judge,
};

static const char *respond(struct fake_http *fake, const char *body, size_t size)
{
    (void)fake, (void)body, (void)size;
    if (http.requests < REQUESTS)
        arrived_ns[http.requests] = feed_now();
    return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
}

static int setup(void **state)
{
    feed_setup(state);
    memset(verdicts, 0, sizeof(verdicts));
    memset(arrived_ns, 0, sizeof(arrived_ns));
    whole = ANSWER_PARTLY;
    fake_http_start(&http, feed.loop, NULL);
    http.respond = respond;
    feed.options.kind = &kind;
    feed.options.backoff_ns = SECOND / 10;
    feed.options.slow_ns = SECOND;
    return 0;
}

static int teardown(void **state)
{
    feed_close();
    fake_http_stop(&http);
    return feed_teardown(state);
}

static void open_with_jobs(unsigned n)
{
    for (unsigned i = 1; i <= n; i++)
        feed_put(i, 0, i, NULL);
    feed_open(http.url);
}

/* A server that works, but cannot take some rows yet, has not failed: neither these answers nor the
 * failures before them make the next wait longer. */
static void check_later(void)
{
    whole = ANSWER_WAIT;
    feed_until(feed_number("failures") >= 2);
    assert_int_equal(feed_number("failures_in_a_row"), 2);
    whole = ANSWER_PARTLY;
    for (unsigned i = 3; i < 12; i++) {
        feed_until(feed_number("failures") >= i);
        assert_int_equal(feed_number("failures_in_a_row"), 1);
    }
    whole = ANSWER_WAIT;
    feed_until(feed_number("failures") >= 12);
    assert_int_equal(feed_number("failures_in_a_row"), 2);
    assert_string_equal(feed_text("state"), "backoff");
    assert_int_equal(feed.refused, 0);
}

/* What was delivered with the same answer must leave the outbox first. */
static void check_waits(void)
{
    for (unsigned i = 4; i < 12; i++)
        if (arrived_ns[i] - arrived_ns[i - 1] < feed.options.backoff_ns / 2)
            fail_msg("request %u came after %u ms", i,
                     (unsigned)((arrived_ns[i] - arrived_ns[i - 1]) / 1000000));
}

static void test_all_later(void **state)
{
    (void)state;
    verdicts[0] = verdicts[1] = verdicts[2] = ANSWER_LATER;
    open_with_jobs(3);
    check_later();
    check_waits();
    assert_int_equal(feed.delivered, 0);
    whole = ANSWER_OK;
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed.delivered, 3);
}

/* Each time the first row is taken. */
static void test_some_later(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 8; i++)
        verdicts[i] = ANSWER_LATER;
    feed.options.limits.rows = 3;
    open_with_jobs(20);
    check_later();
    check_waits();
    assert_int_equal(feed.delivered, 9);
    whole = ANSWER_OK;
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed.delivered, 20);
}

/* The node may be about to get its certificate. */
static void test_no_tls(void **state)
{
    char url[64];

    (void)state;
    (void)snprintf(url, sizeof(url), "https://%s", strchr(http.url, '1'));
    feed.options.access.ca_file = "/dev/null";
    feed.options.slow_ns = 3600 * SECOND;
    feed_put(1, 0, 1, NULL);
    feed_open(url);
    feed_until(feed_number("failures") >= 3);
    assert_string_equal(feed_text("state"), "backoff");
    assert_int_equal(feed_number("last_code"), 0);
    assert_non_null(strstr(feed_text("last_error"), "/dev/null"));
    assert_true(feed_number("next_s") < 60);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_later),
        TEST(test_some_later),
        TEST(test_no_tls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
