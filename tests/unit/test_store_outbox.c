/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queue of a sink: in order, each step once, until the sink has it, even if retention runs. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/store/store_impl.h"

#define HOUR (3600 * SECOND)
#define MAX 16

static struct {
    int64_t ids[MAX];
    uint32_t steps[MAX];
    uint64_t reads[MAX];
    bool ended[MAX];
    size_t n, stop_at;
} seen;

static int64_t number(const char *sql)
{
    struct error error;
    int64_t value = -1;

    assert_ok(store_number(opened, sql, &value, &error), error);
    return value;
}

/* Step `n` of job 7, with `scale` reads, stored and queued. */
static void put_queued(uint32_t n, uint64_t scale, const char *sink)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    step_make(&step, n, NOW, scale);
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, sink, &error), error);
    step_account_clear(&step);
    job_account_destroy(job);
}

static int look(int64_t id, const struct job_account *job, void *arg)
{
    (void)arg;
    assert_true(seen.n < MAX);
    assert_int_equal(job->key.jobid, 7);
    assert_string_equal(job->user, "alice");
    assert_int_equal(job->n_steps, 1);
    assert_string_equal(job->steps[0].node, "n1");
    assert_int_equal(job->steps[0].mounts.n, 2);
    seen.ids[seen.n] = id;
    seen.steps[seen.n] = job->steps[0].step;
    seen.ended[seen.n] = job->ended;
    seen.reads[seen.n++] = job->steps[0].mounts.items[0].io.ops[IO_READ]->requests;
    return seen.n == seen.stop_at ? 5 : 0;
}

static int read_queue(const char *sink, int64_t after, uint32_t max)
{
    struct store *reader = open_reader(&directory);
    struct error error = {""};
    int r;

    seen.n = 0;
    r = store_outbox_read(reader, sink, after, max, look, NULL, &error);
    assert_ok(r, error);
    store_close(reader);
    return r;
}

static struct outbox_stats stats(const char *sink)
{
    struct outbox_stats ret;
    struct error error;

    assert_ok(store_outbox_stats(opened, sink, &ret, &error), error);
    return ret;
}

static void test_in_order(void **state)
{
    struct error error;
    int64_t first;

    (void)state;
    assert_int_equal(stats("history").oldest_ns, 0);
    for (uint32_t n = 0; n < 5; n++)
        put_queued(n, n + 1, "history");
    put_queued(9, 1, "peer:n2");
    assert_int_equal(read_queue("history", 0, 100), 0);
    assert_int_equal(seen.n, 5);
    for (uint32_t n = 0; n < 5; n++) {
        assert_int_equal(seen.steps[n], n);
        assert_int_equal(seen.reads[n], n + 1);
    }
    first = seen.ids[0];
    assert_int_equal(read_queue("history", seen.ids[1], 2), 0);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.steps[0], 2);
    seen.stop_at = 3;
    assert_int_equal(read_queue("history", 0, 100), 5);
    assert_int_equal(seen.n, 3);
    seen.stop_at = 0;
    assert_ok(store_outbox_drop(opened, (int64_t[]){first, 4711, first + 1}, 3, &error), error);
    assert_int_equal(read_queue("history", 0, 100), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.steps[0], 2);
    assert_int_equal(stats("history").waiting, 3);
    assert_true(stats("history").oldest_ns > 0);
    assert_int_equal(stats("peer:n2").waiting, 1);
}

/* An acknowledgement covers what was sent, not what was written meanwhile. */
static void test_written_again(void **state)
{
    struct error error;
    int64_t sent;

    (void)state;
    put_queued(0, 1, "history");
    put_queued(1, 2, "history");
    (void)read_queue("history", 0, 1);
    sent = seen.ids[0];
    put_queued(0, 7, "history");
    assert_ok(store_outbox_drop(opened, &sent, 1, &error), error);
    (void)read_queue("history", 0, 100);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.steps[0], 1);
    assert_int_equal(seen.steps[1], 0);
    assert_int_equal(seen.reads[1], 7);
    assert_ok(store_outbox_drop(opened, seen.ids, 2, &error), error);
    put_queued(0, 7, "history");
    (void)read_queue("history", 0, 100);
    assert_true(seen.ids[0] > sent + 2); /* never reused */
}

static bool has_more(int64_t id)
{
    struct error error;
    bool more = false;

    assert_ok(store_outbox_more(opened, id, &more, &error), error);
    return more;
}

/* A sink has the complete job only after its last step, and only if it has not refused a step. */
static void test_more_of_the_job(void **state)
{
    struct error error;

    (void)state;
    put_queued(0, 1, "peer:n2");
    put_queued(1, 1, "peer:n2");
    put_queued(2, 1, "history");
    (void)read_queue("peer:n2", 0, 100);
    assert_int_equal(seen.n, 2);
    assert_true(has_more(seen.ids[0]));
    assert_false(has_more(seen.ids[1]));
    assert_ok(store_outbox_refuse(opened, seen.ids[0], "why", &error), error);
    assert_true(has_more(seen.ids[1]));
    assert_ok(store_outbox_retry(opened, "peer:*", &error), error);
    assert_true(has_more(seen.ids[0]));
    assert_ok(store_outbox_drop(opened, seen.ids, 1, &error), error);
    assert_false(has_more(seen.ids[1]));
    assert_ok(store_outbox_forget(opened, "peer:*", &error), error);
    assert_int_equal(number("SELECT count(*) FROM outbox"), 1);
}

static void test_end_of_the_job(void **state)
{
    struct job_account *job;
    struct error error;

    (void)state;
    put_queued(3, 1, "history");
    put_queued(4, 1, "history");
    (void)read_queue("history", 0, 100);
    assert_ok(store_outbox_drop(opened, seen.ids, seen.n, &error), error);
    job = job_make(7, NOW);
    job->ended = true;
    job->end_ns = NOW + SECOND;
    put_rows(job, NULL, true);
    assert_ok(store_outbox_put_job(opened, &job->key, "history", &error), error);
    (void)read_queue("history", 0, 100);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.steps[0], 3);
    assert_true(seen.ended[0]);
    job->key.jobid = 8;
    put_rows(job, NULL, true);
    assert_ok(store_outbox_put_job(opened, &job->key, "history", &error), error); /* no step */
    assert_int_equal(stats("history").waiting, 1);
    job->key.jobid = 9;
    assert_int_equal(store_outbox_put_job(opened, &job->key, "history", &error), -ENOENT);
    job_account_destroy(job);
}

static void test_only_final_steps(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 1);
    put_rows(job, NULL, false);
    assert_int_equal(store_outbox_put(opened, &job->key, &step, "history", &error), -ENOENT);
    put_rows(job, &step, false);
    assert_int_equal(store_outbox_put(opened, &job->key, &step, "history", &error), -ENOENT);
    assert_int_equal(stats("history").waiting, 0);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* Steps of another node are stored but not queued. */
static void test_other_node(void **state)
{
    struct error error;

    (void)state;
    store_close(opened);
    assert_ok(
        store_open(&opened, &(struct store_options){.path = directory.store, .node = "n2"}, &error),
        error);
    put_queued(0, 1, "history"); /* it ran on n1 */
    put_queued(0, 2, "history");
    assert_int_equal(number("SELECT read_requests FROM job"), 2);
    assert_int_equal(number("SELECT final FROM step"), 1);
    assert_int_equal(number("SELECT count(*) FROM node_total"), 0);
    assert_int_equal(number("SELECT count(*) FROM outbox"), 0);
    store_close(opened);
    assert_ok(
        store_open(&opened, &(struct store_options){.path = directory.store, .node = "n1"}, &error),
        error);
    put_queued(1, 3, "history");
    assert_int_equal(number("SELECT sum(requests) FROM node_total WHERE op = 'read'"), 3);
    assert_int_equal(number("SELECT count(*) FROM outbox"), 1);
}

static void test_refused(void **state)
{
    struct error error;

    (void)state;
    for (uint32_t n = 0; n < 3; n++)
        put_queued(n, 1, "history");
    (void)read_queue("history", 0, 100);
    assert_ok(store_outbox_refuse(opened, seen.ids[1], "it's bad", &error), error);
    (void)read_queue("history", 0, 100);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.steps[1], 2);
    assert_int_equal(stats("history").waiting, 2);
    assert_int_equal(stats("history").refused, 1);
    assert_int_equal(number("SELECT count(*) FROM outbox WHERE refused = 'it''s bad'"), 1);
    put_queued(1, 2, "history"); /* changed numbers: queued again */
    assert_int_equal(stats("history").refused, 0);
    (void)read_queue("history", 0, 100);
    assert_ok(store_outbox_refuse(opened, seen.ids[0], "x", &error), error);
    assert_ok(store_outbox_retry(opened, "history", &error), error);
    assert_int_equal(stats("history").waiting, 3);
    assert_int_equal(stats("history").refused, 0);
}

static int take_sink(const char *sink, void *arg)
{
    (void)strcat(strcat(arg, sink), " ");
    return 0;
}

static void test_sinks(void **state)
{
    char names[64] = "";
    struct error error;

    (void)state;
    put_queued(0, 1, "peer:n2");
    put_queued(0, 1, "history");
    put_queued(1, 1, "history");
    assert_ok(store_outbox_sinks(opened, take_sink, names, &error), error);
    assert_string_equal(names, "history peer:n2 ");
    assert_ok(store_outbox_forget(opened, "history", &error), error);
    names[0] = '\0';
    assert_ok(store_outbox_sinks(opened, take_sink, names, &error), error);
    assert_string_equal(names, "peer:n2 ");
}

static void sweep_with(uint64_t keep_ns, uint64_t keep_bytes)
{
    const struct store_options options = {
        .path = directory.store, .keep_ns = keep_ns, .keep_bytes = keep_bytes};
    struct error error;
    bool more = true;

    store_close(opened);
    assert_ok(store_open(&opened, &options, &error), error);
    while (more)
        assert_ok(store_sweep(opened, NOW + 4 * HOUR, &more, &error), error);
}

static void end_job(void)
{
    struct job_account *job = job_make(7, NOW);

    job->ended = true;
    job->end_ns = NOW + SECOND;
    put_rows(job, NULL, true);
    job_account_destroy(job);
}

static void test_retention_by_age_waits(void **state)
{
    struct error error;

    (void)state;
    put_queued(0, 1, "history");
    put_queued(1, 1, "history");
    end_job();
    sweep_with(2 * HOUR, 0);
    assert_int_equal(number("SELECT count(*) FROM step"), 2);
    (void)read_queue("history", 0, 100);
    assert_ok(store_outbox_drop(opened, &seen.ids[0], 1, &error), error);
    sweep_with(2 * HOUR, 0);
    assert_int_equal(number("SELECT count(*) FROM step"), 2);
    assert_ok(store_outbox_refuse(opened, seen.ids[1], "bad", &error), error);
    sweep_with(2 * HOUR, 0); /* refused rows do not exempt a job from retention */
    assert_int_equal(number("SELECT count(*) FROM step"), 0);
    assert_int_equal(number("SELECT count(*) FROM outbox"), 0);
    assert_int_equal(stats("history").given_up, 1);
}

static void test_retention_by_size_counts(void **state)
{
    (void)state;
    put_queued(0, 1, "history");
    put_queued(1, 1, "history");
    put_queued(1, 1, "peer:n2");
    end_job();
    sweep_with(0, 1);
    assert_int_equal(number("SELECT count(*) FROM job"), 0);
    assert_int_equal(number("SELECT count(*) FROM outbox"), 0);
    assert_int_equal(stats("history").given_up, 2);
    assert_int_equal(stats("peer:n2").given_up, 1);
    put_queued(0, 1, "history");
    end_job();
    sweep_with(0, 1);
    assert_int_equal(stats("history").given_up, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_in_order),
        STORE_TEST(test_written_again),
        STORE_TEST(test_more_of_the_job),
        STORE_TEST(test_end_of_the_job),
        STORE_TEST(test_only_final_steps),
        STORE_TEST(test_other_node),
        STORE_TEST(test_refused),
        STORE_TEST(test_sinks),
        STORE_TEST(test_retention_by_age_waits),
        STORE_TEST(test_retention_by_size_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
