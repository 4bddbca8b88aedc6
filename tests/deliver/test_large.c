/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job of 4,096 nodes in a real ClickHouse with a low memory limit for queries. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/cleanup.h"
#include "tests/deliver/clickhouse.h"

/* Eight steps on three mounts for each node, inserted in the order of the nodes. */
#define NODES 4096
#define ROWS (NODES * 8 * 3)

static struct clickhouse server;

/* A job of so many nodes, each with its own times of start and end. */
static void insert_job(unsigned jobid, unsigned nodes, uint64_t start_s)
{
    char sql[2048];

    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO jobio.io (cluster, jobid, restart, het, step, step_name, node, tagged_at_ns,"
        " mount, fstype, source, version, uid, user, state, folded, job_ended, start_ns, end_ns,"
        " job_elapsed_ns, nodes_expected, elapsed_ns, read_requests, read_bytes, op, op_requests,"
        " op_bytes) SELECT 'linux', %u, 0, 4294967294, toUInt32(intDiv(number, 3) %% 8),"
        " toString(intDiv(number, 3) %% 8), concat('n', toString(intDiv(number, 24))),"
        " toUInt64(%llu + intDiv(number, 3)), concat('/mnt', toString(number %% 3)), 'nfs4', "
        "'srv:/x', 1,"
        " 1000, 'alice', 'ended', 0, 1, toUInt64(%llu + intDiv(number, 24)),"
        " toUInt64(%llu + intDiv(number, 24)), 90000000000, %u, 1000, 1, 4096, ['read'],"
        " [toUInt64(1)], [toUInt64(4096)] FROM (SELECT number FROM system.numbers LIMIT %u)",
        jobid, (unsigned long long)start_s * 1000000000, (unsigned long long)start_s * 1000000000,
        (unsigned long long)(start_s + 90) * 1000000000, nodes, nodes * 24);
    clickhouse_do(&server, sql);
}

static int setup(void **state)
{
    (void)state;
    clickhouse_make(&server);
    clickhouse_limit(&server, 1024ul << 20);
    clickhouse_start(&server);
    clickhouse_reset(&server);
    insert_job(9, NODES, 1790000000);
    insert_job(9, 1, 1790001000); /* another job with this number */
    insert_job(10, NODES / 4, 1790002000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    clickhouse_remove(&server);
    return 0;
}

static void test_view(void **state)
{
    _free_ char *jobs = clickhouse_ask(
        &server, "SELECT jobid, state, steps, complete, read_requests, elapsed_s FROM jobio.v_job"
                 " ORDER BY jobid, start");
    _free_ char *mounts = clickhouse_ask(
        &server, "SELECT jobid, mount, requests FROM jobio.v_job_mount WHERE mount = '/mnt1'"
                 " ORDER BY requests");

    (void)state;
    assert_string_equal(jobs, "9\tended\t32768\t1\t98304\t90\n9\tended\t8\t1\t24\t90\n"
                              "10\tended\t8192\t1\t24576\t90\n");
    assert_string_equal(mounts, "9\t/mnt1\t8\n10\t/mnt1\t8192\n9\t/mnt1\t32768\n");
}

/* The output of the command, malloc'd, and its CPU time. */
static char *jobio(const char *words, double *cpu_s)
{
    struct rusage before, after;
    char command[1024];
    char *text = calloc(1, 1 << 20);
    FILE *out;

    /* Without a password users see only their own jobs. */
    (void)snprintf(
        command, sizeof(command),
        "umask 077; echo writer:w > %s/reader; ./jobio %s --from clickhouse --cluster linux"
        " --credentials %s/reader --url %s",
        server.directory, words, server.directory, server.url);
    (void)getrusage(RUSAGE_CHILDREN, &before);
    out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(text);
    (void)!fread(text, 1, (1 << 20) - 1, out);
    assert_int_equal(pclose(out), 0);
    (void)getrusage(RUSAGE_CHILDREN, &after);
    *cpu_s = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
             (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6;
    return text;
}

static void test_history(void **state)
{
    double cpu_s;
    _free_ char *text = jobio("history -S @0 -P -o JobID,ReadReq,Exact", &cpu_s);

    (void)state;
    assert_string_equal(text, "JobID|ReadReq|Exact\n10|24576|yes\n9|24|yes\n9|98304|yes\n");
}

/* Both jobs; the cost is only printed. */
static void test_job(void **state)
{
    double cpu_s;
    _free_ char *text = jobio("job 9 --all --json", &cpu_s);
    const char *first = strstr(text, "\"reported\":1}"),
               *second = strstr(text, "\"reported\":4096}");

    (void)state;
    print_message("%d rows in %.2f s of processor time\n", ROWS + 24, cpu_s);
    assert_non_null(first);
    assert_non_null(second);
    assert_non_null(strstr(first, "\"read\":{\"requests\":8,"));
    assert_non_null(strstr(second, "\"read\":{\"requests\":32768,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_job),
    };

    if (!clickhouse_installed()) {
        (void)fprintf(stderr, "clickhouse-server is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
