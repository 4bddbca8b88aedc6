/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retention deletes the oldest jobs in small steps, sums stay correct after a crash, queries use
 * indexes. */
#define _GNU_SOURCE /* asprintf */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/store/store_impl.h"

#define HOUR (3600 * SECOND)

static void open_with(uint64_t keep_ns, uint64_t keep_bytes)
{
    struct error error;

    assert_ok(store_open(&opened,
                         &(struct store_options){
                             .path = directory.store, .keep_ns = keep_ns, .keep_bytes = keep_bytes},
                         &error),
              error);
}

/* A job of `steps` steps that ended at end_ns (0: it is running), with a private mount of its own.
 */
static void put_job(uint32_t jobid, uint64_t end_ns, uint32_t steps)
{
    struct job_account *job = job_make(jobid, (end_ns ? end_ns : NOW) - HOUR);
    struct step_account step;
    struct error error;

    job->ended = end_ns != 0;
    job->end_ns = end_ns;
    assert_ok(store_begin(opened, false, &error), error);
    assert_ok(store_put_job(opened, job, &error), error);
    for (uint32_t n = 0; n < steps; n++) {
        step_make(&step, n, job->start_ns + n, 1);
        free(step.mounts.items[1].mount);
        assert_true(asprintf(&step.mounts.items[1].mount, "/mine/%u", jobid) > 0);
        assert_ok(store_put_step(opened, &job->key, &step, true, &error), error);
        step_account_clear(&step);
    }
    assert_ok(store_commit(opened, &error), error);
    job_account_destroy(job);
}

static int64_t number(const char *sql)
{
    struct error error;
    int64_t value = -1;

    assert_ok(store_number(opened, sql, &value, &error), error);
    return value;
}

/* Sweep to the end. Returns the number of steps; none may change more rows than documented. */
static unsigned sweep_all(uint64_t now_ns)
{
    unsigned calls = 0;
    bool more = true;
    struct error error;

    for (; more; calls++) {
        int before = sqlite3_total_changes(opened->db);
        int64_t pages = number("PRAGMA page_count");

        assert_true(calls < 10000);
        assert_ok(store_sweep(opened, now_ns, &more, &error), error);
        assert_true(sqlite3_total_changes(opened->db) - before < 1100);
        assert_true(pages - number("PRAGMA page_count") <= 200);
    }
    return calls;
}

static uint64_t total_reads(void)
{
    return (uint64_t)number("SELECT ifnull(sum(requests), 0) FROM node_total WHERE op = 'read'");
}

static void test_by_age(void **state)
{
    (void)state;
    open_with(90 * 24 * HOUR, 0);
    for (uint32_t id = 1; id <= 40; id++)
        put_job(id, NOW - id * 10 * 24 * HOUR, 2);
    put_job(41, 0, 2); /* started long ago and is still running */
    (void)sweep_all(NOW);
    assert_int_equal(number("SELECT count(*) FROM job"), 10);
    assert_int_equal(number("SELECT max(jobid) FROM job WHERE ended = 1"), 9);
    assert_int_equal(number("SELECT count(*) FROM step"), 20);
    assert_int_equal(number("SELECT count(*) FROM step_mount"), 40);
    assert_int_equal(number("SELECT count(*) FROM mount"),
                     11); /* those of the jobs, and /scratch */
    assert_int_equal(number("SELECT count(*) FROM io"), 80);
    assert_int_equal(total_reads(), 82); /* the totals are unchanged */
}

static void test_by_size(void **state)
{
    struct stat st;

    (void)state;
    open_with(0, 1 << 20);
    for (uint32_t id = 1; id <= 600; id++)
        put_job(id, NOW - (1000 - id) * HOUR, 10);
    assert_true(number("PRAGMA page_count") * 4096 > 2 << 20);
    assert_true(sweep_all(NOW) > 5);
    assert_true(number("PRAGMA page_count") * 4096 <= (1 << 20) + 64 * 4096);
    assert_true(number("SELECT count(*) FROM job") > 100);
    assert_int_equal(number("SELECT max(jobid) FROM job"), 600);
    assert_int_equal(number("SELECT count(*) FROM job"),
                     601 - number("SELECT min(jobid) FROM job"));
    assert_int_equal(number("SELECT count(*) FROM step"), 10 * number("SELECT count(*) FROM job"));
    assert_int_equal(total_reads(), 6000);
    store_close(opened);
    opened = NULL;
    assert_int_equal(stat(directory.store, &st), 0);
    assert_true(st.st_size <= (1 << 20) + 64 * 4096); /* returned to the file system */
}

/* Steps that may be written again must find their rows. */
static void test_size_spares_the_last_hour(void **state)
{
    (void)state;
    open_with(0, 1);
    put_job(1, NOW - 2 * HOUR, 1);
    put_job(2, NOW - HOUR / 2, 1);
    (void)sweep_all(NOW);
    assert_int_equal(number("SELECT min(jobid) FROM job"), 2);
}

/* A job that is being deleted is never visible in part, even if jobiod ends before the last step.
 */
static void test_nobody_sees_half_a_job(void **state)
{
    struct job_account **found = NULL;
    struct error error;
    bool more = false;

    (void)state;
    open_with(HOUR, 0);
    put_job(1, NOW - 2 * HOUR, 1000);
    assert_ok(store_sweep(opened, NOW, &more, &error), error);
    assert_true(more);
    assert_true(number("SELECT count(*) FROM step") > 500);
    assert_ok(store_jobs(opened, NULL, 1, true, UINT32_MAX, &found, &error), error);
    assert_null(found[0]);
    store_jobs_free(found);
    assert_int_equal(number("SELECT count(*) FROM v_job"), 0);
    assert_int_equal(number("SELECT count(*) FROM v_step_io"), 0);
    store_close(opened);
    open_with(0, 0);
    (void)sweep_all(NOW);
    assert_int_equal(number("SELECT count(*) FROM step"), 0);
    assert_int_equal(number("SELECT count(*) FROM job"), 0);
    assert_int_equal(total_reads(), 1000);
}

/* Write steps for ever, each provisional and then final, like jobiod, and report them in the pipe.
 */
static void write_for_ever(int told)
{
    struct store *mine = open_store(&directory);
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    for (uint32_t n = 0;; n++) {
        step_make(&step, n, NOW, 1 + n % 3);
        if (store_begin(mine, n % 2, &error) < 0 || store_put_job(mine, job, &error) < 0 ||
            store_put_step(mine, &job->key, &step, false, &error) < 0 ||
            store_put_step(mine, &job->key, &step, true, &error) < 0 ||
            store_put_step(mine, &job->key, &step, true, &error) < 0 ||
            store_commit(mine, &error) < 0 || write(told, "", 1) != 1)
            _exit(1);
        step_account_clear(&step);
    }
}

/* jobiod is killed at any moment: stored steps are complete, and the totals are their sums. */
static void test_killed_writer(void **state)
{
    int64_t steps = 0;

    (void)state;
    for (int round = 0; round < 10; round++) {
        const struct timespec pause = {.tv_nsec = round * 1234567};
        int status, told[2];
        pid_t pid;
        char one;

        assert_int_equal(pipe(told), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            write_for_ever(told[1]);
        close(told[1]);
        for (int n = 0; n < 11 + round; n++)
            assert_int_equal(read(told[0], &one, 1), 1);
        nanosleep(&pause, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        close(told[0]);
        assert_true(WIFSIGNALED(status));
        open_with(0, 0);
        assert_true(number("SELECT count(*) FROM step") >= steps);
        steps = number("SELECT count(*) FROM step");
        assert_int_equal(total_reads(), number("SELECT ifnull(sum(requests), 0) FROM io"
                                               " WHERE op = 'read'"));
        assert_int_equal(number("SELECT ifnull(sum(steps), 0) FROM job"), steps);
        assert_int_equal(number("SELECT ifnull(sum(read_bytes), 0) FROM job"),
                         number("SELECT ifnull(sum(bytes), 0) FROM io WHERE op = 'read'"));
        store_close(opened);
        opened = NULL;
    }
    assert_true(steps > 10);
}

/* The output of EXPLAIN QUERY PLAN for a named query, one line per step. */
static void plan_of(enum sql_query query, char *ret, size_t size)
{
    char sql[8192];
    sqlite3_stmt *row = NULL;

    (void)snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", sql_queries[query]);
    assert_int_equal(sqlite3_prepare_v2(opened->db, sql, -1, &row, NULL), SQLITE_OK);
    *ret = '\0';
    while (sqlite3_step(row) == SQLITE_ROW) {
        size_t used = strlen(ret);

        (void)snprintf(ret + used, size - used, "%s\n", column_text(row, 3));
    }
    (void)sqlite3_finalize(row);
}

static void test_queries_use_indexes(void **state)
{
    static const struct {
        enum sql_query query;
        const char *index;
    } want[] = {
        {SQL_HISTORY_LONGEST, "job_long"},
        {SQL_JOB_LIST, "job_number (jobid=?)"},
        {SQL_JOB_UNFINISHED, "job_end (end_ns=?)"},
        {SQL_SWEEP_OLDEST, "job_end (end_ns<?)"},
        {SQL_SWEEP_OLD, "job_end (end_ns<?)"},
        {SQL_SWEEP_EXPIRED, "job_expired"},
        {SQL_SWEEP_SHARE, "job_uid_start (uid=? AND start_ns<?)"},
        {SQL_SHARE_LARGE, "PRIMARY KEY (key>? AND key<?)"},
        {SQL_SHARE_TIDY, "job_uid_start (uid=?)"},
        {SQL_STEP_BYTES, "PRIMARY KEY (step_id=?)"},
        {SQL_ROLLUP_CLEAR, "PRIMARY KEY (kind=? AND first_ns=?)"},
        {SQL_ROLLUP_NEXT, "job_end (end_ns>?)"},
        {SQL_OUTBOX_LIST, "outbox_waiting (sink=? AND id>?)"},
        {SQL_OUTBOX_SINKS, "outbox_waiting (sink>?)"},
    };
    char plan[4096];

    (void)state;
    open_with(0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        plan_of(want[i].query, plan, sizeof(plan));
        if (!strstr(plan, want[i].index))
            print_error("%s: %s", sql_query_names[want[i].query], plan);
        assert_non_null(strstr(plan, want[i].index));
    }
    for (int query = 0; query < SQL_QUERY_COUNT; query++) {
        plan_of(query, plan, sizeof(plan));
        if (query == SQL_STATS || query == SQL_TOTAL_LIST || query == SQL_SWEEP_EXPIRED ||
            query == SQL_OUTBOX_SINKS || query == SQL_BASELINE_MOUNTS || query == SQL_ROLLUP_STALE)
            continue; /* these scan a whole small table on purpose */
        if (strstr(plan, "SCAN") && !strstr(plan, "SCAN CONSTANT ROW"))
            print_error("%s: %s", sql_query_names[query], plan);
        assert_true(!strstr(plan, "SCAN") || strstr(plan, "SCAN CONSTANT ROW"));
    }
}

/* --- the log -------------------------------------------------------------------------------------
 */

static void begin_reading(struct store *reader)
{
    struct error error;
    int64_t jobs;
    bool begun;

    assert_ok(store_snapshot(reader, &begun, &error), error);
    assert_ok(store_number(reader, "SELECT count(*) FROM job", &jobs, &error), error);
}

static void *end_reading_soon(void *reader)
{
    const struct timespec pause = {.tv_nsec = 300000000};

    (void)nanosleep(&pause, NULL);
    store_snapshot_end(reader, true);
    return NULL;
}

static off_t log_bytes(void)
{
    char name[sizeof(directory.store) + 4];
    struct stat st;

    (void)snprintf(name, sizeof(name), "%s-wal", directory.store);
    assert_int_equal(stat(name, &st), 0);
    return st.st_size;
}

/* There is always a reader, but none lasts for ever: the WAL is restarted. */
static void test_log_stays_short(void **state)
{
    struct store *first, *second;
    struct error error;
    bool more = true;
    pthread_t thread;

    (void)state;
    open_with(0, 0);
    first = open_reader(&directory);
    second = open_reader(&directory);
    begin_reading(first);
    assert_ok(store_exec(opened,
                         "CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(70000000))",
                         &error),
              error);
    assert_true(log_bytes() > 70000000);
    assert_int_equal(pthread_create(&thread, NULL, end_reading_soon, first), 0);
    while (more)
        assert_ok(store_sweep(opened, NOW, &more, &error), error);
    begin_reading(second);
    assert_int_equal(pthread_join(thread, NULL), 0);
    put_job(1, NOW, 1);
    assert_true(log_bytes() < 20000000);
    store_close(first);
    store_close(second);
}

#define SWEEP_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SWEEP_TEST(test_by_age),
        SWEEP_TEST(test_by_size),
        SWEEP_TEST(test_size_spares_the_last_hour),
        SWEEP_TEST(test_nobody_sees_half_a_job),
        SWEEP_TEST(test_killed_writer),
        SWEEP_TEST(test_log_stays_short),
        SWEEP_TEST(test_queries_use_indexes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
