/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finished steps of a real store in a real ClickHouse: each once in effect, whatever is killed, and
 * the same numbers. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/clickhouse.h"
#include "tests/deliver/feed.h"

static struct clickhouse server;

static int start_server(void **state)
{
    (void)state;
    clickhouse_make(&server);
    clickhouse_start(&server);
    return 0;
}

static int remove_server(void **state)
{
    (void)state;
    clickhouse_remove(&server);
    return 0;
}

static int setup(void **state)
{
    if (!server.pid)
        clickhouse_start(&server);
    clickhouse_reset(&server);
    return feed_setup(state);
}

static void assert_answer(const char *sql, const char *want)
{
    _free_ char *got = clickhouse_ask(&server, sql);

    assert_string_equal(got, want);
}

/* The server is killed while rows are under way, twice, and the sink once. */
static void test_once_in_effect(void **state)
{
    enum { STEPS = 600 };
    unsigned kills = 0;
    char want[64];

    (void)state;
    for (uint32_t n = 0; n < STEPS; n++)
        feed_put(1 + n / 3, n % 3, n + 1, NULL);
    feed.options.limits.rows = 40;
    feed_open(server.url);
    while (feed_stats().waiting) {
        feed_step();
        if (feed.delivered > 100 * (kills + 1) && kills < 2 && feed_number("requests")) {
            clickhouse_kill(&server);
            feed_until(!strcmp(feed_text("state"), "backoff"));
            clickhouse_start(&server);
            kills++;
        }
        if (feed.delivered > 400 && kills == 2) {
            feed_close(); /* with a request under way */
            feed_open(server.url);
            kills++;
        }
    }
    assert_int_equal(kills, 3);
    assert_int_equal(feed_stats().refused, 0);
    assert_true(feed.largest < 1 << 20);
    assert_answer("SELECT count() FROM jobio.io FINAL", "1200\n"); /* two mounts each */
    assert_answer("SELECT count() FROM jobio.v_step", "600\n");
    (void)snprintf(want, sizeof(want), "%d\n", STEPS * (STEPS + 1) / 2);
    assert_answer("SELECT sum(read_requests) FROM jobio.v_step", want);
    assert_answer("SELECT count() FROM jobio.v_job", "200\n");
}

/* The same query to both; what differs between the dialects is in the two texts of a column. */
static void assert_same(const char *view, const char *in_store, const char *in_clickhouse,
                        const char *order)
{
    char sql[2048];
    _free_ char *stored = NULL, *told = NULL;

    (void)snprintf(sql, sizeof(sql), "SELECT %s FROM %s ORDER BY %s", in_store, view, order);
    stored = feed_sql(sql);
    (void)snprintf(sql, sizeof(sql), "SELECT %s FROM jobio.%s ORDER BY %s FORMAT TSV",
                   in_clickhouse, view, order);
    told = clickhouse_ask(&server, sql);
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
    told = clickhouse_ask(&server, sql);
    assert_string_equal(stored, told);
}

#define SUMS "read_bytes, read_requests, write_bytes, write_requests, meta_requests, errors"

/* Requeued, or another holder of the number; with a loss, and what it could not count. */
static void put_odd_jobs(void)
{
    struct job_account *job = job_make(5, NOW);
    struct step_account step;
    struct error error;

    for (unsigned run = 0; run < 3; run++) {
        job->key.restart = run > 1;
        job->start_ns = NOW + run * 100 * SECOND;
        job->ended = false;
        job->unsupported = 1u << IO_CLONE;
        step_make(&step, 0, job->start_ns, run + 1);
        put_rows(job, &step, true);
        assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
        step_account_clear(&step);
        step_make(&step, STEP_FOLDED, job->start_ns, run + 7);
        step.folded = 12;
        step.completeness.lost = 3;
        assert_int_equal(completeness_add(&step.completeness, "map-full", 2, 1u << IO_READ), 0);
        assert_ok(store_put_step(opened, &job->key, &step, true, &error), error);
        assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
        job->ended = true;
        job->end_ns = job->start_ns + 20 * SECOND;
        job->elapsed_ns = 20 * SECOND;
        job->longest_wait_ns = step.longest_wait_ns;
        assert_int_equal(io_mounts_add(&job->mounts, &step.mounts), 0);
        job->mounts.items[0].peaks[IO_READ].bytes_per_s = 7; /* below a step's */
        put_rows(job, NULL, true);
        assert_ok(store_outbox_put_job(opened, &job->key, "history", &error), error);
        io_mounts_clear(&job->mounts);
        job->mounts = (struct io_mounts){0};
        step_account_clear(&step);
    }
    job_account_destroy(job);
}

static void test_views_agree(void **state)
{
    static const char *const views[] = {"v_job", "v_step", "v_step_io", "v_job_io", "v_job_mount"};

    (void)state;
    feed_put(1, 0, 5, NULL);
    feed_put(1, 1, 7, NULL);
    feed_put(1, STEP_BATCH, 2, NULL);
    feed_put(2, STEP_EXTERN, 3, "bob");
    feed_put(3, 0, 1, NULL);
    feed_end(1);
    feed_end(2);
    put_odd_jobs();
    feed_open(server.url);
    feed_until(!feed_stats().waiting);
    /* Written again with other numbers: these replace the first. */
    feed_put(3, 0, 100, NULL);
    feed_end(1);
    sink_notify(feed.sink);
    feed_until(!feed_stats().waiting);
    for (size_t i = 0; i < ARRAY_SIZE(views); i++)
        assert_same_columns(views[i]);
    assert_same("v_job",
                "cluster, jobid, restart, user, uid, account, partition, state, elapsed_s * 1000,"
                " steps, complete, " SUMS ", CAST(round(wait_s * 1e9) AS INTEGER),"
                " CAST(waiting_percent * 10 AS INTEGER)",
                "cluster, jobid, restart, user, uid, account, partition, state,"
                " concat(toString(toUInt64(elapsed_s * 1000)), '.0'), steps, complete, " SUMS
                ", toUInt64(round(wait_s * 1e9)), toUInt64(waiting_percent * 10)",
                "jobid, read_bytes");
    assert_same("v_step",
                "cluster, jobid, restart, user, ifnull(het, 'none'), step, node, state,"
                " CAST(round(elapsed_s) AS INTEGER), lost, " SUMS
                ", CAST(round(wait_s * 1e9) AS INTEGER)",
                "cluster, jobid, restart, user, ifnull(toString(het), 'none'), step, node, state,"
                " toUInt64(elapsed_s), lost, " SUMS ", toUInt64(round(wait_s * 1e9))",
                "jobid, step, read_bytes");
    assert_same("v_step_io",
                "jobid, user, step, node, mount, fstype, source, op, requests, bytes, errors,"
                " CAST(round(wait_s * 1e9) AS INTEGER), CAST(round(longest_s * 1e9) AS INTEGER),"
                " peak_bytes_per_s, peak_requests_per_s",
                "jobid, user, step, node, mount, fstype, source, op, requests, bytes, errors,"
                " toUInt64(round(wait_s * 1e9)), toUInt64(round(longest_s * 1e9)),"
                " peak_bytes_per_s, peak_requests_per_s",
                "jobid, step, mount, op, bytes, requests");
    assert_same("v_job_io",
                "jobid, user, mount, op, requests, bytes, errors,"
                " CAST(round(wait_s * 1e9) AS INTEGER), CAST(round(longest_s * 1e9) AS INTEGER)",
                "jobid, user, mount, op, requests, bytes, errors,"
                " toUInt64(round(wait_s * 1e9)), toUInt64(round(longest_s * 1e9))",
                "jobid, mount, op, bytes, requests");
    assert_same("v_job_mount",
                "jobid, user, mount, fstype, ifnull(read_bytes, 0), ifnull(write_bytes, 0),"
                " requests, errors, CAST(round(wait_s * 1e9) AS INTEGER)",
                "jobid, user, mount, fstype, read_bytes, write_bytes, requests, errors,"
                " toUInt64(round(wait_s * 1e9))",
                "jobid, mount, requests");
    assert_answer("SELECT sumArray(op_requests) FROM jobio.io FINAL WHERE jobid = 3", "304\n");
}

/* A column that cannot hold every user is what real tables refuse a row for. */
static void test_poisoned_row(void **state)
{
    (void)state;
    clickhouse_do(&server, "DROP TABLE jobio.io");
    clickhouse_run(&server, "schema.sql");
    clickhouse_do(&server, "ALTER TABLE jobio.io MODIFY COLUMN user FixedString(8)");
    for (uint32_t n = 1; n <= 200; n++)
        feed_put(n, 0, n, n == 77 || n == 78 || n == 200 ? "alexander.the.great" : NULL);
    feed_open(server.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed_stats().refused, 3);
    assert_int_equal(feed.refused, 3);
    assert_int_equal(feed_number("refusals"), 3);
    assert_non_null(strstr(feed.why, "Code: 131"));
    assert_answer("SELECT count(), sum(jobid) FROM jobio.io FINAL", "394\t39490\n");
    assert_int_equal(feed_number("failures"), 0);
    assert_true(feed_number("requests") < 60);
}

/* Nothing is put aside because of a table that is not there, or a password. */
static void test_configuration_faults(void **state)
{
    char path[256];
    FILE *file;

    (void)state;
    clickhouse_do(&server, "DROP TABLE jobio.io");
    feed_put(1, 0, 1, NULL);
    feed_open(server.url);
    feed_until(feed_number("failures") >= 2);
    assert_string_equal(feed_text("state"), "misconfigured");
    assert_non_null(strstr(feed_text("last_error"), "jobio.io"));
    assert_int_equal(feed_number("last_code"), 404);
    assert_int_equal(feed_stats().waiting, 1);
    clickhouse_run(&server, "schema.sql");
    feed_until(!feed_stats().waiting);
    assert_string_equal(feed_text("state"), "ok");
    assert_non_null(strstr(feed.said, "works again"));
    feed_close();
    (void)snprintf(path, sizeof(path), "%s/userpwd", folder.path);
    file = fopen(path, "w");
    (void)fputs("writer:wrong\n", file);
    (void)fclose(file);
    feed.options.userpwd_file = path;
    feed_put(2, 0, 1, NULL);
    feed_open(server.url);
    feed_until(feed_number("failures") >= 1);
    assert_string_equal(feed_text("state"), "misconfigured");
    feed_close();
    file = fopen(path, "w");
    (void)fputs("writer:w\n", file);
    (void)fclose(file);
    feed_open(server.url);
    feed_until(!feed_stats().waiting);
    assert_int_equal(feed_stats().refused, 0);
    assert_answer("SELECT count() FROM jobio.io FINAL", "4\n");
}

/* What users put into names comes back as it was, unless it is no text at all. */
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
    feed_open(server.url);
    feed_until(!feed_stats().waiting);
    assert_answer("SELECT jobid, mount, length(op), read_bytes FROM jobio.io FINAL ORDER BY jobid",
                  "1\t\t0\t0\n2\t\t0\t0\n");
    assert_answer("SELECT count() FROM jobio.v_job WHERE name = 'run \\'it\\'; \x1b[31m'", "2\n");
    assert_answer("SELECT hex(account) FROM jobio.io FINAL WHERE jobid = 2",
                  "6361665C786539095C4E\n");
    assert_answer("SELECT count() FROM jobio.v_job_mount", "0\n");
    step_account_clear(&step);
    job_account_destroy(job);
}

/* The order of mounts in a document means nothing. */
#define SORT_MOUNTS                                                            \
    "| jq -S 'walk(if type == \"object\" and has(\"mounts\") then .mounts |= " \
    "sort else . end)'"

/* Who has no password sees the own jobs only: these tests may run as anybody. */
static void write_password(char path[256])
{
    FILE *file;

    (void)snprintf(path, 256, "%s/reader", folder.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("writer:w\n", file);
    (void)fclose(file);
}

/* What a command prints, malloc'd; @ in it is where to ask. */
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

/* The command prints the same from both. */
static void assert_same_answer(const char *format)
{
    char clickhouse[256], store[256];
    int from_store, from_clickhouse;
    _free_ char *stored = NULL, *told = NULL;

    (void)snprintf(store, sizeof(store), "--store %s", folder.store);
    (void)snprintf(clickhouse, sizeof(clickhouse), "--from clickhouse --cluster linux --url %s",
                   server.url);
    stored = jobio(format, store, &from_store);
    told = jobio(format, clickhouse, &from_clickhouse);
    if (strcmp(stored, told))
        print_error("%s\n%s---\n%s", format, stored, told);
    assert_true(!strcmp(stored, told));
    assert_int_equal(from_store, from_clickhouse);
    assert_true(*stored);
}

/* Mounts whose names differ only in what is no text are two, also where others call them "?". */
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
    feed_open(server.url);
    feed_until(!feed_stats().waiting);
    assert_answer("SELECT mount, source FROM jobio.io FINAL ORDER BY mount, source, tagged_at_ns",
                  "/mnt/\\\\x5cxff\tsrv:/\\\\x80\n/mnt/\\\\xfe\tsrv:/\\\\x80\n"
                  "/mnt/\\\\xff\tsrv:/\\\\x81\n/mnt/\\\\xff\tsrv:/\\\\x81\n");
    step_account_clear(&step);
    job_account_destroy(job);
    assert_same_answer("job 1 @ --json --steps");
}

static void test_the_command_agrees(void **state)
{
    static const char *const commands[] = {
        "job 1 @ --json --steps",
        "job 1 @ --full",
        "job 2 @",
        "job 5 @ --all --json --steps",
        "job 5 @",
        "job 77 @",
        "history @ -S @0",
        "history @ -S @0 --json",
        "history @ -S @0 -u bob",
        "history @ -S @0 -u 1000 -n 2",
        "history @ -S @0 -u \"o'br\\\\ien\"",
        "history @ -S @0 --sort read -P",
        "history @ -S @0 --sort wait -n 3 -P -o JobID,User,Account,State,Start,End,Elapsed,Read,"
        "ReadReq,Write,Meta,MetaErr,Errors,Wait,LongestWait,Waiting,Exact",
        "history @ -S @1790000101 -E @1790000150 -P",
        "history @ -S @1790000201 -P",
        "history @ -S @0 -u bob,alice,1000 -P",
        "history @ -S @0 -A physics,chemistry -r debug --name x,\"run 'it'; \x1b[31m\" -P",
        "history @ -j 1,3,77 -P",
        "history @ -S @0 -s running -P",
        "history @ -S @0 -s ended --sort -errors -P",
        "history @ -S @0 --sort elapsed -n 2 -P",
        "history @ -S @0 --group user -P",
        "history @ -S @0 --group account --json",
        "history @ -S @0 --group day --sort jobs -n 1 -u bob -P",
    };
    int status;
    _free_ char *refused = NULL;

    (void)state;
    feed_put(1, 0, 5, NULL);
    feed_put(1, 1, 7, NULL);
    feed_put(1, STEP_BATCH, 2, NULL);
    feed_put(2, STEP_EXTERN, 3, "bob");
    feed_put(3, 0, 1, "o'br\\ien");
    feed_end(1);
    feed_end(3);
    put_odd_jobs();
    feed_open(server.url);
    feed_until(!feed_stats().waiting);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        assert_same_answer(commands[i]);
    refused = jobio("job 1 --from clickhouse --cluster other --url @", server.url, &status);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(refused, "no such job: 1"));
}

/* One of three nodes: its own store has its own step and its own view of the job. */
static void put_node(const char *name, uint64_t scale, bool ended)
{
    struct job_account *job = job_make(21, NOW + scale);
    struct step_account step;
    struct error error;

    store_close(opened);
    (void)unlink(folder.store);
    opened = open_store(&folder);
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
    feed_open(server.url);
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
    assert_answer(sql, "ended\t2\t0\t3\t0\n"); /* not complete: n3 has not been heard of */
    put_node("n3", 4, false);
    assert_answer(sql, "running\t3\t1\t7\t0\n"); /* there */
    early = jobio("history -P -o JobID,State,ReadReq --from clickhouse --cluster linux --url @",
                  server.url, &status);
    assert_string_equal(early, "JobID|State|ReadReq\n21|running|7\n");
    put_node("n3", 4, true);
    assert_answer(sql, "ended\t3\t1\t7\t0\n");
    assert_answer("SELECT toUnixTimestamp(`end`) - 1790000000 FROM jobio.v_job", "94\n");
    late =
        jobio("job 21 --json --steps --from clickhouse --cluster all --url @", server.url, &status);
    assert_non_null(strstr(late, "\"expected\": 3"));
    assert_non_null(strstr(late, "\"reported\": 3"));
    assert_non_null(strstr(late, "\"complete\": true"));
    assert_non_null(strstr(late, "\"requests\": 7"));
    assert_non_null(strstr(late, "\"state\": \"ended\""));
}

/* Who may ask, and what is said when it cannot be asked. */
static void test_the_command_is_refused(void **state)
{
    static const struct {
        const char *words, *say;
    } bad[] = {
        {"job 1 --from elsewhere", "give store or clickhouse"},
        {"job 1 --from clickhouse --config /nonexistent", "/nonexistent"},
        {"job 1 --from clickhouse --url http://127.0.0.1:1", "does not answer"},
        {"job 1 --from clickhouse --url @ --credentials /nonexistent", "/nonexistent"},
        {"job 1 --from clickhouse --url @ --credentials userpwd", "HTTP "},
        {"history --from clickhouse --config conf", "names none"},
        {"history --from clickhouse --url @ --mount /scratch", "--mount is not asked"},
        {"history --from clickhouse --url @ --group mount", "--group mount is not asked"},
    };
    char path[256], words[512];
    FILE *file;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/userpwd", folder.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("writer:wrong\n", file);
    (void)fclose(file);
    (void)snprintf(path, sizeof(path), "%s/conf", folder.path);
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
            (void)snprintf(words + strlen(words) - strlen(name) + 1, 300, "%s/%s", folder.path,
                           name + 1);
        told = jobio(words, server.url, &status);
        assert_int_equal(WEXITSTATUS(status), 1);
        if (!strstr(told, bad[i].say))
            print_error("%s: %s", words, told);
        assert_non_null(strstr(told, bad[i].say));
    }
}

/* jobio.conf says where to ask and what is asked without a word. */
static void test_the_command_is_configured(void **state)
{
    char path[256], words[512];
    FILE *file;
    int status;
    _free_ char *told = NULL;

    (void)state;
    feed_put(1, 0, 5, NULL);
    feed_open(server.url);
    feed_until(!feed_stats().waiting);
    (void)snprintf(path, sizeof(path), "%s/userpwd", folder.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("writer:w\n", file);
    (void)fclose(file);
    (void)snprintf(path, sizeof(path), "%s/conf", folder.path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "cluster = linux\n[history]\nread_url = %s\nfrom = clickhouse\n"
                  "read_credentials = %s/userpwd\n",
                  server.url, folder.path);
    (void)fclose(file);
    (void)snprintf(words, sizeof(words), "history @ -S @0 -P -o JobID,ReadReq --config %s", path);
    told = jobio(words, "", &status);
    assert_string_equal(told, "JobID|ReadReq\n1|5\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, feed_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_once_in_effect),
        TEST(test_views_agree),
        TEST(test_poisoned_row),
        TEST(test_configuration_faults),
        TEST(test_names),
        TEST(test_odd_mounts),
        TEST(test_the_command_agrees),
        TEST(test_many_nodes),
        TEST(test_the_command_is_refused),
        TEST(test_the_command_is_configured),
    };

    if (!clickhouse_installed()) {
        (void)fprintf(stderr, "clickhouse-server is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, start_server, remove_server);
}
