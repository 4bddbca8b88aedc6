/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two threads of the store: order, shared transactions, back-pressure, time limits. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "collector/store/query.h"
#include "common/clock.h"
#include "collector/store/store_impl.h"
#include "collector/store/worker.h"
#include "collector/store/writer.h"

static struct writer *writer_open(size_t capacity, unsigned sweep_ms)
{
    struct writer *writer = NULL;
    struct error error;

    assert_ok(writer_create(&writer, open_store(&directory), capacity, sweep_ms, &error), error);
    return writer;
}

/* A request that writes one job, or behaves as its other fields say. */
struct request {
    uint32_t jobid;
    sem_t *started, *go; /* post the first, then wait for the second */
    int fail;            /* after the write */
    int64_t synchronous; /* PRAGMA synchronous in the request */
    unsigned calls;      /* of done */
    unsigned order;
    int result;
    struct error error;
};

static unsigned outcomes;

static int carry_out(struct store *store, void *arg, struct error *error)
{
    struct request *request = arg;
    struct job_account *job = job_make(request->jobid, NOW);
    int r;

    if (request->started)
        sem_post(request->started);
    if (request->go)
        sem_wait(request->go);
    r = store_number(store, "PRAGMA synchronous", &request->synchronous, error);
    if (r == 0)
        r = store_put_job(store, job, error);
    if (r == 0 && request->fail)
        r = error_set(error, request->fail, "as asked");
    job_account_destroy(job);
    return r;
}

static void hear(int result, const struct error *error, void *arg)
{
    struct request *request = arg;

    request->calls++;
    request->order = ++outcomes;
    request->result = result;
    request->error = *error;
}

static size_t count_jobs(void)
{
    struct store *reader = open_reader(&directory);
    struct store_stats stats;
    struct error error;

    assert_ok(store_stats(reader, &stats, &error), error);
    store_close(reader);
    return stats.jobs;
}

static void test_many_requests_share_a_commit(void **state)
{
    struct writer *writer = writer_open(0, 0);
    struct request requests[20] = {0};
    struct writer_stats stats;
    sem_t started, go;

    (void)state;
    outcomes = 0;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 0);
    requests[0].started = &started;
    requests[0].go = &go;
    for (unsigned i = 0; i < 20; i++) {
        requests[i].jobid = i + 1;
        assert_int_equal(writer_submit(writer, i > 0, carry_out, hear, &requests[i]), 0);
        if (i == 0)
            sem_wait(&started);
    }
    writer_stats(writer, &stats);
    assert_int_equal(stats.waiting, 20);
    sem_post(&go);
    assert_int_equal(writer_flush(writer, 10000), 0);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(requests[i].calls, 1);
        assert_int_equal(requests[i].result, 0);
        assert_int_equal(requests[i].order, i + 1);
        assert_int_equal(requests[i].synchronous, i ? 2 : 1); /* FULL for final ones only */
    }
    writer_stats(writer, &stats);
    assert_int_equal(stats.commits, 2);
    assert_int_equal(stats.done, 20);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(count_jobs(), 20);
    writer_destroy(writer);
}

static void test_a_request_that_fails_undoes_itself(void **state)
{
    struct writer *writer = writer_open(0, 0);
    struct request requests[3] = {{.jobid = 1}, {.jobid = 2, .fail = -EPERM}, {.jobid = 3}};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[i]), 0);
    assert_int_equal(writer_flush(writer, 10000), 0);
    assert_int_equal(requests[0].result, 0);
    assert_int_equal(requests[1].result, -EPERM);
    assert_string_equal(requests[1].error.text, "as asked");
    assert_int_equal(requests[2].result, 0);
    assert_int_equal(count_jobs(), 2);
    writer_destroy(writer);
}

static void test_full_queue_pushes_back(void **state)
{
    struct writer *writer = writer_open(2, 0);
    struct request requests[4] = {{.jobid = 1}, {.jobid = 2}, {.jobid = 3}, {.jobid = 4}};
    struct writer_stats stats;
    sem_t started, go;

    (void)state;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 0);
    requests[0].started = &started;
    requests[0].go = &go;
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[0]), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[1]), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[2]), -EAGAIN);
    writer_stats(writer, &stats);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(writer_flush(writer, 1), -ETIMEDOUT);
    sem_post(&go);
    assert_int_equal(writer_flush(writer, 10000), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[2]), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[3]), 0);
    writer_destroy(writer); /* runs the rest */
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(requests[i].calls, 1);
    assert_int_equal(count_jobs(), 4);
}

static void test_outcomes_wake_the_main_loop(void **state)
{
    struct writer *writer = writer_open(0, 0);
    struct request request = {.jobid = 1};
    struct pollfd fd = {.fd = writer_fd(writer), .events = POLLIN};

    (void)state;
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &request), 0);
    assert_int_equal(poll(&fd, 1, 10000), 1);
    assert_int_equal(writer_dispatch(writer), 1);
    assert_int_equal(request.calls, 1);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(writer_dispatch(writer), 0);
    writer_destroy(writer);
}

static int set_page_limit(struct store *store, void *arg, struct error *error)
{
    return store_exec(store, arg, error);
}

static int put_large(struct store *store, void *arg, struct error *error)
{
    char *value = malloc(1 << 20);
    int r;

    (void)arg;
    memset(value, 'x', (1 << 20) - 1);
    value[(1 << 20) - 1] = '\0';
    r = store_put_state(store, "large", value, error);
    free(value);
    return r;
}

/* A real SQLITE_FULL: every request of the transaction fails, and later ones succeed again. */
static void test_full_disk_is_told_to_all(void **state)
{
    struct writer *writer = writer_open(0, 0);
    struct request requests[4] = {{.jobid = 1}, {.jobid = 2}, {.jobid = 3}, {.jobid = 4}};
    struct request large = {0}, again = {0};
    char few[] = "PRAGMA max_page_count = 40", many[] = "PRAGMA max_page_count = 100000";
    sem_t started, go;

    (void)state;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 0);
    requests[0].started = &started;
    requests[0].go = &go;
    assert_int_equal(writer_submit(writer, true, set_page_limit, NULL, few), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[0]), 0);
    sem_wait(&started);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[1]), 0);
    assert_int_equal(writer_submit(writer, true, put_large, hear, &large), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[2]), 0);
    sem_post(&go);
    assert_int_equal(writer_flush(writer, 10000), 0);
    assert_int_equal(requests[0].result, 0);
    assert_int_equal(large.result, -ENOSPC);
    assert_non_null(strstr(large.error.text, "full"));
    assert_int_equal(requests[1].result, -ENOSPC); /* succeeded, but is rolled back, too */
    assert_int_equal(requests[2].result, -ENOSPC);
    assert_int_equal(count_jobs(), 1);
    assert_int_equal(writer_submit(writer, true, set_page_limit, NULL, many), 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &requests[3]), 0);
    assert_int_equal(writer_submit(writer, true, put_large, hear, &again), 0);
    assert_int_equal(writer_flush(writer, 10000), 0);
    assert_int_equal(requests[3].result, 0);
    assert_int_equal(again.result, 0);
    writer_destroy(writer);
}

/* A writer of a store with one job that is too old. */
static struct writer *open_old_job(unsigned sweep_ms)
{
    struct store *store = NULL;
    struct writer *writer = NULL;
    struct job_account *job = job_make(1, NOW);
    struct error error;

    assert_ok(store_open(&store,
                         &(struct store_options){.path = directory.store, .keep_ns = SECOND},
                         &error),
              error);
    job->ended = true;
    job->start_ns = 1000 * SECOND; /* in 1970 */
    job->end_ns = 2000 * SECOND;
    assert_ok(store_put_job(store, job, &error), error);
    assert_int_equal(count_jobs(), 1);
    assert_ok(writer_create(&writer, store, 0, sweep_ms, &error), error);
    job_account_destroy(job);
    return writer;
}

/* While no request is queued, the thread deletes old jobs. */
static void test_sweeps_when_idle(void **state)
{
    struct writer *writer = open_old_job(1);
    const struct timespec pause = {.tv_nsec = 5000000};

    (void)state;
    for (int i = 0; i < 2000 && count_jobs(); i++)
        nanosleep(&pause, NULL);
    assert_int_equal(count_jobs(), 0);
    writer_destroy(writer);
}

/* It also deletes them if there is always something to write. */
static void test_sweeps_between_writes(void **state)
{
    struct writer *writer = open_old_job(200);
    const struct timespec pause = {.tv_nsec = 5000000};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct request running = {.jobid = 2};

        assert_int_equal(writer_submit(writer, true, carry_out, hear, &running), 0);
        assert_int_equal(writer_flush(writer, 10000), 0);
        if (count_jobs() == 1)
            break;
        nanosleep(&pause, NULL);
    }
    assert_int_equal(count_jobs(), 1);
    writer_destroy(writer);
}

static struct query *query_open(unsigned limit_ms)
{
    struct query *query = NULL;
    struct error error;

    assert_ok(query_create(&query,
                           &(struct query_options){.path = directory.store, .limit_ms = limit_ms},
                           &error),
              error);
    return query;
}

struct answer {
    sem_t *begun, *go; /* post the first, then wait for the second */
    unsigned order;    /* in which they were started, from 1 */
    uint64_t took_ns;
    int64_t number;
    unsigned calls;
    int result;
    struct error error;
};

static unsigned asked;

static int ask(struct store *reader, void *arg, struct error *error)
{
    struct answer *answer = arg;

    answer->order = ++asked;
    if (answer->begun)
        sem_post(answer->begun);
    if (answer->go)
        sem_wait(answer->go);
    return store_number(reader, "SELECT count(*) FROM job", &answer->number, error);
}

/* Count to 10^12, which takes for ever. */
static int ask_for_ever(struct store *reader, void *arg, struct error *error)
{
    struct answer *answer = arg;
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    int r = store_number(reader,
                         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                         " WHERE i < 1000000000000) SELECT count(*) FROM n",
                         &answer->number, error);

    answer->took_ns = clock_ns(CLOCK_MONOTONIC) - begin;
    return r;
}

static void hear_answer(int result, const struct error *error, void *arg)
{
    struct answer *answer = arg;

    answer->calls++;
    answer->result = result;
    answer->error = *error;
}

static void wait_for(struct query *query, const struct answer *answer)
{
    struct pollfd fd = {.fd = query_fd(query), .events = POLLIN};

    while (!answer->calls) {
        assert_int_equal(poll(&fd, 1, 10000), 1);
        (void)query_dispatch(query);
    }
}

/* A long write and a query do not wait for each other. */
static void test_question_beside_a_write(void **state)
{
    struct writer *writer = writer_open(0, 0);
    struct query *query = query_open(0);
    struct request first = {.jobid = 1}, held = {.jobid = 2};
    struct answer answer = {0}, later = {0};
    sem_t started, go;

    (void)state;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 0);
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &first), 0);
    assert_int_equal(writer_flush(writer, 10000), 0);
    held.started = &started;
    held.go = &go;
    assert_int_equal(writer_submit(writer, true, carry_out, hear, &held), 0);
    sem_wait(&started);
    assert_int_equal(query_submit(query, ask, hear_answer, &answer), 0);
    wait_for(query, &answer);
    assert_int_equal(answer.result, 0);
    assert_int_equal(answer.number, 1);
    assert_int_equal(held.calls, 0);
    sem_post(&go);
    assert_int_equal(writer_flush(writer, 10000), 0);
    assert_int_equal(query_submit(query, ask, hear_answer, &later), 0);
    wait_for(query, &later);
    assert_int_equal(later.number, 2);
    query_destroy(query);
    writer_destroy(writer);
}

static void test_too_many_questions_are_refused(void **state)
{
    struct query *query = query_open(0);
    struct answer answers[QUERY_MAX + 1] = {0};
    struct query_stats stats;
    sem_t go;

    (void)state;
    store_close(open_store(&directory));
    sem_init(&go, 0, 0);
    answers[0].go = &go;
    for (int i = 0; i < QUERY_MAX; i++)
        assert_int_equal(query_submit(query, ask, hear_answer, &answers[i]), 0);
    assert_int_equal(query_submit(query, ask, hear_answer, &answers[QUERY_MAX]), -EBUSY);
    query_stats(query, &stats);
    assert_int_equal(stats.waiting, QUERY_MAX);
    assert_int_equal(stats.refused, 1);
    sem_post(&go);
    for (int i = 0; i < QUERY_MAX; i++) {
        wait_for(query, &answers[i]);
        assert_int_equal(answers[i].result, 0);
    }
    assert_int_equal(answers[QUERY_MAX].calls, 0);
    assert_int_equal(query_submit(query, ask, hear_answer, &answers[QUERY_MAX]), 0);
    wait_for(query, &answers[QUERY_MAX]);
    query_destroy(query);
}

/* A user with many queries waits for the others, but they do not wait for the user. */
static void test_users_take_turns(void **state)
{
    struct query *query = query_open(0);
    struct answer many[QUERY_EACH + 1] = {0}, one = {0}, own = {0};
    sem_t begun, go;

    (void)state;
    store_close(open_store(&directory));
    sem_init(&begun, 0, 0);
    sem_init(&go, 0, 0);
    many[0].begun = &begun;
    many[0].go = &go;
    asked = 0;
    assert_int_equal(query_submit_for(query, 1000, ask, hear_answer, &many[0]), 0);
    sem_wait(&begun);
    for (int i = 1; i <= QUERY_EACH; i++)
        assert_int_equal(query_submit_for(query, 1000, ask, hear_answer, &many[i]), 0);
    assert_int_equal(query_submit_for(query, 1000, ask, hear_answer, &many[0]), -EBUSY);
    assert_int_equal(query_submit_for(query, 1001, ask, hear_answer, &one), 0);
    assert_int_equal(query_submit(query, ask, hear_answer, &own), 0);
    sem_post(&go);
    wait_for(query, &many[QUERY_EACH]);
    assert_int_equal(one.order, 2);
    assert_int_equal(own.order, 3);
    for (int i = 1; i <= QUERY_EACH; i++)
        assert_int_equal(many[i].order, 3 + i);
    query_destroy(query);
}

static void test_question_has_a_time_limit(void **state)
{
    struct query *query = query_open(50);
    struct answer slow = {0}, quick = {0};

    (void)state;
    store_close(open_store(&directory));
    assert_int_equal(query_submit(query, ask_for_ever, hear_answer, &slow), 0);
    wait_for(query, &slow);
    assert_int_equal(slow.result, -ETIMEDOUT);
    assert_non_null(strstr(slow.error.text, "too long"));
    assert_int_equal(query_submit(query, ask, hear_answer, &quick), 0);
    wait_for(query, &quick);
    assert_int_equal(quick.result, 0);
    query_destroy(query);
}

/* Waiting for other queries does not count for the time limit of a query. */
static void test_waiting_costs_no_time(void **state)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    struct query *query = query_open(500);
    struct answer first = {0}, second = {0};

    (void)state;
    store_close(open_store(&directory));
    assert_int_equal(query_submit_for(query, 1000, ask_for_ever, hear_answer, &first), 0);
    (void)nanosleep(&pause, NULL);
    assert_int_equal(query_submit_for(query, 1001, ask_for_ever, hear_answer, &second), 0);
    wait_for(query, &second);
    assert_int_equal(second.result, -ETIMEDOUT);
    assert_true(second.took_ns >= 500000000);
    query_destroy(query);
}

static void test_end_interrupts_questions(void **state)
{
    struct query *query = query_open(600000);
    struct answer slow = {0}, waiting = {0};

    (void)state;
    store_close(open_store(&directory));
    assert_int_equal(query_submit(query, ask_for_ever, hear_answer, &slow), 0);
    assert_int_equal(query_submit(query, ask, hear_answer, &waiting), 0);
    query_destroy(query);
    assert_int_equal(slow.calls, 1);
    assert_int_equal(slow.result, -ECANCELED);
    assert_int_equal(waiting.result, -ECANCELED);
}

static void test_store_that_comes_later(void **state)
{
    struct query *query = query_open(0);
    struct answer none = {0}, one = {0};

    (void)state;
    assert_int_equal(query_submit(query, ask, hear_answer, &none), 0);
    wait_for(query, &none);
    assert_int_equal(none.result, -ENOENT);
    store_close(open_store(&directory));
    assert_int_equal(query_submit(query, ask, hear_answer, &one), 0);
    wait_for(query, &one);
    assert_int_equal(one.result, 0);
    query_destroy(query);
}

/* An idle connection is closed: the next query reads a file that has replaced the old one. */
static void test_idle_question_gives_up_its_store(void **state)
{
    const struct query_options options = {.path = directory.store, .idle_ms = 1};
    struct query *query = NULL;
    struct error error;
    int result = 0;

    (void)state;
    store_close(open_store(&directory));
    assert_ok(query_create(&query, &options, &error), error);
    for (int i = 0; i < 10000 && result == 0; i++) {
        const struct timespec pause = {.tv_nsec = 2000000};
        struct answer answer = {0};

        assert_int_equal(query_submit(query, ask, hear_answer, &answer), 0);
        wait_for(query, &answer);
        if (i == 0)
            assert_int_equal(answer.result, 0);
        assert_true(i > 0 || unlink(directory.store) == 0);
        result = answer.result;
        (void)nanosleep(&pause, NULL);
    }
    assert_int_equal(result, -ENOENT);
    query_destroy(query);
}

#define WRITER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITER_TEST(test_many_requests_share_a_commit),
        WRITER_TEST(test_a_request_that_fails_undoes_itself),
        WRITER_TEST(test_full_queue_pushes_back),
        WRITER_TEST(test_outcomes_wake_the_main_loop),
        WRITER_TEST(test_full_disk_is_told_to_all),
        WRITER_TEST(test_sweeps_when_idle),
        WRITER_TEST(test_sweeps_between_writes),
        WRITER_TEST(test_question_beside_a_write),
        WRITER_TEST(test_too_many_questions_are_refused),
        WRITER_TEST(test_users_take_turns),
        WRITER_TEST(test_question_has_a_time_limit),
        WRITER_TEST(test_waiting_costs_no_time),
        WRITER_TEST(test_end_interrupts_questions),
        WRITER_TEST(test_store_that_comes_later),
        WRITER_TEST(test_idle_question_gives_up_its_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
