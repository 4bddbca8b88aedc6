/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which jobs `jobio history` lists, and in which order. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/store/history.h"
#include "collector/store/store_impl.h"

static int keep_row(const struct history_row *row, void *arg)
{
    *(struct history_row *)arg = *row;
    return 0;
}

struct seen {
    uint32_t jobids[8];
    size_t n;
};

static int note_job(const struct history_row *row, void *arg)
{
    struct seen *seen = arg;

    assert_true(seen->n < 8);
    seen->jobids[seen->n++] = row->jobid;
    return 0;
}

/* `want`: the jobs as text, in the expected order. */
static void assert_history(struct history_filter filter, const char *want)
{
    struct seen seen = {0};
    struct error error;
    char got[64] = "";

    assert_ok(store_history(opened, &filter, note_job, &seen, &error), error);
    for (size_t i = 0; i < seen.n; i++)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", i ? " " : "",
                       seen.jobids[i]);
    assert_string_equal(got, want);
}

static void test_history_filters(void **state)
{
    const uint32_t all = UINT32_MAX;
    int r;
    struct error error;
    struct history_row row;

    (void)state;
    fill_history();
    assert_history((struct history_filter){.uid = all}, "4 3 2 1");
    assert_history((struct history_filter){.uid = all, .limit = 2}, "4 3");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_READ}, "3 1 4 2");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_WRITE, .limit = 1}, "3");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_WAIT, .limit = 1}, "3");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_META}, "4 3 2 1");
    assert_history((struct history_filter){.uid = 1000}, "3 1");
    assert_history((struct history_filter){.uid = all, .user = "bob"}, "4 2");
    assert_history((struct history_filter){.uid = all, .user = "2000"}, "4 2");
    assert_history((struct history_filter){.uid = 1000, .user = "bob"}, "");
    assert_history((struct history_filter){.uid = 1000, .user = "2000"}, "");
    assert_history((struct history_filter){.uid = 1000, .user = "alice"}, "3 1");
    assert_history((struct history_filter){.uid = all, .user = "x' OR 1=1 --"}, "");
    /* the first ns of job 2 and the last of job 3, and one ns more on each side */
    assert_history((struct history_filter){.uid = all,
                                           .since_ns = NOW + 20 * SECOND,
                                           .until_ns = NOW + 40 * SECOND},
                   "3 2");
    assert_history((struct history_filter){.uid = all,
                                           .since_ns = NOW + 20 * SECOND - 1,
                                           .until_ns = NOW + 40 * SECOND + 1},
                   "4 3 2 1");
    assert_history((struct history_filter){.uid = all, .since_ns = NOW + 500 * SECOND}, "4");
    r = store_history(opened, &(struct history_filter){.uid = all}, keep_row, &row, &error);
    assert_int_equal(r, 0);
}

static int stop_at_once(const struct history_row *row, void *arg)
{
    (void)row;
    (void)arg;
    return 42;
}

static void test_history_can_be_stopped(void **state)
{
    const struct history_filter all = {.uid = UINT32_MAX};
    struct error error;

    (void)state;
    fill_history();
    assert_int_equal(store_history(opened, &all, stop_at_once, NULL, &error), 42);
    assert_history(all, "4 3 2 1");
}

#define HISTORY(...) ((struct history_filter){.uid = UINT32_MAX, __VA_ARGS__})

static void test_lists_of_names(void **state)
{
    struct history_row row;
    struct error error;

    (void)state;
    fill_history();
    assert_history(HISTORY(.user = "bob,alice"), "4 3 2 1");
    assert_history(HISTORY(.user = "1000,bob"), "4 3 2 1");
    assert_history(HISTORY(.user = "1000,2000", .limit = 3), "4 3 2");
    assert_history(HISTORY(.user = "1000,nobody"), "3 1");
    assert_history((struct history_filter){.uid = 1000, .user = "1000,bob"}, "3 1");
    assert_history(HISTORY(.account = "physics"), "4 3 2 1");
    assert_history(HISTORY(.account = "chemistry"), "");
    assert_history(HISTORY(.account = "chemistry,physics", .user = "bob"), "4 2");
    assert_history(HISTORY(.partition = "debug", .reverse = true), "1 2 3 4");
    assert_history(HISTORY(.partition = "batch"), "");
    assert_history(HISTORY(.name = "run 'it'; \x1b[31m"), "4 3 2 1");
    assert_history(HISTORY(.name = "run"), "");
    assert_history(HISTORY(.jobs = "3"), "3");
    assert_history(HISTORY(.jobs = "3,1,9"), "3 1");
    assert_history(HISTORY(.state = HISTORY_RUNNING), "4");
    assert_history(HISTORY(.state = HISTORY_ENDED), "3 2 1");
    assert_history(HISTORY(.sort = HISTORY_READ, .reverse = true), "2 4 1 3");
    assert_history(HISTORY(.sort = HISTORY_ERRORS), "4 3 2 1");
    assert_history(HISTORY(.sort = HISTORY_ELAPSED, .limit = 1), "4");
    assert_int_equal(store_history(opened, &HISTORY(.jobs = "x"), keep_row, &row, &error), -EINVAL);
    assert_int_equal(store_history(opened, &HISTORY(.name = "a,,b"), keep_row, &row, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "name"));
}

static void put_end(uint32_t jobid, enum slurm_state state, uint32_t code)
{
    struct job_account *job = job_make(jobid, NOW);
    const struct slurm_end end = {state, true, code, 0};
    struct error error;

    assert_ok(store_put_slurm_end(opened, &job->key, &end, &error), error);
    job_account_destroy(job);
}

/* Jobs 1 and 2 have a state, job 3 has ended but none, and job 4 runs. */
static void test_slurm_states(void **state)
{
    const uint32_t failed = 1u << SLURM_STATE_FAILED, unknown = 1u << SLURM_STATE_UNKNOWN;
    struct history_row row;
    struct error error;

    (void)state;
    fill_history();
    put_end(1, SLURM_STATE_COMPLETED, 0);
    put_end(2, SLURM_STATE_FAILED, 3);
    assert_history(HISTORY(.state = HISTORY_ENDED, .slurm_states = failed), "2");
    assert_history(HISTORY(.slurm_states = failed), "4 2");
    assert_history(HISTORY(.state = HISTORY_ENDED, .slurm_states = failed | unknown), "3 2");
    assert_history(HISTORY(.state = HISTORY_ENDED, .slurm_states = 1u << SLURM_STATE_TIMEOUT), "");
    assert_history(HISTORY(.state = HISTORY_ENDED), "3 2 1");
    assert_int_equal(store_history(opened, &HISTORY(.jobs = "2"), keep_row, &row, &error), 0);
    assert_int_equal(row.slurm.state, SLURM_STATE_FAILED);
    assert_true(row.slurm.has_exit);
    assert_int_equal(row.slurm.exit_code, 3);
    assert_int_equal(store_history(opened, &HISTORY(.jobs = "3"), keep_row, &row, &error), 0);
    assert_int_equal(row.slurm.state, SLURM_STATE_UNKNOWN);
    assert_false(row.slurm.has_exit);
}

static int note_key(const struct job_key *key, void *arg)
{
    assert_int_equal(key->jobid, 7);
    assert_string_equal(key->cluster, "linux");
    ++*(int *)arg;
    return 0;
}

static int count_stateless(uint64_t since_ns)
{
    struct error error;
    int n = 0;

    assert_ok(store_each_stateless(opened, since_ns, note_key, &n, &error), error);
    return n;
}

/* A later write of the job keeps how Slurm ended it; another run of the job has its own end. */
static void test_slurm_end_is_kept(void **state)
{
    const struct slurm_end end = {SLURM_STATE_CANCELLED, true, 0, 15};
    struct job_account *job = job_make(7, NOW), **found;
    struct error error;

    (void)state;
    assert_int_equal(store_put_slurm_end(opened, &job->key, &end, &error), -ENOENT);
    put_rows(job, NULL, true);
    assert_int_equal(store_put_slurm_end(opened, &job->key, &end, &error), -ENOENT);
    job->ended = true;
    job->end_ns = NOW + SECOND;
    put_rows(job, NULL, true);
    assert_int_equal(count_stateless(NOW), 1);
    assert_int_equal(count_stateless(NOW + SECOND + 1), 0);
    assert_ok(store_put_slurm_end(opened, &job->key, &end, &error), error);
    assert_int_equal(count_stateless(NOW), 0);
    put_rows(job, NULL, true);
    job->key.restart = 1;
    put_rows(job, NULL, true);
    assert_int_equal(count_stateless(NOW), 1);
    found = jobs_found(7, true, UINT32_MAX);
    for (size_t i = 0; i < 2; i++) {
        const struct slurm_end *got = &found[i]->slurm;
        bool first = found[i]->key.restart == 0;

        assert_int_equal(got->state, first ? SLURM_STATE_CANCELLED : SLURM_STATE_UNKNOWN);
        assert_int_equal(got->has_exit, first);
        assert_int_equal(got->exit_signal, first ? 15 : 0);
    }
    store_jobs_free(found);
    job_account_destroy(job);
}

static struct history_filter parse_states(const char *list)
{
    struct history_filter filter = {.uid = 7};
    struct error error;

    assert_ok(history_states_parse(list, &filter, &error), error);
    return filter;
}

static void test_words_of_states(void **state)
{
    const uint32_t failed = 1u << SLURM_STATE_FAILED, oom = 1u << SLURM_STATE_OOM;
    struct history_filter filter;
    struct error error;
    char text[HISTORY_STATES_SIZE];

    (void)state;
    assert_int_equal(parse_states("R").state, HISTORY_RUNNING);
    assert_int_equal(parse_states("running").slurm_states, 0);
    assert_int_equal(parse_states("ended").state, HISTORY_ENDED);
    assert_int_equal(parse_states("running,ended").state, HISTORY_ANY);
    assert_int_equal(parse_states("ended,F").slurm_states, 0);
    assert_int_equal(parse_states("f,Out_Of_Memory").slurm_states, failed | oom);
    assert_int_equal(parse_states("f,OOM").state, HISTORY_ENDED);
    assert_int_equal(parse_states("F,R").state, HISTORY_ANY);
    assert_int_equal(parse_states("F,R").slurm_states, failed);
    assert_int_equal(parse_states("unknown").slurm_states, 1);
    assert_int_equal(history_states_parse("F,,R", &filter, &error), -EINVAL);
    assert_int_equal(history_states_parse("", &filter, &error), -EINVAL);
    assert_int_equal(history_states_parse("FAIL", &filter, &error), -EINVAL);
    assert_int_equal(history_states_parse("PD", &filter, &error), -EINVAL);
    assert_non_null(strstr(error.text, "\"PD\": jobio does not distinguish"));
    assert_string_equal(history_slurm_states_format(failed | oom | 1, text),
                        "UNKNOWN,FAILED,OUT_OF_MEMORY");
    assert_int_equal(history_slurm_states_parse(text), failed | oom | 1);
    assert_int_equal(strlen(history_slurm_states_format(UINT32_MAX, text)), 104);
    assert_int_equal(history_slurm_states_parse("R"), 0);
}

/* A name with a comma and a backslash can be searched for. */
static void test_commas_in_names(void **state)
{
    struct job_account *job = job_make(9, NOW);

    (void)state;
    free(job->name);
    job->name = strdup("a,b\\c");
    put_rows(job, NULL, true);
    job_account_destroy(job);
    assert_history(HISTORY(.name = "a\\,b\\\\c"), "9");
    assert_history(HISTORY(.name = "x,a\\,b\\c"), "9");
    assert_history(HISTORY(.name = "a,b\\c"), "");
}

static void test_of_a_mount(void **state)
{
    struct history_row row;
    struct error error;

    (void)state;
    fill_history();
    assert_history(HISTORY(.mount = "/scratch"), "4 3 2 1");
    assert_history(HISTORY(.mount = "/nowhere"), "");
    assert_history(HISTORY(.mount = "/scratch,/mnt/mine", .limit = 2), "4 3");
    assert_history(HISTORY(.mount = "/scratch", .sort = HISTORY_READ), "3 1 4 2");
    assert_history(HISTORY(.mount = "/scratch", .sort = HISTORY_READ, .reverse = true, .limit = 2),
                   "2 4");
    assert_ok(
        store_history(opened, &HISTORY(.mount = "/mnt/mine", .jobs = "3"), keep_row, &row, &error),
        error);
    assert_int_equal(row.reads.requests, 0);
    assert_int_equal(row.writes.bytes, 4000);
    assert_int_equal(row.wait_ns, 80 * 1000);
    /* 40 reads, 80 writes, 3 opens and a copy */
    assert_int_equal(row.longest_wait_ns, 40 * 900 * 80 / 124);
    assert_ok(store_history(opened, &HISTORY(.mount = "/mnt/mine,/scratch", .jobs = "3"), keep_row,
                            &row, &error),
              error);
    assert_int_equal(row.reads.requests, 40);
    assert_int_equal(row.writes.bytes, 4512);
    assert_int_equal(row.meta.errors, 3);
}

struct groups {
    char text[512];
    enum history_group by;
};

static int note_group(const struct history_row *row, void *arg)
{
    struct groups *groups = arg;
    size_t used = strlen(groups->text);
    const char *key = groups->by == HISTORY_BY_USER    ? row->user
                      : groups->by == HISTORY_BY_MOUNT ? row->mount
                      : groups->by == HISTORY_BY_DAY   ? row->day
                                                       : row->account;

    (void)snprintf(groups->text + used, sizeof(groups->text) - used, "%s:%d:%d:%d:%d ", key,
                   (int)row->jobs, (int)(row->elapsed_ns / SECOND), (int)row->reads.requests,
                   (int)row->writes.bytes);
    return 0;
}

static void assert_groups(struct history_filter filter, const char *want)
{
    struct groups groups = {.by = filter.group};
    struct error error;

    assert_ok(store_history(opened, &filter, note_group, &groups, &error), error);
    assert_string_equal(groups.text, want);
}

static void test_groups(void **state)
{
    (void)state;
    fill_history();
    assert_groups(HISTORY(.group = HISTORY_BY_USER, .sort = HISTORY_WAIT),
                  "alice:2:10:70:8024 bob:2:10:30:4024 ");
    assert_groups(HISTORY(.group = HISTORY_BY_USER, .sort = HISTORY_WAIT, .reverse = true),
                  "bob:2:10:30:4024 alice:2:10:70:8024 ");
    assert_groups(HISTORY(.group = HISTORY_BY_USER, .sort = HISTORY_WAIT, .limit = 1),
                  "alice:2:10:70:8024 ");
    assert_groups((struct history_filter){.uid = 2000, .group = HISTORY_BY_USER},
                  "bob:2:10:30:4024 ");
    assert_groups(HISTORY(.group = HISTORY_BY_MOUNT, .sort = HISTORY_WRITE),
                  "/mnt/mine:4:20:0:10000 /scratch:4:20:100:2048 ");
    assert_groups(HISTORY(.group = HISTORY_BY_MOUNT, .mount = "/scratch"),
                  "/scratch:4:20:100:2048 ");
    /* a job on two of the mounts counts once */
    assert_groups(HISTORY(.group = HISTORY_BY_USER, .mount = "/scratch,/mnt/mine",
                          .sort = HISTORY_WAIT, .state = HISTORY_ENDED),
                  "alice:2:10:70:8024 bob:1:5:10:1512 ");
    assert_groups(HISTORY(.group = HISTORY_BY_ACCOUNT), "physics:4:20:100:12048 ");
    assert_groups(HISTORY(.group = HISTORY_BY_DAY), "2026-09-21:4:20:100:12048 ");
}

/* A step that is written twice, and two steps that share a mount. */
static void test_sums_of_mounts(void **state)
{
    struct job_account *job = job_make(5, NOW);
    struct step_account step;
    struct history_row row;
    struct error error;

    (void)state;
    for (uint64_t scale = 1; scale <= 3; scale++) {
        step_make(&step, 0, NOW, scale);
        put_rows(job, &step, scale == 3);
        step_account_clear(&step);
    }
    step_make(&step, 1, NOW, 10);
    put_rows(job, &step, true);
    step_account_clear(&step);
    job_account_destroy(job);
    assert_ok(store_history(opened, &HISTORY(.mount = "/scratch"), keep_row, &row, &error), error);
    assert_int_equal(row.reads.requests, 13);
    assert_int_equal(row.reads.bytes, 13 * 4096);
    assert_int_equal(row.meta.requests, 6);
    assert_int_equal(row.errors, 6);
    assert_int_equal(row.wait_ns, (13 + 2 + 6) * 1000);
}

/* --- what the statements look at ----------------------------------------------------------------
 */

static char traced[8192];

static int trace(unsigned what, void *arg, void *statement, void *text)
{
    (void)what;
    (void)arg;
    (void)statement;
    if (strstr(text, "UNION ALL"))
        (void)snprintf(traced, sizeof(traced), "EXPLAIN QUERY PLAN %s", (char *)text);
    return 0;
}

/* Every filter uses its index, and never scans a whole table. */
static void assert_plan(struct history_filter filter, const char *want)
{
    sqlite3_stmt *row = NULL;
    struct error error;
    struct history_row last;
    bool found = false;

    sqlite3_trace_v2(opened->db, SQLITE_TRACE_STMT, trace, NULL);
    assert_ok(store_history(opened, &filter, keep_row, &last, &error), error);
    sqlite3_trace_v2(opened->db, 0, NULL, NULL);
    assert_int_equal(sqlite3_prepare_v2(opened->db, traced, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *step = column_text(row, 3);

        found |= strstr(step, want) != NULL;
        /* the lists of the filter, and the few names of mounts */
        assert_false(strncmp(step, "SCAN", 4) == 0 && !strstr(step, "json_each") &&
                     !strstr(step, "mount"));
    }
    (void)sqlite3_finalize(row);
    if (!found)
        print_error("no %s in the plan of %s\n", want, traced);
    assert_true(found);
}

static void test_plans(void **state)
{
    (void)state;
    fill_history();
    assert_plan(HISTORY(.since_ns = NOW), "job_start (start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.since_ns = NOW, .sort = HISTORY_WAIT),
                "job_start (start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.user = "bob"), "job_user_start (user=? AND start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.user = "bob,alice"),
                "job_user_start (user=? AND start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.user = "2000"), "job_uid_start (uid=? AND start_ns>? AND start_ns<?)");
    assert_plan((struct history_filter){.uid = 1000},
                "job_uid_start (uid=? AND start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.account = "physics"),
                "job_account_start (account=? AND start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.name = "x"), "job_name_start (name=? AND start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.jobs = "1,2"), "INTEGER PRIMARY KEY (rowid=?)");
    assert_plan(HISTORY(.jobs = "1,2"), "job_number (jobid=?)");
    assert_plan(HISTORY(.jobs = "1,2"), "job_array (array_job=?)");
    assert_plan(HISTORY(.jobs = "1_2-3"),
                "job_array (array_job=? AND array_task>? AND array_task<?)");
    assert_plan(HISTORY(.nodes = "n1"), "sqlite_autoindex_step_1 (job_id=?)");
    assert_plan(HISTORY(.partition = "debug"), "job_start (start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.mount = "/scratch"), "PRIMARY KEY (job_id=? AND mount_id=?)");
    assert_plan(HISTORY(.group = HISTORY_BY_USER), "job_start (start_ns>? AND start_ns<?)");
    assert_plan(HISTORY(.group = HISTORY_BY_MOUNT), "PRIMARY KEY (job_id=?)");
}

/* --- one state of the store ---------------------------------------------------------------------
 */

#define DAY (24 * 3600 * SECOND)

static void put_long_job(bool ended)
{
    struct job_account *job = job_make(5, NOW);

    job->ended = ended;
    job->end_ns = NOW + 3 * DAY;
    job->elapsed_ns = 3 * DAY;
    put_rows(job, NULL, false);
    job_account_destroy(job);
}

/* Called on the reader after its first statement: the writer ends the job. */
static int end_long_job(unsigned what, void *longest_asked, void *statement, void *ns)
{
    (void)what;
    (void)ns;
    if (strstr(sqlite3_sql(statement), "job_long") && (*(unsigned *)longest_asked)++ == 0)
        put_long_job(true);
    return 0;
}

static int count_jobs(const struct history_row *row, void *arg)
{
    *(uint64_t *)arg += row->jobs ? row->jobs : 1;
    return 0;
}

/* A job that ends between the statements of an answer, as the longest one, is running in it. */
static void assert_one_state(enum history_group group)
{
    const struct history_filter filter = {
        .uid = UINT32_MAX, .since_ns = NOW + 2 * DAY, .group = group};
    struct store *reader = open_reader(&directory);
    unsigned longest_asked = 0;
    uint64_t jobs = 0;
    struct error error;

    put_long_job(false);
    sqlite3_trace_v2(reader->db, SQLITE_TRACE_PROFILE, end_long_job, &longest_asked);
    assert_ok(store_history(reader, &filter, count_jobs, &jobs, &error), error);
    assert_int_equal(longest_asked, 1);
    assert_int_equal(jobs, 1);
    jobs = 0;
    assert_ok(store_history(reader, &filter, count_jobs, &jobs, &error), error);
    assert_int_equal(jobs, 1);
    store_close(reader);
}

static void test_one_state_of_the_store(void **state)
{
    (void)state;
    assert_one_state(HISTORY_NO_GROUP);
    assert_one_state(HISTORY_BY_USER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_history_filters),
        STORE_TEST(test_history_can_be_stopped),
        STORE_TEST(test_lists_of_names),
        STORE_TEST(test_slurm_states),
        STORE_TEST(test_slurm_end_is_kept),
        cmocka_unit_test(test_words_of_states),
        STORE_TEST(test_commas_in_names),
        STORE_TEST(test_of_a_mount),
        STORE_TEST(test_groups),
        STORE_TEST(test_sums_of_mounts),
        STORE_TEST(test_plans),
        STORE_TEST(test_one_state_of_the_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
