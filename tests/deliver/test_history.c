/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finished steps of a real store arrive in a real ClickHouse exactly once and with the same
 * numbers, whatever is killed. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/history_rig.h"

/* The server is killed twice while rows are in flight, and the sink once. */
static void test_once_in_effect(void **state)
{
    enum { STEPS = 600 };
    unsigned kills = 0;
    char want[64];

    (void)state;
    for (uint32_t n = 0; n < STEPS; n++)
        feed_put(1 + n / 3, n % 3, n + 1, NULL);
    feed.options.limits.rows = 40;
    feed_open(rig_server.url);
    while (feed_stats().waiting) {
        feed_step();
        if (feed.delivered > 100 * (kills + 1) && kills < 2 && feed_number("requests")) {
            clickhouse_kill(&rig_server);
            feed_until(!strcmp(feed_text("state"), "backoff"));
            clickhouse_start(&rig_server);
            kills++;
        }
        if (feed.delivered > 400 && kills == 2) {
            feed_close(); /* with a request in flight */
            feed_open(rig_server.url);
            kills++;
        }
    }
    assert_int_equal(kills, 3);
    assert_int_equal(feed_stats().refused, 0);
    assert_true(feed.largest < 1 << 20);
    rig_assert_answer("SELECT count() FROM jobio.io FINAL", "1200\n"); /* two mounts each */
    rig_assert_answer("SELECT count() FROM jobio.v_step", "600\n");
    (void)snprintf(want, sizeof(want), "%d\n", STEPS * (STEPS + 1) / 2);
    rig_assert_answer("SELECT sum(read_requests) FROM jobio.v_step", want);
    rig_assert_answer("SELECT count() FROM jobio.v_job", "200\n");
}

/* The same query to both; a column has two texts if the dialects differ. */
static void assert_same(const char *view, const char *in_store, const char *in_clickhouse,
                        const char *order)
{
    char sql[2048];
    _free_ char *stored = NULL, *told = NULL;

    (void)snprintf(sql, sizeof(sql), "SELECT %s FROM %s ORDER BY %s", in_store, view, order);
    stored = feed_sql(sql);
    (void)snprintf(sql, sizeof(sql), "SELECT %s FROM jobio.%s ORDER BY %s FORMAT TSV",
                   in_clickhouse, view, order);
    told = clickhouse_ask(&rig_server, sql);
    if (strcmp(stored, told))
        print_error("%s:\n%s---\n%s", view, stored, told);
    assert_string_equal(stored, told);
    assert_true(strlen(stored) > 20);
}

static void assert_same_columns(const char *view)
{
    char sql[256];
    _free_ char *stored = NULL, *told = NULL;

    (void)snprintf(sql, sizeof(sql), "SELECT name FROM pragma_table_info('%s')", view);
    stored = feed_sql(sql);
    (void)snprintf(sql, sizeof(sql),
                   "SELECT name FROM system.columns WHERE database = 'jobio' AND table = '%s'",
                   view);
    told = clickhouse_ask(&rig_server, sql);
    assert_string_equal(stored, told);
}

#define MPI_NUMBERS "calls, errors, bytes, requested_bytes, unknown_calls"
#define SUMS "read_bytes, read_requests, write_bytes, write_requests, meta_requests, errors"

/* Views of both databases, with what says the same in each, and an order. */
static const struct {
    const char *name, *sqlite, *clickhouse, *order;
} views[] = {
    {"v_job",
     "cluster, jobid, restart, user, uid, account, partition, state, elapsed_s * 1000,"
     " steps, complete, " SUMS ", CAST(round(wait_s * 1e9) AS INTEGER),"
     " CAST(waiting_percent * 10 AS INTEGER)",
     "cluster, jobid, restart, user, uid, account, partition, state,"
     " concat(toString(toUInt64(elapsed_s * 1000)), '.0'), steps, complete, " SUMS
     ", toUInt64(round(wait_s * 1e9)), toUInt64(waiting_percent * 10)",
     "jobid, read_bytes"},
    {"v_step",
     "cluster, jobid, restart, user, ifnull(het, 'none'), step, node, state,"
     " CAST(round(elapsed_s) AS INTEGER), lost, " SUMS ", CAST(round(wait_s * 1e9) AS INTEGER)",
     "cluster, jobid, restart, user, ifnull(toString(het), 'none'), step, node, state,"
     " toUInt64(elapsed_s), lost, " SUMS ", toUInt64(round(wait_s * 1e9))",
     "jobid, step, read_bytes"},
    {"v_step_io",
     "jobid, user, step, node, mount, fstype, source, op, requests, bytes, errors,"
     " CAST(round(wait_s * 1e9) AS INTEGER), CAST(round(longest_s * 1e9) AS INTEGER),"
     " peak_bytes_per_s, peak_requests_per_s",
     "jobid, user, step, node, mount, fstype, source, op, requests, bytes, errors,"
     " toUInt64(round(wait_s * 1e9)), toUInt64(round(longest_s * 1e9)),"
     " peak_bytes_per_s, peak_requests_per_s",
     "jobid, step, mount, op, bytes, requests"},
    {"v_job_io",
     "jobid, user, mount, op, requests, bytes, errors,"
     " CAST(round(wait_s * 1e9) AS INTEGER), CAST(round(longest_s * 1e9) AS INTEGER)",
     "jobid, user, mount, op, requests, bytes, errors,"
     " toUInt64(round(wait_s * 1e9)), toUInt64(round(longest_s * 1e9))",
     "jobid, mount, op, bytes, requests"},
    {"v_job_mount",
     "jobid, user, mount, fstype, ifnull(read_bytes, 0), ifnull(write_bytes, 0),"
     " requests, errors, CAST(round(wait_s * 1e9) AS INTEGER)",
     "jobid, user, mount, fstype, read_bytes, write_bytes, requests, errors,"
     " toUInt64(round(wait_s * 1e9))",
     "jobid, mount, requests"},
    {"v_step_mpi",
     "jobid, user, ifnull(het, 'none'), step, node, class, " MPI_NUMBERS
     ", CAST(round(time_s * 1e9) AS INTEGER), incomplete",
     "jobid, user, ifnull(toString(het), 'none'), step, node, class, " MPI_NUMBERS
     ", toUInt64(round(time_s * 1e9)), incomplete",
     "jobid, step, class, calls"},
    {"v_job_mpi",
     "jobid, restart, user, class, " MPI_NUMBERS ", CAST(round(time_s * 1e9) AS INTEGER), complete",
     "jobid, restart, user, class, " MPI_NUMBERS ", toUInt64(round(time_s * 1e9)), complete",
     "jobid, class, calls"},
    {"v_step_block",
     "jobid, restart, user, ifnull(het, 'none'), step, node, device, shared, class,"
     " requests, errors, bytes, CAST(round(queued_s * 1e9) AS INTEGER),"
     " CAST(round(device_s * 1e9) AS INTEGER), incomplete",
     "jobid, restart, user, ifnull(toString(het), 'none'), step, node, device, shared,"
     " class, requests, errors, bytes, toUInt64(round(queued_s * 1e9)),"
     " toUInt64(round(device_s * 1e9)), incomplete",
     "jobid, restart, step, device, shared, class, requests"},
};

static void test_views_agree(void **state)
{
    (void)state;
    feed_put(1, 0, 5, NULL);
    feed_put(1, 1, 7, NULL);
    feed_put(1, STEP_BATCH, 2, NULL);
    feed_put(2, STEP_EXTERN, 3, "bob");
    feed_put(3, 0, 1, NULL);
    feed_end(1);
    feed_end(2);
    rig_put_odd_jobs();
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    /* Written again with other numbers: these replace the first. */
    feed_put(3, 0, 100, NULL);
    feed_end(1);
    step_queue_notify(feed.sink);
    feed_until(!feed_stats().waiting);
    for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
        assert_same_columns(views[i].name);
        assert_same(views[i].name, views[i].sqlite, views[i].clickhouse, views[i].order);
    }
    rig_assert_answer("SELECT sumArray(op_requests) FROM jobio.io FINAL WHERE jobid = 3", "304\n");
}

/* A column that is too small for some users, so that the table refuses their rows. */
static void test_poisoned_row(void **state)
{
    (void)state;
    clickhouse_do(&rig_server, "DROP TABLE jobio.io");
    clickhouse_run(&rig_server, "schema.sql");
    clickhouse_do(&rig_server, "ALTER TABLE jobio.io MODIFY COLUMN user FixedString(8)");
    for (uint32_t n = 1; n <= 200; n++)
        feed_put(n, 0, n, n == 77 || n == 78 || n == 200 ? "alexander.the.great" : NULL);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed_stats().refused, 3);
    assert_int_equal(feed.refused, 3);
    assert_int_equal(feed_number("refusals"), 3);
    assert_non_null(strstr(feed.why, "Code: 131"));
    rig_assert_answer("SELECT count(), sum(jobid) FROM jobio.io FINAL", "394\t39490\n");
    assert_int_equal(feed_number("failures"), 0);
    assert_true(feed_number("requests") < 60);
}

/* A missing table or a wrong password does not set rows aside. */
static void test_configuration_faults(void **state)
{
    char path[256];
    FILE *file;

    (void)state;
    clickhouse_do(&rig_server, "DROP TABLE jobio.io");
    feed_put(1, 0, 1, NULL);
    feed_open(rig_server.url);
    feed_until(feed_number("failures") >= 2);
    assert_string_equal(feed_text("state"), "misconfigured");
    assert_non_null(strstr(feed_text("last_error"), "jobio.io"));
    assert_int_equal(feed_number("last_code"), 404);
    assert_int_equal(feed_stats().waiting, 1);
    clickhouse_run(&rig_server, "schema.sql");
    feed_until(!feed_stats().waiting);
    assert_string_equal(feed_text("state"), "ok");
    assert_non_null(strstr(feed.said, "works again"));
    feed_close();
    (void)snprintf(path, sizeof(path), "%s/userpwd", directory.path);
    file = fopen(path, "w");
    (void)fputs("writer:wrong\n", file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    (void)fclose(file);
    feed.options.access.userpwd_file = path;
    feed_put(2, 0, 1, NULL);
    feed_open(rig_server.url);
    feed_until(feed_number("failures") >= 1);
    assert_string_equal(feed_text("state"), "misconfigured");
    feed_close();
    file = fopen(path, "w");
    (void)fputs("writer:w\n", file);
    (void)fclose(file);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed_stats().refused, 0);
    rig_assert_answer("SELECT count() FROM jobio.io FINAL", "4\n");
}

/* Names by users come back unchanged, unless they are not valid text. */
static void test_names(void **state)
{
    struct job_account *job = job_make(1, NOW);
    struct step_account step = {
        .het = HET_NONE, .step = 0, .node = strdup("n1"), .tagged_at_ns = NOW, .elapsed_ns = 1};
    struct error error;

    (void)state;
    put_rows(job, &step, true); /* without a mount */
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    free(job->account);
    job->account = strdup("caf\xe9\t\\N");
    job->key.jobid = 2;
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    rig_assert_answer(
        "SELECT jobid, mount, length(op), read_bytes FROM jobio.io FINAL ORDER BY jobid",
        "1\t\t0\t0\n2\t\t0\t0\n");
    rig_assert_answer("SELECT count() FROM jobio.v_job WHERE name = 'run \\'it\\'; \x1b[31m'",
                      "2\n");
    rig_assert_answer("SELECT hex(account) FROM jobio.io FINAL WHERE jobid = 2",
                      "6361665C786539095C4E\n");
    rig_assert_answer("SELECT count() FROM jobio.v_job_mount", "0\n");
    step_account_clear(&step);
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_once_in_effect), RIG_TEST(test_views_agree),
        RIG_TEST(test_poisoned_row),   RIG_TEST(test_configuration_faults),
        RIG_TEST(test_names),
    };

    if (!clickhouse_installed()) {
        (void)fprintf(stderr, "clickhouse-server is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, rig_start, rig_remove);
}
