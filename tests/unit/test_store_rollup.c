/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums of blocks of days are always those of the jobs, whatever happens to the jobs. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/store/history.h"
#include "collector/store/store_impl.h"

#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define DAYS 200
#define JOBS 500

/* --- any jobs -----------------------------------------------------------------------------------
 */

static uint64_t any(uint64_t below)
{
    static uint64_t x;

    x = x * 6364136223846793005u + 1442695040888963407u;
    return (x >> 33) % below;
}

static const char *one_of(const char *const *texts, size_t n)
{
    return texts[any(n)];
}
#define ONE_OF(...)                            \
    one_of((const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void set(char **text, const char *to)
{
    free(*text);
    *text = to ? strdup(to) : NULL;
}

static void add_mount(struct step_account *step, const char *mount, const char *source)
{
    struct io_mount *m = io_mounts_get(&step->mounts, mount, "nfs4", source, false);
    struct io_counter *c = m ? io_account_op(&m->io, any(2) ? IO_READ : IO_OPEN) : NULL;

    assert_non_null(c);
    c->requests += any(1000);
    c->bytes += any(1ull << 30);
    c->errors += any(3);
    c->time_ns += any(1ull << 30);
    c->max_ns = any(1ull << 20);
}

static void put_step(const struct job_account *job, uint32_t number)
{
    struct step_account step;
    struct error error;

    step_make(&step, number, job->start_ns, any(50));
    for (uint64_t i = any(4); i > 0; i--)
        add_mount(&step, ONE_OF("/scratch", "/scratch", "/home", "/mnt/mine"),
                  ONE_OF("srv:/a", "srv:/b"));
    if (any(5) == 0)
        step.completeness.lost = 1;
    step.longest_wait_ns = any(SECOND);
    assert_ok(store_put_step(opened, &job->key, &step, job->ended, &error), error);
    step_account_clear(&step);
}

/* Put the job of that number, new or not, with any of its steps. It ends after its start, unless
 * the clock was set back. */
static void put_any(uint32_t jobid)
{
    uint64_t start = NOW - jobid * (DAYS * DAY / JOBS) - any(2 * HOUR);
    struct job_account *job = job_make(jobid, start);
    struct error error;

    job->uid = 1000 + (uint32_t)any(3);
    set(&job->user, ONE_OF("alice", "bob", "", NULL, "1001"));
    set(&job->account, ONE_OF("physics", "chemistry", NULL, ""));
    set(&job->partition, ONE_OF("debug", "batch", NULL));
    set(&job->name, ONE_OF("a", "b,c", NULL, "d"));
    job->ended = any(20) != 0;
    job->elapsed_ns = any(10) ? any(4 * HOUR) : any(5 * DAY);
    job->end_ns = any(50) ? start + job->elapsed_ns : start - any(HOUR);
    if (any(4) == 0) /* the first or the last ns of a block */
        job->end_ns += DAY - job->end_ns % DAY - any(2);
    job->nodes_expected = (uint32_t)any(10) ? 1 : 2;
    assert_ok(store_put_job(opened, job, &error), error);
    for (uint32_t i = 0; i <= any(2); i++)
        put_step(job, i);
    job_account_destroy(job);
}

/* --- both ways of asking ------------------------------------------------------------------------
 */

struct answer {
    FILE *out;
    uint64_t jobs;
};

static void write_sum(FILE *out, const struct io_sum *s)
{
    (void)fprintf(out, " [%ju %ju %ju %ju %ju]", s->requests, s->bytes, s->errors, s->time_ns,
                  s->max_ns);
}

static int write_row(const struct history_row *row, void *arg)
{
    FILE *out = ((struct answer *)arg)->out;
    const char *texts[] = {row->cluster, row->user,  row->account, row->partition,
                           row->name,    row->mount, row->day};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        (void)fprintf(out, "%s|", texts[i] ? texts[i] : "NULL");
    (void)fprintf(out, "%ju %u %u %u %d %d %ju %ju %ju %u", row->jobs, row->jobid, row->restart,
                  row->uid, row->ended, row->complete, row->start_ns, row->end_ns, row->elapsed_ns,
                  row->steps);
    write_sum(out, &row->reads);
    write_sum(out, &row->writes);
    write_sum(out, &row->meta);
    (void)fprintf(out, " %ju %ju %ju\n", row->errors, row->wait_ns, row->longest_wait_ns);
    ((struct answer *)arg)->jobs += row->jobs;
    return 0;
}

static char *answer(const struct history_filter *filter, bool off)
{
    struct answer answer = {NULL, 0};
    struct error error;
    char *text = NULL;
    size_t size;

    answer.out = open_memstream(&text, &size);
    assert_non_null(answer.out);
    opened->rollup.off = off;
    assert_ok(store_history(opened, filter, write_row, &answer, &error), error);
    (void)fclose(answer.out);
    return text;
}

static unsigned rolled; /* number of statements that read the sums of blocks */

static int trace(unsigned what, void *arg, void *statement, void *text)
{
    (void)what;
    (void)arg;
    (void)statement;
    rolled += strstr(text, "FROM rollup\n") != NULL;
    return 0;
}

static void assert_same(const struct history_filter *filter)
{
    char *slow = answer(filter, true), *fast = answer(filter, false);

    if (strcmp(slow, fast) != 0)
        print_error("group %d user %s account %s partition %s mount %s since %ju until %ju\n",
                    (int)filter->group, filter->user, filter->account, filter->partition,
                    filter->mount, filter->since_ns, filter->until_ns);
    assert_string_equal(fast, slow);
    free(slow);
    free(fast);
}

static uint64_t any_time(void)
{
    uint64_t time = NOW - DAYS * DAY - DAY + any(DAYS + 3) * DAY;

    return any(2) ? time + any(DAY) : time - time % DAY + any(2);
}

static void assert_any_same(void)
{
    struct history_filter filter = {.uid = any(8) ? UINT32_MAX : 1001,
                                    .group = 1 + any(HISTORY_BY_DAY),
                                    .sort = any(HISTORY_JOBS + 1),
                                    .reverse = any(2),
                                    .state = any(4) ? HISTORY_ANY : any(3),
                                    .since_ns = any(3) ? any_time() : 0,
                                    .until_ns = any(3) ? 0 : any_time(),
                                    .limit = any(3) ? 0 : 2};

    filter.user = ONE_OF(NULL, NULL, NULL, "bob", "alice,1002", "1001");
    filter.account = ONE_OF(NULL, NULL, NULL, "physics", "physics,chemistry");
    filter.partition = ONE_OF(NULL, NULL, NULL, "debug", "batch,x");
    filter.name = ONE_OF(NULL, NULL, NULL, NULL, NULL, "a");
    filter.mount = ONE_OF(NULL, NULL, "/scratch", "/home", "/scratch,/home");
    assert_same(&filter);
}

static const char *const groups[] = {"user", "account", "partition", "name", "mount", "day"};

/* All periods, by all groups; the sums are used. */
static void assert_all_same(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        struct history_filter filter = {.uid = UINT32_MAX,
                                        .group = (enum history_group)history_group_parse(groups[i]),
                                        .sort = HISTORY_WAIT};

        rolled = 0;
        assert_same(&filter);
        assert_true(rolled > 0);
        filter.mount = "/scratch";
        assert_same(&filter);
    }
}

/* --- tests --------------------------------------------------------------------------------------
 */

static void set_zone(const char *zone)
{
    assert_int_equal(setenv("TZ", zone, 1), 0);
    tzset();
}

/* Small limits, so that everything happens with few jobs. */
static void make_small(void)
{
    opened->rollup.many = 20;
    opened->rollup.few = 2;
    opened->rollup.piece = 5;
}

static int rollup_set_up(void **state)
{
    store_set_up(state);
    make_small();
    sqlite3_trace_v2(opened->db, SQLITE_TRACE_STMT, trace, NULL);
    set_zone("Asia/Kathmandu");
    return 0;
}

static int rollup_tear_down(void **state)
{
    set_zone("UTC0");
    return folder_tear_down(state);
}

static void fill(void)
{
    struct error error;

    assert_ok(store_begin(opened, false, &error), error);
    for (uint32_t i = 0; i < JOBS; i++)
        put_any(i);
    assert_ok(store_commit(opened, &error), error);
}

/* Run at most `times`. Returns whether there is more to do. */
static bool sweep(uint64_t now_ns, unsigned times)
{
    struct error error;
    bool more = true;

    for (unsigned i = 0; more && i < times; i++)
        assert_ok(store_sweep(opened, now_ns, &more, &error), error);
    return more;
}

static int64_t number(const char *text)
{
    struct error error;
    int64_t value = -1;

    assert_ok(store_number(opened, text, &value, &error), error);
    return value;
}

/* Check every stage while the sums are made. */
static void test_while_they_are_made(void **state)
{
    (void)state;
    fill();
    do {
        for (int i = 0; i < 20; i++)
            assert_any_same();
    } while (sweep(NOW, 7));
    for (int i = 0; i < 2000; i++)
        assert_any_same();
    assert_all_same();
    assert_true(number("SELECT count(*) FROM rollup_block WHERE days = 8") > 20);
    assert_int_equal(number("SELECT count(*) FROM rollup_block WHERE upto_ns > 1000000000 * "
                            "(1790000000 - 3600)"),
                     0);
}

static void test_after_changes(void **state)
{
    uint64_t now = NOW;
    unsigned stale = 0;

    (void)state;
    fill();
    (void)sweep(now, 10000);
    for (int round = 0; round < 60; round++) {
        for (uint64_t i = any(6); i > 0; i--)
            put_any((uint32_t)any(JOBS));
        stale += number("SELECT count(*) FROM rollup_block WHERE upto_ns = 0") > 0;
        for (int i = 0; i < 10; i++)
            assert_any_same();
        now += 40 * 60 * SECOND;
        (void)sweep(now, (unsigned)any(3) ? 10000 : 3);
        for (int i = 0; i < 30; i++)
            assert_any_same();
    }
    assert_true(stale > 20);
    (void)sweep(now + 2 * HOUR, 10000);
    assert_all_same();
}

/* After jobs are deleted one by one, no block of them remains, and none is made over and over. */
static void test_after_deletions(void **state)
{
    (void)state;
    fill();
    (void)sweep(NOW, 10000);
    assert_all_same();
    opened->keep_ns = DAYS * DAY;
    for (uint64_t now = NOW; now < NOW + 100 * DAY; now += 30 * HOUR) {
        (void)sweep(now, (unsigned)any(3) ? 10000 : 2);
        for (int i = 0; i < 5; i++)
            assert_any_same();
    }
    (void)sweep(NOW + 100 * DAY, 10000);
    assert_all_same();
    assert_int_equal(number("SELECT count(*) FROM rollup_block WHERE days = 8 AND first_ns <= "
                            "1000000000 * (1790000000 - 100 * 86400) - 691200000000000"),
                     0);
    assert_int_equal(number("SELECT count(*) FROM rollup WHERE (kind IN (2, 5), first_ns) NOT IN "
                            "(SELECT days = 32, first_ns FROM rollup_block)"),
                     0);
}

/* The triggers also notice statements that bypass the code of the store. */
static void test_other_writers(void **state)
{
    static const char *const changes[] = {
        "UPDATE job SET account = 'other' WHERE id = 100",
        "UPDATE job SET end_ns = end_ns + 86400000000000 WHERE id = 200",
        "UPDATE job SET ended = 0, end_ns = 9223372036854775807 WHERE id = 300",
        "DELETE FROM job WHERE id = 301",
    };
    struct error error;

    (void)state;
    fill();
    (void)sweep(NOW, 10000);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        assert_ok(store_exec(opened, changes[i], &error), error);
        assert_all_same();
    }
}

/* Sums that overflow are read from the jobs, and so are days that start within a quarter of an
 * hour. */
static void test_what_they_cannot_say(void **state)
{
    struct history_filter by_user = {.uid = UINT32_MAX, .group = HISTORY_BY_USER};
    struct history_filter by_day = {.uid = UINT32_MAX, .group = HISTORY_BY_DAY};
    struct error error;

    (void)state;
    fill();
    /* one minute before the end of a day of UTC, and 14 */
    assert_ok(store_exec(opened,
                         "UPDATE job SET ended = 1, partition = 'debug', end_ns = "
                         "1789088400000000000, start_ns = 1789084800000000000 - 60000000000 - "
                         "(id - 100) * 780000000000 WHERE id IN (100, 101)",
                         &error),
              error);
    (void)sweep(NOW, 10000);
    set_zone("XXX-00:07");
    assert_same(&by_day);
    assert_ok(store_exec(opened,
                         "UPDATE job SET read_bytes = 9223372036854775807, steps = 5000000000 "
                         "WHERE id IN (250, 251, 252, 253)",
                         &error),
              error);
    (void)sweep(NOW + 2 * HOUR, 10000);
    (void)sweep(NOW + 4 * HOUR, 10000);
    assert_same(&by_user);
    assert_same(&by_day);
    for (int i = 0; i < 500; i++)
        assert_any_same();
}

/* The sums are of all states. */
static void test_slurm_states(void **state)
{
    struct history_filter failed = {.uid = UINT32_MAX,
                                    .group = HISTORY_BY_USER,
                                    .state = HISTORY_ENDED,
                                    .slurm_states = 1u << SLURM_STATE_FAILED};
    struct error error;

    (void)state;
    fill();
    assert_ok(store_exec(opened, "UPDATE job SET slurm_state = 'FAILED' WHERE id % 3 = 0", &error),
              error);
    (void)sweep(NOW, 10000);
    assert_all_same();
    assert_same(&failed);
    failed.mount = "/scratch";
    assert_same(&failed);
}

/* More jobs than fit into a piece have ended at the same time. Because the clock was set back, one
 * of them started after that time, and is in no earlier period. */
static void test_one_instant(void **state)
{
    struct history_filter by_user = {.uid = UINT32_MAX, .group = HISTORY_BY_USER};
    const uint64_t end = NOW - 50 * DAY;
    struct error error;

    (void)state;
    fill();
    assert_ok(store_exec(opened,
                         "UPDATE job SET ended = 1, end_ns = 1785680000000000000, start_ns = "
                         "1785680000000000000 + (id = 115) * 40 * 86400000000000 "
                         "WHERE id BETWEEN 100 AND 130",
                         &error),
              error);
    (void)sweep(NOW, 10000);
    for (by_user.until_ns = end; by_user.until_ns < NOW; by_user.until_ns += DAY)
        assert_same(&by_user);
}

/* A small store has no sums, and a block of few jobs has none. */
static void test_few_jobs(void **state)
{
    (void)state;
    fill();
    opened->rollup.many = JOBS + 1;
    (void)sweep(NOW, 10000);
    assert_int_equal(number("SELECT count(*) FROM rollup_block"), 0);
    opened->rollup.many = JOBS;
    opened->rollup.few = 1000;
    opened->rollup.piece = 1000;
    (void)sweep(NOW, 10000);
    assert_int_equal(number("SELECT count(*) FROM rollup_block"), 0);
    opened->rollup.few = 50;
    opened->rollup.at_ns[ROLLUP_SHORT] = opened->rollup.at_ns[ROLLUP_LONG] = 0;
    (void)sweep(NOW, 10000);
    assert_int_equal(number("SELECT count(*) FROM rollup_block WHERE days = 8"), 0);
    assert_true(number("SELECT count(*) FROM rollup_block WHERE days = 32") > 0);
    for (int i = 0; i < 200; i++)
        assert_any_same();
}

static int kill_at(unsigned what, void *left, void *statement, void *text)
{
    (void)what;
    (void)statement;
    (void)text;
    if (--*(uint64_t *)left == 0)
        (void)raise(SIGKILL);
    return 0;
}

/* The process that adds jobs and makes sums is killed after `left` more statements, in the middle
 * of anything. */
static bool is_killed(uint64_t left)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        opened = open_store(&directory);
        make_small();
        sqlite3_trace_v2(opened->db, SQLITE_TRACE_STMT, kill_at, &left);
        for (int i = 0; i < 3; i++)
            put_any((uint32_t)any(JOBS));
        (void)sweep(NOW + DAY, 10000);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        assert_int_equal(WTERMSIG(status), SIGKILL);
    else
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static void test_killed(void **state)
{
    unsigned killed = 0;

    (void)state;
    fill();
    for (int round = 0; round < 60; round++) {
        store_close(opened);
        opened = NULL; /* a process must not use the store of another one */
        killed += is_killed(1 + any(400));
        opened = open_store(&directory);
        make_small();
        for (int i = 0; i < 10; i++)
            assert_any_same();
    }
    assert_true(killed > 20);
    sqlite3_trace_v2(opened->db, SQLITE_TRACE_STMT, trace, NULL);
    (void)sweep(NOW + DAY, 10000);
    assert_all_same();
    assert_int_equal(number("SELECT count(*) FROM pragma_integrity_check "
                            "WHERE integrity_check <> 'ok'"),
                     0);
}

#define ROLLUP_TEST(name) cmocka_unit_test_setup_teardown(name, rollup_set_up, rollup_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROLLUP_TEST(test_while_they_are_made),
        ROLLUP_TEST(test_after_changes),
        ROLLUP_TEST(test_after_deletions),
        ROLLUP_TEST(test_other_writers),
        ROLLUP_TEST(test_what_they_cannot_say),
        ROLLUP_TEST(test_slurm_states),
        ROLLUP_TEST(test_one_instant),
        ROLLUP_TEST(test_few_jobs),
        ROLLUP_TEST(test_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
