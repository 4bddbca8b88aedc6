/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zlib.h>

#include "collector/store/store_impl.h"
#include "tests/deliver/feed.h"

struct feed feed;

uint64_t feed_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void read_outbox(int64_t after, const struct step_limits *limits,
                        const struct step_format *format, void *arg)
{
    struct step_batch *batch = NULL;
    struct error error;
    int r = -ETIMEDOUT;

    (void)arg;
    feed.reads++;
    if (feed.slow_rows && limits->rows > feed.slow_rows)
        (void)error_set(&error, r, "it took too long");
    else
        r = step_batch_read(opened, "history", after, limits, format, &batch, &error);
    if (r == 0 && batch->size > feed.largest)
        feed.largest = batch->size;
    step_queue_provide(feed.sink, r, r < 0 ? NULL : batch, &error);
}

static void on_delivered(const int64_t *ids, size_t n, void *arg)
{
    struct error error;

    (void)arg;
    feed.delivered += (unsigned)n;
    assert_ok(store_outbox_drop(opened, ids, n, &error), error);
}

static void on_refused(int64_t id, const char *why, void *arg)
{
    struct error error;

    (void)arg;
    feed.refused++;
    (void)snprintf(feed.why, sizeof(feed.why), "%s", why);
    assert_ok(store_outbox_refuse(opened, id, why, &error), error);
}

static void hear(enum log_level level, const char *text, void *arg)
{
    size_t length = strlen(feed.said);

    (void)arg;
    (void)snprintf(feed.said + length, sizeof(feed.said) - length, "%d %s\n", (int)level, text);
}

int feed_setup(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    store_set_up(state);
    feed = (struct feed){0};
    assert_true(sd_event_new(&feed.loop) >= 0);
    step_queue_defaults(&feed.options);
    feed.options.delay_ns = SECOND / 100;
    feed.options.poll_ns = SECOND / 5;
    feed.options.backoff_ns = SECOND / 20;
    feed.options.slow_ns = SECOND / 5;
    feed.options.connect_timeout_ns = SECOND;
    feed.options.timeout_ns = 20 * SECOND;
    return 0;
}

int feed_teardown(void **state)
{
    feed_close();
    sd_event_unref(feed.loop);
    return folder_tear_down(state);
}

void feed_open(const char *url)
{
    const struct step_queue_hooks hooks = {read_outbox, on_delivered, on_refused, hear, NULL};
    struct error error;

    feed.options.to.url = url;
    assert_ok(step_queue_create(&feed.sink, feed.loop, &feed.options, &hooks, &error), error);
    step_queue_start(feed.sink);
}

void feed_close(void)
{
    step_queue_destroy(feed.sink);
    feed.sink = NULL;
}

void feed_put(uint32_t jobid, uint32_t number, uint64_t scale, const char *user)
{
    struct job_account *job = job_make(jobid, NOW + jobid * SECOND);
    struct step_account step;
    struct error error;

    if (user) {
        free(job->user);
        job->user = strdup(user);
    }
    step_make(&step, number, job->start_ns + number, scale);
    step_add_users(&step);
    step_add_rpc(&step);
    if (number == 0) {
        step_add_mpi(&step, scale);
        step_add_block(&step, scale);
    }
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    step_account_clear(&step);
    job_account_destroy(job);
}

void feed_end(uint32_t jobid)
{
    struct job_account *job = job_make(jobid, NOW + jobid * SECOND);
    struct error error;

    job->ended = true;
    job->elapsed_ns = 9 * SECOND;
    job->end_ns = job->start_ns + job->elapsed_ns;
    job->longest_wait_ns = SECOND;
    put_rows(job, NULL, true);
    assert_ok(store_outbox_put_job(opened, &job->key, "history", &error), error);
    job_account_destroy(job);
}

void feed_step(void)
{
    assert_true(sd_event_run(feed.loop, 20000) >= 0);
}

struct outbox_stats feed_stats(void)
{
    struct outbox_stats stats;
    struct error error;

    assert_ok(store_outbox_stats(opened, "history", &stats, &error), error);
    return stats;
}

uint64_t feed_number(const char *field)
{
    struct json_object *status = step_queue_status(feed.sink), *value;
    uint64_t number;

    assert_true(json_object_object_get_ex(status, field, &value));
    number = json_object_get_uint64(value);
    json_object_put(status);
    return number;
}

const char *feed_text(const char *field)
{
    static char text[512];
    struct json_object *status = step_queue_status(feed.sink), *value;

    assert_true(json_object_object_get_ex(status, field, &value));
    (void)snprintf(text, sizeof(text), "%s", json_object_get_string(value));
    json_object_put(status);
    return text;
}

char *feed_gunzip(const char *body, size_t size)
{
    enum { MAX = 8 << 20 };
    char *text = malloc(MAX);
    z_stream z = {.next_in = (unsigned char *)body, .avail_in = (unsigned)size};

    assert_non_null(text);
    z.next_out = (unsigned char *)text;
    z.avail_out = MAX - 1;
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    text[z.total_out] = '\0';
    (void)inflateEnd(&z);
    return text;
}

char *feed_sql(const char *sql)
{
    sqlite3_stmt *row = NULL;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (sqlite3_prepare_v2(opened->db, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(opened->db));
    while (sqlite3_step(row) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(row); i++)
            (void)fprintf(out, "%s%s", i ? "\t" : "",
                          column_text(row, i) ? column_text(row, i) : "");
        (void)fputc('\n', out);
    }
    (void)sqlite3_finalize(row);
    assert_int_equal(fclose(out), 0);
    return text;
}
