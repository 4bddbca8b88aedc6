/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command prints the same from a real ClickHouse as from the store that was delivered to it. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/store/array_json.h"
#include "common/cleanup.h"
#include "tests/deliver/history_rig.h"

/* The order of mounts in a document is not significant. */
#define SORT_MOUNTS                                                            \
    "| jq -S 'walk(if type == \"object\" and has(\"mounts\") then .mounts |= " \
    "sort else . end)'"

/* Without a password users see only their own jobs: these tests may run as any user. */
static void write_password(char path[256])
{
    FILE *file;

    (void)snprintf(path, 256, "%s/reader", directory.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("writer:w\n", file);
    (void)fclose(file);
}

/* The output of a command, malloc'd; @ in it is replaced by the source. */
static char *jobio(const char *words, const char *where, int *status)
{
    bool ask = strstr(words, "--url @") || strstr(where, "--url");
    char password[256];
    size_t before = strcspn(words, "@");
    char command[2048];
    char *text = calloc(1, 1 << 20);
    FILE *out;

    ask = ask && !strstr(words, "--credentials");
    write_password(password);
    (void)snprintf(command, sizeof(command), "./jobio %.*s%s%s%s%s 2>&1 %s", (int)before, words,
                   words[before] ? where : "", words[before] ? words + before + 1 : "",
                   ask ? " --credentials " : "", ask ? password : "",
                   strstr(words, "json") ? SORT_MOUNTS : "");
    out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(text);
    (void)!fread(text, 1, (1 << 20) - 1, out);
    *status = pclose(out);
    return text;
}

/* The command prints the same from both, and ends with that status. */
static void assert_same_answer(const char *format, int status)
{
    char clickhouse[256], store[256];
    int from_store, from_clickhouse;
    _free_ char *stored = NULL, *told = NULL;

    (void)snprintf(store, sizeof(store), "--store %s", directory.store);
    (void)snprintf(clickhouse, sizeof(clickhouse), "--from clickhouse --cluster linux --url %s",
                   rig_server.url);
    stored = jobio(format, store, &from_store);
    told = jobio(format, clickhouse, &from_clickhouse);
    if (strcmp(stored, told))
        print_error("%s\n%s---\n%s", format, stored, told);
    assert_true(!strcmp(stored, told));
    assert_int_equal(WEXITSTATUS(from_store), status);
    assert_int_equal(from_store, from_clickhouse);
    assert_true(*stored);
}

/* Use one rule that applies to each job that read. */
static void write_rule(void)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/advice", directory.path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(setenv("JOBIO_ADVICE", path, 1), 0);
    (void)snprintf(path, sizeof(path), "%s/advice/rule.conf", directory.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("[reads]\nof = job\nwhen = read_requests > 0\nlost = 0.25\n"
                "text = It read {read_bytes:bytes}.\n",
                file);
    (void)fclose(file);
}

/* Mounts whose names differ only in invalid text are separate, even if both are printed as "?". */
static void test_odd_mounts(void **state)
{
    static const char *const names[] = {"/mnt/\xff", "/mnt/\\xff"};
    struct job_account *job = job_make(1, NOW);
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 3);
    for (size_t i = 0; i < 2; i++) {
        struct io_mount *m = &step.mounts.items[i];

        free(m->mount);
        free(m->source);
        free(m->fstype);
        m->mount = strdup(names[i]);
        m->source = strdup(i ? "srv:/\x80" : "srv:/\x81");
        m->fstype = strdup("nfs4");
        m->private = false;
    }
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    free(step.mounts.items[1].mount);
    step.mounts.items[1].mount = strdup("/mnt/\xfe");
    step.tagged_at_ns++;
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    rig_assert_answer(
        "SELECT mount, source FROM jobio.io FINAL ORDER BY mount, source, tagged_at_ns",
        "/mnt/\\\\x5cxff\tsrv:/\\\\x80\n/mnt/\\\\xfe\tsrv:/\\\\x80\n"
        "/mnt/\\\\xff\tsrv:/\\\\x81\n/mnt/\\\\xff\tsrv:/\\\\x81\n");
    step_account_clear(&step);
    job_account_destroy(job);
    assert_same_answer("job 1 @ --json --steps", 0);
}

/* A run of a task of array 140, with sequential reads and random writes. */
static void put_task(uint32_t jobid, uint32_t task, uint32_t restart, uint64_t start_ns)
{
    struct job_account *job = job_make(jobid, start_ns);
    struct step_account step;
    struct error error;

    job->key.restart = restart;
    job->array_job = 140;
    job->array_task = task;
    job->elapsed_ns = (task + 1) * SECOND;
    job->ended = true;
    job->end_ns = start_ns + job->elapsed_ns;
    step_make(&step, 0, start_ns, task + restart + 1);
    step.mounts.items[0].io.ops[IO_READ]->sequential_requests = task + 1;
    step.mounts.items[1].io.ops[IO_WRITE]->sequential_requests = 1;
    step.mounts.items[1].io.ops[IO_WRITE]->random_requests = task;
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* Task 10 started first, task 2 ran twice, and the last one has the number of the array. */
static void put_array(void)
{
    put_task(141, 10, 0, NOW + 300 * SECOND);
    put_task(142, 2, 0, NOW + 310 * SECOND);
    put_task(142, 2, 1, NOW + 320 * SECOND);
    put_task(140, 11, 0, NOW + 330 * SECOND);
}

/* Rows of all kinds, fed to the store and from there to the database. */
static void put_all(void)
{
    feed_put(1, 0, 5, NULL);
    feed_put(1, 1, 7, NULL);
    feed_put(1, STEP_BATCH, 2, NULL);
    feed_put(2, STEP_EXTERN, 3, "bob");
    feed_put(3, 0, 1, "o'br\\ien");
    feed_end(1);
    feed_end(3);
    rig_put_odd_jobs();
    put_array();
    rig_put_state(1, SLURM_STATE_FAILED);
    rig_put_state(142, SLURM_STATE_REQUEUED);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    /* As jobiod does: the rows were delivered before the state is known. */
    rig_put_state(3, SLURM_STATE_TIMEOUT);
    step_queue_notify(feed.sink);
    feed_until(!feed_stats().waiting);
}

static const char *const answered[] = {
    "job 1 @ --json --steps",
    "job 1 @ --full",
    "job 1 @ --mpi",
    "job 1 @ --block",
    "job 2 @",
    "job 5 @ --all --json --steps",
    "job 5 @",
    "job 1 @ --json --steps --timeline",
    "job 1 @ --timeline",
    "job 142 @ --all --json --steps --timeline",
    "job 140_10 @",
    "job 140_2 @ --all --full",
    "array 140 @",
    "array 140 @ --json",
    "array 140 @ --csv",
    "history @ -j 140,142 -P",
    "history @ -S @0",
    "history @ -S @0 --json",
    "history @ -S @0 -u bob",
    "history @ -S @0 -u 1000 -n 2",
    "history @ -S @0 -u \"o'br\\\\ien\"",
    "history @ -S @0 --sort read -P",
    "history @ -S @0 --sort wait -n 3 -P -o JobID,User,Account,State,Start,End,Elapsed,Read,"
    "ReadReq,Write,Meta,MetaErr,Errors,WaitTime,LongestWait,Wait,Exact",
    "history @ -S @1790000101 -E @1790000150 -P",
    "history @ -S @1790000201 -P",
    "history @ -S @0 -u bob,alice,1000 -P",
    "history @ -S @0 -A physics,chemistry -r debug --name x,\"run 'it'; \x1b[31m\" -P",
    "history @ -j 1,3,77 -P",
    "history @ -j 140 -P",
    "history @ -j 140_[0-5] -j 1 -P",
    "history @ -N node1 -S @0 -P",
    "history @ -N n[1-3] -S @0 -P",
    "history @ -S @0 -s running -P",
    "history @ -S @0 -s ended --sort -errors -P",
    "history @ -S @0 --sort elapsed -n 2 -P",
    "history @ -S @0 -P -o JobID,Restart,State,ExitCode",
    "history @ -S @0 -s F,TO -P -o JobID,State,ExitCode",
    "history @ -S @0 -s RQ,unknown --json",
    "history @ -S @0 -s R,F -P -o JobID,State",
    "history @ -S @0 -s CA --group user -P",
    "history @ -S @0 -s unknown -P -o JobID,State",
    "history @ -S @0 --group user -P",
    "history @ -S @0 --group account --json",
    "history @ -S @0 --group day --sort jobs -n 1 -u bob -P",
    "advise @ --dry-run -S @0",
    "advise @ --dry-run -S @0 --json",
};

static const char *const unknown[] = {"job 77 @", "job 140_3 @", "array 141 @"};

static void test_the_command_agrees(void **state)
{
    int status;
    _free_ char *refused = NULL;

    (void)state;
    put_all();
    write_rule();
    for (size_t i = 0; i < ARRAY_SIZE(answered); i++)
        assert_same_answer(answered[i], 0);
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
        assert_same_answer(unknown[i], 1);
    refused = jobio("job 1 --from clickhouse --cluster other --url @", rig_server.url, &status);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(refused, "no such job: 1"));
}

/* One task, and more tasks than one query gets, not in the order of their numbers. */
static void test_a_large_array(void **state)
{
    const uint32_t n = ARRAY_TASKS_MAX + 7;
    char counted[32];
    int status;
    _free_ char *rule = NULL;

    (void)state;
    write_rule();
    put_task(139, 3, 0, NOW);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    assert_same_answer("array 140 @ --json", 0); /* of one */
    for (uint32_t i = 0; i < n; i++)
        put_task(140 + i, n - 1 - i, 0, NOW + i * SECOND);
    put_task(140, n - 1, 1, NOW + n * SECOND);
    step_queue_notify(feed.sink);
    feed_until(!feed_stats().waiting);
    assert_same_answer("array 140 @ --json", 0);
    assert_same_answer("array 140 @ --csv", 0);
    assert_same_answer("advise @ --dry-run -S @0 --json", 0);
    rule = jobio("advise --from clickhouse --cluster linux --url @ --dry-run -S @0 --json",
                 rig_server.url, &status);
    (void)snprintf(counted, sizeof(counted), "\"jobs\": %u,\n", n + 2); /* task 3, and a restart */
    assert_non_null(strstr(rule, counted));
}

/* A job number that two users had one after the other, and another job of the second user. */
static void put_holder(uint32_t jobid, const char *user, uint32_t uid, uint64_t start_ns)
{
    struct job_account *job = job_make(jobid, start_ns);
    struct step_account step;
    struct error error;

    free(job->user);
    job->user = strdup(user);
    job->uid = uid;
    job->ended = true;
    job->end_ns = start_ns + job->elapsed_ns;
    step_make(&step, 0, start_ns, uid % 10);
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    step_account_clear(&step);
    job_account_destroy(job);
}

static void put_holders(void)
{
    put_holder(6, "alice", 4101, NOW);
    put_holder(6, "bob", 4102, NOW + 100 * SECOND);
    put_holder(7, "bob", 4102, NOW + 200 * SECOND);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
}

static void test_a_number_of_two_users(void **state)
{
    static const char *const commands[] = {
        "history @ -S @0 -P -o JobID,User,ReadReq",
        "history @ -S @0 -u alice -P",
        "history @ -S @0 -u bob -P -o JobID,User,ReadReq",
        "history @ -S @0 -u 4101,bob -P",
        "history @ -S @0 --group user -P",
        "advise @ --dry-run -S @0 -u bob",
        "advise @ --dry-run -S @0 -u alice",
    };
    int status;
    _free_ char *alices = NULL;

    (void)state;
    write_rule();
    put_holders();
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        assert_same_answer(commands[i], 0);
    alices = jobio("history -j 6 -u alice -P -o JobID,User,ReadReq --from clickhouse "
                   "--cluster linux --url @",
                   rig_server.url, &status);
    assert_string_equal(alices, "JobID|User|ReadReq\n6|alice|1\n");
}

/* Without a password users see their own jobs, also if another user had the same number before. */
static void test_own_jobs_only(void **state)
{
    static const struct {
        const char *words, *say;
    } asked[] = {
        {"history -S @0 -P -o JobID,User,ReadReq", "JobID|User|ReadReq\n7|bob|2\n6|bob|2\n"},
        {"history -S @0 --group user -P -o User,Jobs", "User|Jobs\nbob|2\n"},
        {"job 6 --all --json | jq -c '[.[].job.user]'", "[\"bob\"]\n"},
    };

    (void)state;
    if (geteuid() != 0)
        skip();
    put_holders();
    for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
        size_t words = strcspn(asked[i].words, "|");
        char command[512], told[512] = "";
        FILE *out;

        (void)snprintf(command, sizeof(command),
                       "setpriv --reuid 4102 --regid 4102 --clear-groups -- ./jobio %.*s "
                       "--from clickhouse --cluster linux --url %s 2>&1 %s",
                       (int)words, asked[i].words, rig_server.url, asked[i].words + words);
        out = popen(command, "r");
        assert_non_null(out);
        (void)!fread(told, 1, sizeof(told) - 1, out);
        (void)pclose(out);
        assert_string_equal(told, asked[i].say);
    }
}

static char *columns(void)
{
    return clickhouse_ask(&rig_server, "SELECT name, type FROM system.columns"
                                       " WHERE database = 'jobio' AND table IN ('io', 'v_row')");
}

/* The table of an older jobio stores rows without the missing columns, which is reported; after the
 * upgrade it stores all columns. */
static void test_old_table(void **state)
{
    _free_ char *want = columns(), *got = NULL, *told = NULL, *task = NULL, *plain = NULL,
                *known = NULL;
    int status;

    (void)state;
    rig_make_old_table();
    put_task(141, 10, 0, NOW + 300 * SECOND);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed_stats().refused, 0);
    told = jobio("array 140 --from clickhouse --cluster linux --url @", rig_server.url, &status);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(told, "by an older jobio"));
    task = jobio("job 140_10 --from clickhouse --cluster linux --url @", rig_server.url, &status);
    assert_non_null(strstr(task, "by an older jobio"));
    plain = jobio("job 141 --from clickhouse --cluster linux --url @", rig_server.url, &status);
    assert_non_null(strstr(plain, "44.0 KiB read, 1.6 KiB written, 37 calls"));
    clickhouse_run(&rig_server, "upgrade.sql");
    clickhouse_run(&rig_server, "views.sql");
    got = columns();
    assert_string_equal(got, want);
    known = jobio("array 140 --from clickhouse --cluster linux --url @", rig_server.url, &status);
    assert_non_null(strstr(known, "no such array"));
    put_task(142, 2, 0, NOW + 310 * SECOND);
    put_task(141, 10, 0, NOW + 300 * SECOND); /* its node reports the end again */
    step_queue_notify(feed.sink);
    feed_until(!feed_stats().waiting);
    assert_same_answer("array 140 @ --json", 0);
    assert_same_answer("job 142 @ --json --steps --timeline", 0);
}

/* One of three nodes: its own store has its own step and its own view of the job. */
static void put_node(const char *name, uint64_t scale, bool ended)
{
    struct job_account *job = job_make(21, NOW + scale);
    struct step_account step;
    struct error error;

    store_close(opened);
    (void)unlink(directory.store);
    opened = open_store(&directory);
    job->nodes_expected = 3;
    step_make(&step, 0, job->start_ns, scale);
    free(step.node);
    step.node = strdup(name);
    put_rows(job, &step, true);
    assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
    job->ended = ended;
    job->end_ns = ended ? NOW + (90 + scale) * SECOND : 0;
    job->elapsed_ns = 90 * SECOND;
    put_rows(job, NULL, true);
    if (ended)
        assert_ok(store_outbox_put_job(opened, &job->key, "history", &error), error);
    step_account_clear(&step);
    job_account_destroy(job);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    feed_close();
}

static void test_many_nodes(void **state)
{
    static const char sql[] = "SELECT state, steps, complete, read_requests,"
                              " toUnixTimestamp(start) - 1790000000 FROM jobio.v_job";
    int status;
    _free_ char *early = NULL, *late = NULL;

    (void)state;
    put_node("n1", 1, true);
    put_node("n2", 2, true);
    rig_assert_answer(sql, "ended\t2\t0\t3\t0\n"); /* incomplete: n3 has not reported */
    put_node("n3", 4, false);
    rig_assert_answer(sql, "running\t3\t1\t7\t0\n"); /* there */
    early = jobio("history -P -o JobID,State,ReadReq --from clickhouse --cluster linux --url @",
                  rig_server.url, &status);
    assert_string_equal(early, "JobID|State|ReadReq\n21|running|7\n");
    put_node("n3", 4, true);
    rig_assert_answer(sql, "ended\t3\t1\t7\t0\n");
    rig_assert_answer("SELECT toUnixTimestamp(`end`) - 1790000000 FROM jobio.v_job", "94\n");
    late = jobio("job 21 --json --steps --from clickhouse --cluster all --url @", rig_server.url,
                 &status);
    assert_non_null(strstr(late, "\"expected\": 3"));
    assert_non_null(strstr(late, "\"reported\": 3"));
    assert_non_null(strstr(late, "\"complete\": true"));
    assert_non_null(strstr(late, "\"requests\": 7"));
    assert_non_null(strstr(late, "\"state\": \"ended\""));
}

/* Permissions, and error messages. */
static void test_the_command_is_refused(void **state)
{
    static const struct {
        const char *words, *say;
    } bad[] = {
        {"job 1 --from elsewhere", "use store or clickhouse"},
        {"job 1 --from clickhouse --config /nonexistent", "/nonexistent"},
        {"job 1 --from clickhouse --url http://127.0.0.1:1", "does not answer"},
        {"job 1 --from clickhouse --url @ --credentials /nonexistent", "/nonexistent"},
        {"job 1 --from clickhouse --url @ --credentials userpwd", "HTTP "},
        {"history --from clickhouse --config conf", "does not name one"},
        {"history --from clickhouse --url @ --mount /scratch", "--mount does not work"},
        {"history --from clickhouse --url @ --group mount", "--group mount does not work"},
    };
    char path[256], words[512];
    FILE *file;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/userpwd", directory.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("writer:wrong\n", file);
    (void)fclose(file);
    (void)snprintf(path, sizeof(path), "%s/conf", directory.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("cluster = linux\n[history]\nformat = bulk\nurl = http://127.0.0.1:1\n", file);
    (void)fclose(file);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        const char *name = strstr(bad[i].words, " userpwd") ? " userpwd"
                           : strstr(bad[i].words, " conf")  ? " conf"
                                                            : NULL;
        int status;
        _free_ char *told = NULL;

        (void)snprintf(words, sizeof(words), "%s", bad[i].words);
        if (name)
            (void)snprintf(words + strlen(words) - strlen(name) + 1, 300, "%s/%s", directory.path,
                           name + 1);
        told = jobio(words, rig_server.url, &status);
        assert_int_equal(WEXITSTATUS(status), 1);
        if (!strstr(told, bad[i].say))
            print_error("%s: %s", words, told);
        assert_non_null(strstr(told, bad[i].say));
    }
}

/* A jobio.conf that names the server, and more. */
static void write_conf(char path[256], const char *more)
{
    char password[256];
    FILE *file;

    write_password(password);
    (void)snprintf(path, 256, "%s/conf", directory.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "cluster = linux\n[history]\nread_url = %s\nread_credentials = %s\n%s",
                  rig_server.url, password, more);
    (void)fclose(file);
}

/* The source comes from jobio.conf. */
static void test_the_command_is_configured(void **state)
{
    char path[256], words[512];
    int status;
    _free_ char *told = NULL;

    (void)state;
    feed_put(1, 0, 5, NULL);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    write_conf(path, "from = clickhouse\n");
    (void)snprintf(words, sizeof(words), "history @ -S @0 -P -o JobID,ReadReq --config %s", path);
    told = jobio(words, "", &status);
    assert_string_equal(told, "JobID|ReadReq\n1|5\n");
}

/* On a machine without jobiod, the ClickHouse of jobio.conf answers, and the command says so. */
static void test_no_jobiod(void **state)
{
    char path[256], words[512], want[512];
    int status;
    _free_ char *told = NULL, *refused = NULL;

    (void)state;
    feed_put(1, 0, 5, NULL);
    feed_open(rig_server.url);
    feed_until(!feed_stats().waiting);
    write_conf(path, "");
    (void)snprintf(words, sizeof(words),
                   "history @ --socket /none -S @0 -P -o JobID,ReadReq --config %s", path);
    (void)snprintf(want, sizeof(want),
                   "jobio: jobiod is not running here (no answer on /none): the answer is from "
                   "ClickHouse, %s\nJobID|ReadReq\n1|5\n",
                   rig_server.url);
    told = jobio(words, "", &status);
    assert_string_equal(told, want);
    (void)snprintf(words, sizeof(words), "job 77 @ --socket /none --config %s", path);
    refused = jobio(words, "", &status);
    assert_non_null(strstr(refused, "no such job: 77"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(test_odd_mounts),
        RIG_TEST(test_the_command_agrees),
        RIG_TEST(test_a_large_array),
        RIG_TEST(test_a_number_of_two_users),
        RIG_TEST(test_own_jobs_only),
        RIG_TEST(test_old_table),
        RIG_TEST(test_many_nodes),
        RIG_TEST(test_the_command_is_refused),
        RIG_TEST(test_the_command_is_configured),
        RIG_TEST(test_no_jobiod),
    };

    (void)umask(077); /* passwords */
    if (!clickhouse_installed()) {
        (void)fprintf(stderr, "clickhouse-server is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, rig_start, rig_remove);
}
