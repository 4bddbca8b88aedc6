/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The content of the summary. */
#include "config.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/nodes.h"
#include "report/text/text.h"
#include "tests/unit/sample.h"

/* The text of a file below tests/data. */
static char *golden(const char *name)
{
    _fclose_ FILE *f = NULL;
    const char *srcdir = getenv("srcdir");
    char path[512], *text = calloc(1, 65536);

    snprintf(path, sizeof(path), "%s/tests/data/%s", srcdir ? srcdir : ".", name);
    f = fopen(path, "re");
    if (!f)
        fail_msg("%s: %s", path, strerror(errno));
    assert_non_null(text);
    assert_in_range(fread(text, 1, 65535, f), 1, 65534);
    return text;
}

static void check_golden(const struct job_account *job, enum summary summary, const char *name)
{
    _free_ char *text = report_text(job, summary, NULL), *want = golden(name);

    assert_string_equal(text, want);
}

/* The files were written by hand from the account in sample.c and are compared byte for byte. */
static void test_golden(void **state)
{
    _job_ *job = sample_job(), *run = sample_run();

    (void)state;
    check_golden(job, SUMMARY_SHORT, "summary-short.txt");
    check_golden(job, SUMMARY_FULL, "summary-full.txt");
    job->unsupported = 1 << IO_COPY_READ | 1 << IO_MMAP_READ;
    job->nodes_reported = 1;
    job->completeness.lost = 15;
    completeness_add(&job->completeness, "map-full", 15, 0);
    completeness_add(&job->completeness, "hook-not-attached", 2, 1 << IO_READDIR | 1 << IO_FSYNC);
    completeness_add(&job->completeness, "some\033thing", 3, 0);
    check_golden(job, SUMMARY_SHORT, "summary-incomplete.txt");
    check_golden(run, SUMMARY_SHORT, "summary-run.txt");
}

static void test_page_cache_says_what_was_in_vain(void **state)
{
    _job_ *job = sample_job();
    struct io_mount *m = &job->mounts.items[0];
    _free_ char *text = NULL, *mapped = NULL;

    (void)state;
    m->cache = (struct io_cache){1024, 1024, {2048, 4096, 1024, 8192}};
    text = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(strstr(text, "prefetch 1.0 KiB, write 8.0"));
    assert_non_null(strstr(text, " KiB unused\n"));
    io_account_op(&m->io, IO_MMAP_READ)->requests = 1;
    mapped = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(strstr(mapped, "read\n"));
    assert_null(strstr(mapped, "unused"));
}

static void test_off_is_empty(void **state)
{
    _job_ *job = sample_job();
    _free_ char *text = report_text(job, SUMMARY_OFF, NULL);

    (void)state;
    assert_string_equal(text, "");
}

static void check_text(const struct job_account *job, const char *want)
{
    _free_ char *text = report_text(job, SUMMARY_SHORT, NULL);

    assert_string_equal(text, want);
}

static void test_nothing(void **state)
{
    _job_ *job = job_account_create();

    (void)state;
    check_text(job, "I/O summary: job 0, running, 0 nodes, 00:00:00\n"
                    "no I/O was counted\n"
                    "NOT complete: 0 of an unknown number of nodes, 0 events lost\n");
    job->nodes_expected = job->nodes_reported = 1;
    job->key.jobid = 7;
    check_text(job, "I/O of job 7, running: 0 B read, 0 B written, 0 calls; complete: 1/1 nodes\n");
    job->ended = true;
    check_text(job, "I/O of job 7, ended: 0 B read, 0 B written, 0 calls; complete: 1/1 nodes\n");
    job->slurm = (struct slurm_end){SLURM_STATE_COMPLETED, true, 0, 0};
    check_text(job,
               "I/O of job 7, COMPLETED: 0 B read, 0 B written, 0 calls; complete: 1/1 nodes\n");
    job->slurm = (struct slurm_end){SLURM_STATE_FAILED, true, 3, 0};
    check_text(job,
               "I/O of job 7, FAILED (exit code 3:0): 0 B read, 0 B written, 0 calls; complete\n");
}

/* A job that was not counted is shown without numbers. */
static void test_what_was_not_counted(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *full = NULL;

    (void)state;
    job->key.jobid = 7;
    job->nodes_expected = job->nodes_reported = 1;
    job->elapsed_ns = SECONDS(10);
    job->unsupported = UINT64_MAX;
    completeness_add(&job->completeness, "not counted: no BTF", 1, 0);
    check_text(job, "I/O summary: job 7, running, 1 node, 00:00:10\n"
                    "NOT complete: 1/1 nodes, 0 events lost; not counted on this node (ask "
                    "the\n  administrators)\n");
    full = report_text(job, SUMMARY_FULL, NULL);
    assert_null(strstr(full, "waiting"));
    assert_null(strstr(full, "no I/O"));
    assert_null(strstr(full, "BTF"));
    assert_non_null(strstr(full, "not counted on this node (ask"));
}

/* The little I/O of an incomplete account may have been more: the summary says what is missing. */
static void test_little_with_losses(void **state)
{
    _job_ *job = job_account_create();

    (void)state;
    job->nodes_expected = job->nodes_reported = 1;
    job->ended = true;
    job->completeness.lost = 2;
    check_text(job, "I/O summary: job 0, ended, 1 node, 00:00:00\n"
                    "no I/O was counted\n"
                    "NOT complete: 1/1 nodes, 2 events lost\n");
}

static void test_order_and_rest(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *text = NULL;

    (void)state;
    job->nodes_expected = job->nodes_reported = 1;
    job->ended = true;
    job->elapsed_ns = SECONDS(100);
    job->longest_wait_ns = SECONDS(200); /* a step outlasted the job: not above 100 % */
    /* /7 waits longest, ... /1 and /0 not at all, but /0 has more bytes. */
    for (unsigned i = 0; i < 8; i++) {
        char name[] = {'/', (char)('0' + i), '\0'};

        sample_calls(sample_mount(&job->mounts, name, "xfs", name), IO_WRITE, 10,
                     i == 0 ? MIB(9) : MIB(1), i < 2 ? 0 : SECONDS(i));
    }
    job->mounts.items[0].peaks[IO_WRITE].bytes_per_s = MIB(10);
    text = report_text(job, SUMMARY_SHORT, NULL);
    assert_string_equal(
        text, "I/O summary: job 0, ended, 1 node, 00:01:40\n"
              "100 % of the run time was spent waiting for I/O: writing /7 26 %, writing /6\n"
              "  22 %, writing /5 19 %\n"
              "mount        read mean/s peak/s  write mean/s peak/s calls  ~size meta errs wait\n"
              /* waiting: i of 27 s; 10 MiB in 100 s are 102.4 KiB/s */
              "/7              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  26%\n"
              "/6              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  22%\n"
              "/5              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  19%\n"
              "/4              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  15%\n"
              "/3              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  11%\n"
              /* 90 + 10 + 10 MiB; 2 of 27 s; the peak of several mounts is unknown */
              "3 more          -      -      - 110MiB 1.1MiB      -    30   1MiB    -    -   7%\n"
              "complete: 1/1 nodes, 0 events lost\n");
}

/* Errors first, then the notes that leave room for two mounts, in 12 lines. */
static void test_notes(void **state)
{
    _job_ *job = sample_job();
    const struct text_style style = {.notes = sample_notes()};
    _free_ char *text = report_text(job, SUMMARY_SHORT, &style), *full = NULL;

    (void)state;
    assert_string_equal(
        text, "I/O summary: job 4700_12 (4711) of ada, ended, 2 nodes, 00:10:00\n"
              "error: 5 calls on /scratch failed because it was full.\n"
              "50 % of the run time was spent waiting for I/O: reading /scratch 14 %, writing\n"
              "  /scratch 11 %; 38 % waiting on /scratch: 31 % server, 4 % client queue\n"
              "mount        read mean/s >=peak  write mean/s >=peak calls  ~size meta errs wait\n"
              "/scratch    99GiB 168MiB 900MiB  10GiB  17MiB 200MiB  104k   1MiB  24k    7  38%\n"
              "/home      3.9MiB 6.7KiB      -      -      -      -  1000   4KiB 100k    -  10%\n"
              "1 more          -      -      - 512MiB 874KiB      -   512   1MiB    -    -   2%\n"
              "note: Half of the run time went to reading /scratch from far away in pieces that\n"
              "  are too small to be worth the way: copy it to the node's own disk first.\n"
              "  https://docs.example/io#far\n"
              "complete: 2/2 nodes, 0 events lost\n");
    full = report_text(job, SUMMARY_FULL, &style);
    assert_non_null(strstr(full, "\nnote: Read more at a time.\n"));
    assert_non_null(strstr(full, "\nnote: A note of more than"));
}

static bool has_line(const struct job_account *job, enum summary summary, const char *words)
{
    _free_ char *text = report_text(job, summary, NULL);

    return strstr(text, words);
}

/* The wait on NFS is not split if the requests do not explain it, or are not all known. */
static void test_wait_on_nfs(void **state)
{
    static const char split[] = ": 31 % server, 4 % client queue", third[] = ", opening files on";
    _job_ *job = sample_job();
    struct rpc_account *rpc = job->mounts.items[0].rpc;
    const struct rpc_counter own = rpc->own[RPC_READ];

    (void)state;
    assert_true(has_line(job, SUMMARY_SHORT, split));
    assert_false(has_line(job, SUMMARY_SHORT, third));
    rpc->own[RPC_WRITE] = (struct rpc_counter){.calls = 1};
    rpc->own[RPC_READ].time_ns = SECONDS(149); /* of 300 s */
    assert_false(has_line(job, SUMMARY_SHORT, "% server"));
    assert_true(has_line(job, SUMMARY_SHORT, third));
    rpc->own[RPC_READ].time_ns = rpc->own[RPC_READ].server_ns = SECONDS(151);
    rpc->own[RPC_READ].queued_ns = 0;
    assert_true(has_line(job, SUMMARY_SHORT, ": 19 % server"));
    rpc->own[RPC_READ] = own;
    rpc->incomplete = true;
    assert_false(has_line(job, SUMMARY_SHORT, "% server"));
    assert_true(has_line(job, SUMMARY_FULL, "NFS requests, at least: read 8000, write 1;"));
    rpc->own[RPC_READ] = rpc->own[RPC_WRITE] = (struct rpc_counter){0};
    assert_true(has_line(job, SUMMARY_FULL, "NFS requests, at least: none; at most 600 of"));
    free(rpc);
    job->mounts.items[0].rpc = NULL;
    assert_false(has_line(job, SUMMARY_FULL, "NFS requests"));
    assert_true(has_line(job, SUMMARY_SHORT, third));
}

/* "nothing to improve" is not printed if calls failed or the account is incomplete. */
static void test_verdict_on_little_waiting(void **state)
{
    _job_ *job = sample_job();
    const struct text_style style = {.notes = sample_notes()};
    _free_ char *fine = NULL, *failed = NULL, *partly = NULL, *many = NULL, *unsure = NULL;

    (void)state;
    /* 400 s of all threads, of which one waited 240 s of 60,000 s */
    job->elapsed_ns = SECONDS(60000);
    job->longest_wait_ns = SECONDS(240);
    fine = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(
        strstr(fine, "\nI/O was not the bottleneck (0.4 % of the run time): nothing to improve\n"));
    failed = report_text(job, SUMMARY_SHORT, &style);
    assert_non_null(strstr(failed, "\nI/O took 0.4 % of the run time\n"));
    job->nodes_reported = 1;
    partly = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(partly, "\nI/O took at least 0.4 % of the run time\n"));
    /* One short process after the other: none of them waited long, but the job may have. */
    job->nodes_reported = 2;
    job->elapsed_ns = SECONDS(600);
    job->longest_wait_ns = SECONDS(3);
    many = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(
        many, "\nall threads together waited 400 s for I/O, none of them longer than 0.5 %"));
    job->nodes_reported = 1;
    unsure = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(
        strstr(unsure, "\nall threads together waited at least 400 s for I/O, none of them longer "
                       "than\n  0.5 % of the run time, as far as known\n"));
}

/* Nodes need not be busiest at the same time: a peak is a lower bound, and at least the mean. */
static void test_peaks_of_several_nodes(void **state)
{
    _job_ *job = job_account_create();
    struct io_mount *m = sample_mount(&job->mounts, "/scratch", "xfs", "x");
    _free_ char *one = NULL, *two = NULL;

    (void)state;
    sample_calls(m, IO_READ, 400, MIB(1), SECONDS(1));
    sample_calls(m, IO_WRITE, 100, MIB(1), SECONDS(1));
    m->peaks[IO_READ].bytes_per_s = MIB(15);
    m->peaks[IO_WRITE].bytes_per_s = MIB(60);
    job->elapsed_ns = SECONDS(20);
    job->nodes_expected = job->nodes_reported = 2;
    two = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(two, "  read mean/s >=peak  write mean/s >=peak calls"));
    assert_non_null(strstr(two, "400MiB  20MiB  20MiB 100MiB 5.0MiB  60MiB   500"));
    m->peaks[IO_READ].bytes_per_s = MIB(40);
    job->nodes_expected = job->nodes_reported = 1;
    one = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(one, "  read mean/s peak/s  write mean/s peak/s calls"));
    assert_non_null(strstr(one, "400MiB  20MiB  40MiB 100MiB 5.0MiB  60MiB   500"));
}

/* At the end of a job on several nodes, only the steps of this node are available. */
static void test_steps_of_one_of_the_nodes(void **state)
{
    _job_ *job = sample_job();
    const struct io_mounts none = {0};
    _free_ char *full = NULL, *alone = NULL;

    (void)state;
    job->more_steps = 7;
    alone = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(strstr(alone, "\n  7 more steps\n"));
    assert_null(strstr(alone, "of this node"));
    assert_int_equal(nodes_add(job, "n1", &job->mounts, 1), 0);
    assert_int_equal(nodes_add(job, "n9", &none, 0), 0);
    full = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(
        strstr(full, "\n  n9                              -        -       -       -         -\n"));
    assert_null(strstr(full, "\n  n2    "));
    assert_non_null(strstr(full, "\n  7 more steps\n"
                                 "(this node only; 'jobio job 4711 --steps' shows all nodes)\n"));
}

/* Mapped files are in no column; small amounts are not mentioned. */
static void test_mapped_files(void **state)
{
    static const struct {
        uint64_t read, written, called;
        const char *want;
    } cases[] = {
        {MIB(64), 0, MIB(640), "\nmapped files, not in the table: 64.0 MiB read, 0 B written\n"},
        {MIB(64) - 1, 0, 0, NULL},
        {MIB(64), 0, MIB(641), NULL},
        {MIB(1), GIB(1), 0, "\nmapped files, not in the table: 1.0 MiB read, 1.0 GiB written\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _job_ *job = job_account_create();
        struct io_mount *m = sample_mount(&job->mounts, "/scratch", "xfs", "x");
        _free_ char *text = NULL;

        sample_calls(m, IO_READ, 1, cases[i].called, 1);
        sample_calls(m, IO_MMAP_READ, 1000, 0, 1)->bytes = cases[i].read;
        sample_calls(m, IO_MMAP_WRITE, 1, cases[i].written, 1);
        text = report_text(job, SUMMARY_SHORT, NULL);
        if (cases[i].want)
            assert_non_null(strstr(text, cases[i].want));
        else
            assert_null(strstr(text, "mapped files"));
    }
}

/* The verdict and the notes report the same share of the time for reading. */
static void test_verdict_on_mapped_files(void **state)
{
    _job_ *job = job_account_create();
    struct io_mount *m = sample_mount(&job->mounts, "/scratch", "xfs", "x");
    _free_ char *text = NULL;

    (void)state;
    sample_calls(m, IO_READ, 10, MIB(1), SECONDS(10));
    sample_calls(m, IO_MMAP_READ, 10, MIB(1), SECONDS(25));
    sample_calls(m, IO_MMAP_WRITE, 10, MIB(1), SECONDS(5));
    job->elapsed_ns = SECONDS(100);
    job->longest_wait_ns = SECONDS(40);
    text = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(text,
                           "\nat least 40 % of the run time was spent waiting for I/O: mapped "
                           "files on\n  /scratch 30 %, reading /scratch 10 %\n"));
}

static void test_verdict_on_closes_and_locks(void **state)
{
    _job_ *job = job_account_create();
    struct io_mount *m = sample_mount(&job->mounts, "/nfs", "nfs4", "x");
    _free_ char *text = NULL;

    (void)state;
    sample_calls(m, IO_WRITE, 10, MIB(1), SECONDS(8));
    sample_calls(m, IO_CLOSE, 10, 0, SECONDS(25));
    sample_calls(m, IO_LOCK, 10, 0, SECONDS(7));
    job->elapsed_ns = SECONDS(100);
    job->longest_wait_ns = SECONDS(40);
    text = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(text,
                           "\nat least 40 % of the run time was spent waiting for I/O: closing "
                           "files on /nfs\n  25 %, writing /nfs 8 %, locking files on /nfs 7 %\n"));
}

static void test_verdict_on_lookups(void **state)
{
    _job_ *job = job_account_create();
    struct io_mount *m = sample_mount(&job->mounts, "/nfs", "nfs4", "x");
    _free_ char *text = NULL;

    (void)state;
    sample_calls(m, IO_STAT, 10, 0, SECONDS(8));
    sample_calls(m, IO_LOOKUP, 10, 0, SECONDS(25));
    job->elapsed_ns = SECONDS(100);
    job->longest_wait_ns = SECONDS(33);
    text = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(text, "looking up files on\n  /nfs 33 %\n"));
}

/* Failed opens that reached no file system. */
static void test_no_mount_only_when_it_matters(void **state)
{
    _job_ *job = sample_job();
    struct io_mount *m = io_mounts_get(&job->mounts, "(no mount)", "none", "none", false);
    _free_ char *few = NULL, *full = NULL, *many = NULL;

    (void)state;
    sample_calls(m, IO_OPEN, 999, 0, 1000);
    sample_errors(m, IO_OPEN, ENOENT, 999);
    few = report_text(job, SUMMARY_SHORT, NULL);
    assert_null(strstr(few, "(no mount)"));
    full = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(strstr(full, "\n(no mount) (none, none)\n"));
    sample_errors(m, IO_OPEN, ENOENT, 1);
    many = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(many, "\n(no mount) "));
}

static void test_other_mounts_have_a_note(void **state)
{
    _job_ *job = sample_job();
    _free_ char *without = report_text(job, SUMMARY_SHORT, NULL), *with = NULL;
    struct io_mount *m = io_mounts_get(&job->mounts, "(other mounts)", "none", "none", false);

    (void)state;
    sample_calls(m, IO_WRITE, 7, 70, 1000);
    with = report_text(job, SUMMARY_SHORT, NULL);
    assert_null(strstr(without, "(other mounts)"));
    assert_non_null(strstr(with, "\n(other mounts) "));
    assert_non_null(strstr(with, "counted separately"));
}

static void test_words(void **state)
{
    (void)state;
    for (int s = SUMMARY_OFF; s <= SUMMARY_FULL; s++)
        assert_int_equal(summary_parse(summary_name(s)), s);
    assert_int_equal(summary_parse("Short"), -EINVAL);
    assert_int_equal(summary_parse(""), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_page_cache_says_what_was_in_vain),
        cmocka_unit_test(test_off_is_empty),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_what_was_not_counted),
        cmocka_unit_test(test_little_with_losses),
        cmocka_unit_test(test_order_and_rest),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_wait_on_nfs),
        cmocka_unit_test(test_verdict_on_little_waiting),
        cmocka_unit_test(test_peaks_of_several_nodes),
        cmocka_unit_test(test_steps_of_one_of_the_nodes),
        cmocka_unit_test(test_mapped_files),
        cmocka_unit_test(test_verdict_on_mapped_files),
        cmocka_unit_test(test_verdict_on_closes_and_locks),
        cmocka_unit_test(test_verdict_on_lookups),
        cmocka_unit_test(test_no_mount_only_when_it_matters),
        cmocka_unit_test(test_other_mounts_have_a_note),
        cmocka_unit_test(test_words),
    };

    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
