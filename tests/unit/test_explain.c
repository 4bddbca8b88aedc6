/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "report/explain/explain.h"
#include "report/layout.h"
#include "tests/unit/sample.h"

/* --- what others write ---------------------------------------------------------------------------
 */

static void test_sacct(void **state)
{
    uint64_t read, written;

    (void)state;
    /* Slurm 22.05, sacct -P -n --noconvert: the job, then its steps. */
    assert_int_equal(explain_parse_sacct("8||\n"
                                         "8.batch|cpu=00:00:00,energy=0,fs/disk=40012,mem=0,pages=1"
                                         "|energy=0,fs/disk=305\n"
                                         "8.extern|cpu=00:00:00,fs/disk=5|fs/disk=7\n"
                                         "8.0|cpu=00:00:00|energy=0\n",
                                         &read, &written),
                     0);
    assert_int_equal(read, 40017);
    assert_int_equal(written, 312);
    assert_int_equal(explain_parse_sacct("", &read, &written), -ENOENT);
    assert_int_equal(explain_parse_sacct("8||\n8.batch||\n", &read, &written), -ENODATA);
    assert_int_equal(explain_parse_sacct("8|fs/disk=1|fs/disk=1\n", &read, &written), -ENODATA);
    assert_int_equal(explain_parse_sacct("\n|||\n8.0\n8.1|afs/disk=3|fs/disk=\n", &read, &written),
                     -ENODATA);
    assert_int_equal(explain_parse_sacct("8.0|fs/disk=1.50M|fs/disk=-3\n", &read, &written), 0);
    assert_int_equal(read, 1572864);
    assert_int_equal(written, 0);
}

static void test_proc_io(void **state)
{
    static const char text[] = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\n"
                               "read_bytes: 4096\nwrite_bytes: 323932160\n"
                               "cancelled_write_bytes: 0\n"; /* proc(5) */
    struct explain_proc_io io = {1, 2, 3, 4};

    (void)state;
    assert_int_equal(explain_parse_proc_io(text, &io), 0);
    assert_int_equal(io.rchar, 323934932);
    assert_int_equal(io.wchar, 323929602);
    assert_int_equal(io.read_bytes, 4099);
    assert_int_equal(io.write_bytes, 323932164);
    assert_int_equal(explain_parse_proc_io("rchar: 5\n", &io), -EBADMSG);
    assert_int_equal(io.rchar, 323934932);
}

static void test_io_stat(void **state)
{
    uint64_t read = 0, written = 0;

    (void)state;
    explain_parse_io_stat("8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
                          "8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=5\n",
                          &read, &written);
    assert_int_equal(read, 91889664);
    assert_int_equal(written, 613781504);
    explain_parse_io_stat("", &read, &written);
    assert_int_equal(read, 91889664);
}

static void test_mountstats(void **state)
{
    static const char text[] =
        "device sysfs mounted on /sys with fstype sysfs\n"
        "device server:/home mounted on /home with fstype nfs4 statvers=1.1\n"
        "\topts:\trw,vers=4.2\n\tbytes:\t1 2 3 4 5 6 7 8\n"
        "device server:/s mounted on /scratch with fstype nfs statvers=1.1\n"
        "\tage:\t25\n\tevents:\t1 2\n\tbytes:\t100 200 30 40 5 6 7 8\n"
        "\tper-op statistics\n\t        READ: 2 2 0 360 10000 0 1 1 0\n";
    struct explain_nfs nfs;

    (void)state;
    assert_int_equal(explain_parse_mountstats(text, "/scratch", &nfs), 0);
    assert_int_equal(nfs.read, 130);
    assert_int_equal(nfs.written, 240);
    assert_int_equal(nfs.from_server, 5);
    assert_int_equal(nfs.to_server, 6);
    assert_int_equal(explain_parse_mountstats(text, "/sys", &nfs), -ENOENT);
    assert_int_equal(explain_parse_mountstats(text, "/scr", &nfs), -ENOENT);
    assert_int_equal(explain_parse_mountstats("", "/scratch", &nfs), -ENOENT);
}

static void test_llite(void **state)
{
    uint64_t read = 9, written = 9;

    (void)state;
    explain_parse_lustre("snapshot_time             1415910516.123456 secs.nsecs\n"
                         "read_bytes                3 samples [bytes] 1 4096 8193\n"
                         "write_bytes               2 samples [bytes] 4096 4096 8192 33554432\n"
                         "open                      54 samples [regs]\n",
                         &read, &written);
    assert_int_equal(read, 8193);
    assert_int_equal(written, 8192);
    explain_parse_lustre("snapshot_time 1.2 secs.usecs\nread 12 samples [usec] 1 2 3\n", &read,
                         &written);
    assert_int_equal(read, 0);
    assert_int_equal(written, 0);
}

/* As osc_rpc_stats_seq_show() of Lustre 2.9 formats it; not recorded on a real client. */
#define RPC_STATS                                                                      \
    "snapshot_time:         1372786692.389858 (secs.usecs)\nread RPCs in flight:  0\n" \
    "write RPCs in flight: 0\npending write pages:  0\npending read pages:   0\n"      \
    "\n\t\t\tread\t\t\twrite\n"                                                        \
    "pages per rpc         rpcs   % cum % |       rpcs   % cum %\n"                    \
    "1:\t\t         6  60  60   |          0   0   0\n"                                \
    "2:\t\t         0   0  60   |          0   0   0\n"                                \
    "4:\t\t         4  40 100   |          3 100 100\n"                                \
    "\n\t\t\tread\t\t\twrite\n"                                                        \
    "rpcs in flight        rpcs   % cum % |       rpcs   % cum %\n"                    \
    "0:\t\t         0   0   0   |          0   0   0\n"                                \
    "1:\t\t         9  90  90   |          3 100 100\n"                                \
    "2:\t\t         0   0  90   |          0   0 100\n"                                \
    "3:\t\t         1  10 100   |          0   0 100\n"                                \
    "\n\t\t\tread\t\t\twrite\n"                                                        \
    "offset                rpcs   % cum % |       rpcs   % cum %\n"                    \
    "0:\t\t         3  30  30   |          3 100 100\n"                                \
    "1024:\t\t         7  70 100   |          0   0 100\n"

static void test_rpc_stats(void **state)
{
    struct explain_rpcs rpcs = {.reads[0] = 1, .at_once = 2}, before;

    (void)state;
    assert_int_equal(explain_parse_rpc_stats(RPC_STATS, &rpcs), 0);
    assert_int_equal(rpcs.reads[0], 7);
    assert_int_equal(rpcs.reads[2], 4);
    assert_int_equal(rpcs.writes[2], 3);
    assert_int_equal(rpcs.at_once, 3);
    before = rpcs;
    assert_int_equal(explain_parse_rpc_stats("", &rpcs), -EBADMSG);
    assert_int_equal(explain_parse_rpc_stats("pages per rpc         rpcs\n1: 6 60 60 | 0 0 0\n"
                                             "3: 6 60 60 | 0 0 0\n",
                                             &rpcs),
                     -EBADMSG);
    assert_memory_equal(&rpcs, &before, sizeof(rpcs));
}

static void test_cgroup(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n",
         "/system.slice/slurmstepd.scope/job_12"},
        {"12:freezer:/slurm/uid_1/job_12/step_0\n0::/x/job_12\n", "/x/job_12"},
        {"12:freezer:/slurm/uid_1/job_12/step_0\n0::/\n", NULL},
        {"0::/slurm/job_123/step_0\n", NULL},
        {"0::/user.slice/job_1\n", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _free_ char *path = explain_parse_cgroup(rows[i].text, 12);

        if (rows[i].want)
            assert_string_equal(path, rows[i].want);
        else
            assert_null(path);
    }
}

/* --- why they differ -----------------------------------------------------------------------------
 */

/* 10 MiB read from and 1 MiB written to each: a disk, a server and memory. */
static struct job_account *three_mounts(void)
{
    static const char *const mounts[][3] = {{"/", "ext4", "/dev/vda1"},
                                            {"/scratch", "nfs4", "server:/s"},
                                            {"/dev/shm", "tmpfs", "tmpfs"}};
    struct job_account *job = job_account_create();

    job->key.jobid = 12;
    job->ended = true;
    job->elapsed_ns = SECONDS(10);
    job->nodes_expected = job->nodes_reported = 1;
    for (size_t i = 0; i < 3; i++) {
        struct io_mount *m = sample_mount(&job->mounts, mounts[i][0], mounts[i][1], mounts[i][2]);

        sample_calls(m, IO_READ, 10, MIB(1), 1000);
        sample_calls(m, IO_WRITE, 1, MIB(1), 1000);
    }
    return job;
}

/* All reasons of one figure as one text, which the caller frees. */
static char *why(const struct job_account *job, struct explain_figure figure)
{
    struct json_object *array = report_explain_json(job, &figure, 1), *list = NULL;
    char *text;

    assert_non_null(array);
    assert_int_equal(json_object_array_length(array), 1);
    assert_true(json_object_object_get_ex(json_object_array_get_idx(array, 0), "why", &list));
    text = strdup(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN |
                                                           JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(array);
    return text;
}

static void assert_why(const struct job_account *job, struct explain_figure figure, const char *has,
                       const char *has_not)
{
    _free_ char *text = why(job, figure);

    if (!strstr(text, has))
        fail_msg("no \"%s\" in %s", has, text);
    if (has_not && strstr(text, has_not))
        fail_msg("\"%s\" in %s", has_not, text);
}

static void test_reasons(void **state)
{
    _job_ *job = three_mounts();
    struct explain_figure sacct = {
        .kind = EXPLAIN_SACCT, .mount = NULL, .read = MIB(30), .written = MIB(3)};
    struct explain_figure cgroup = {
        .kind = EXPLAIN_CGROUP, .mount = NULL, .read = MIB(10), .written = 0};
    struct explain_figure nfs = {
        .kind = EXPLAIN_NFS_CALLS, .mount = "/scratch", .read = MIB(10), .written = MIB(1)};
    _free_ char *same = why(job, sacct);

    (void)state;
    assert_string_equal(same, "[\"It agrees with jobio.\"]");
    sacct.read = MIB(31);
    assert_why(job, sacct, "pipes", "every 30 s");
    sacct.read = MIB(2);
    assert_why(job, sacct, "every 30 s", "pipes");
    assert_why(job, sacct, "every 30 s", "still running");
    job->ended = false;
    assert_why(job, sacct, "still running", NULL);
    job->ended = true;
    job->mounts.items[0].io.ops[IO_READ]->async_requests = 3;
    assert_why(job, sacct, "(io_uring, libaio): 3 calls", NULL);
    sample_calls(&job->mounts.items[0], IO_MMAP_READ, 1, 4096, 1);
    assert_why(job, sacct, "mmap_read: 4.0 KiB", NULL);
    assert_why(job, cgroup, "network file systems: 11.0 MiB of the job's", "page cache");
    assert_why(job, cgroup, "are memory: 11.0 MiB", "It counts whole pages");
    job->mounts.items[0].cache.hit_bytes = MIB(5);
    assert_why(job, cgroup, "5.0 MiB of the job's reads came from the page cache", NULL);
    assert_why(job, nfs, "other jobs", "agrees");
    assert_why(job, nfs, "other jobs", "this node only");
    job->nodes_expected = 2;
    assert_why(job, nfs, "this node only", NULL);
}

/* A difference of 1 % or 64 KiB is none. */
static void test_slack(void **state)
{
    _job_ *job = three_mounts();
    struct explain_figure figure = {
        .kind = EXPLAIN_PROC_CALLS, .mount = NULL, .read = MIB(30) + 60000, .written = MIB(3)};

    (void)state;
    assert_why(job, figure, "agrees", NULL);
    figure.read = MIB(30) + MIB(30) / 100;
    assert_why(job, figure, "agrees", NULL);
    figure.read = MIB(30) + MIB(30) / 100 + 1;
    assert_why(job, figure, "pipes", "agrees");
    figure.read = UINT64_MAX;
    assert_why(job, figure, "pipes", "agrees");
}

static void test_rpcs(void **state)
{
    _job_ *job = three_mounts();
    struct explain_figure figure = {EXPLAIN_LUSTRE_WIRE, "/scratch", MIB(10), MIB(1), NULL,
                                    {.page_bytes = 4096}};
    _free_ char *text = NULL, *none = report_explain_text(job, &figure, 1, 400);

    (void)state;
    assert_non_null(strstr(none, "These are no read requests and no write requests; at most 0 "));
    assert_int_equal(explain_parse_rpc_stats(RPC_STATS, &figure.rpcs), 0);
    text = report_explain_text(job, &figure, 1, 400);
    assert_non_null(strstr(text, "These are 10 read requests (half of them at most 4.0 KiB) and 3 "
                                 "write requests (half of them at most 16.0 KiB); at most 3 at a "
                                 "time to one target."));
}

static void test_text(void **state)
{
    _job_ *job = three_mounts();
    const struct explain_figure figures[] = {
        {.kind = EXPLAIN_SACCT, .mount = NULL, .read = MIB(50), .written = MIB(1)},
        {.kind = EXPLAIN_PROC_CALLS, .missing = "the job has ended\033[31m"},
        {.kind = EXPLAIN_NFS_WIRE, .mount = "/scratch", .read = MIB(10), .written = MIB(1)},
    };

    (void)state;
    for (unsigned columns = 40; columns <= 120; columns += 20) {
        _free_ char *text = report_explain_text(job, figures, ARRAY_SIZE(figures), columns);
        char *rest = text, *line;

        assert_non_null(text);
        assert_null(strchr(text, '\033'));
        assert_non_null(strstr(text, "I/O of job 12 as counted by other tools\n"));
        if (columns >= 80) {
            assert_non_null(strstr(text, "20.0 MiB more read, 2.0 MiB less written"));
            assert_non_null(strstr(text, "NFS, network /scratch"));
        }
        while ((line = strsep(&rest, "\n")))
            if (layout_width(line) > columns)
                fail_msg("%u columns: %s", columns, line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sacct),   cmocka_unit_test(test_proc_io),
        cmocka_unit_test(test_io_stat), cmocka_unit_test(test_mountstats),
        cmocka_unit_test(test_llite),   cmocka_unit_test(test_cgroup),
        cmocka_unit_test(test_reasons), cmocka_unit_test(test_slack),
        cmocka_unit_test(test_text),    cmocka_unit_test(test_rpc_stats),
        cmocka_unit_test(test_rpcs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
