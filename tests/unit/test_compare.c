/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs as numbers that can be compared, and what a comparison says: with jobs of known numbers. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "report/compare/compare.h"
#include "report/layout.h"
#include "tests/unit/sample.h"

#define _profile_ CLEANUP(profile_clear)

/* A job that ran and waited so many seconds, with nothing in it. */
static struct job_account *job_of(uint64_t elapsed_s, uint64_t wait_s)
{
    struct job_account *job = job_account_create();

    assert_non_null(job);
    job->elapsed_ns = SECONDS(elapsed_s);
    job->longest_wait_ns = SECONDS(wait_s);
    job->nodes_expected = job->nodes_reported = 1;
    return job;
}

static struct profile profile_of(const struct job_account *job)
{
    struct profile p;

    assert_int_equal(profile_make(job, &p), 0);
    return p;
}

static void assert_near(double got, double want)
{
    if (got < want * 0.999999 || got > want * 1.000001)
        fail_msg("%f instead of %f", got, want);
}

static void test_profile_of_a_job(void **state)
{
    _job_ *job = job_of(100, 40);
    struct io_mount *scratch, *tmp, *other;
    _profile_ struct profile p = {0};
    const struct profile_mount *m;

    (void)state;
    (void)sample_mount(&job->mounts, "/scratch", "nfs4", "srv:/scratch");
    (void)sample_mount(&job->mounts, "/tmp", "xfs", "/dev/sda");
    (void)sample_mount(&job->mounts, "/tmp", "xfs", "/dev/nvme0");
    scratch = &job->mounts.items[0];
    tmp = &job->mounts.items[1];
    other = &job->mounts.items[2];
    sample_calls(scratch, IO_READ, 1000, MIB(1), SECONDS(60));
    sample_calls(scratch, IO_OPEN, 300, 0, SECONDS(20));
    sample_calls(scratch, IO_CREATE, 100, 0, SECONDS(10)); /* in the opens already */
    sample_calls(tmp, IO_WRITE, 10, KIB(4), SECONDS(10));
    sample_calls(other, IO_WRITE, 30, KIB(64), SECONDS(10));
    sample_calls(other, IO_MMAP_READ, 5, KIB(4), 0);
    sample_calls(other, IO_CLONE, 2, GIB(1), 0); /* no data moved */
    scratch->io.ops[IO_OPEN]->errors = 7;
    p = profile_of(job);
    assert_int_equal(p.runs, 1);
    assert_true(p.complete);
    assert_near(p.elapsed_s, 100);
    assert_near(p.wait, 0.4);
    assert_int_equal(p.n, 2);
    m = &p.mounts[0];
    assert_string_equal(m->mount, "/scratch");
    assert_near(m->uses[PROFILE_READ].bytes, 1000.0 * (double)MIB(1));
    assert_near(m->uses[PROFILE_READ].size_bytes, (double)MIB(1));
    assert_near(m->uses[PROFILE_READ].wait, 0.24); /* 60 of 100 s of all waiting */
    assert_near(m->uses[PROFILE_META].calls, 300);
    assert_near(m->uses[PROFILE_META].wait, 0.08);
    assert_near(profile_mount_errors(m), 7);
    m = &p.mounts[1];
    assert_near(m->uses[PROFILE_WRITE].calls, 40);
    assert_near(m->uses[PROFILE_WRITE].size_bytes, (double)KIB(64)); /* of both disks */
    assert_near(m->uses[PROFILE_MAPPED].bytes, 5.0 * (double)KIB(4));
    assert_near(m->uses[PROFILE_MAPPED].calls, 7);
    assert_near(profile_mount_wait(m), 0.08);
    assert_near(p.total[PROFILE_WRITE].calls, 40);
    assert_null(profile_find(&p, "/tmp", "ext4"));
}

static void test_profile_of_nothing(void **state)
{
    _job_ *job = job_of(0, 0);
    _profile_ struct profile p = profile_of(job);

    (void)state;
    assert_true(p.wait == 0 && p.elapsed_s == 0 && p.n == 0);
}

static void test_median(void **state)
{
    static const uint64_t reads[] = {10, 1000, 20};
    struct profile ps[3];
    _profile_ struct profile p = {0};
    double values[] = {4, 1, 3, 2};

    (void)state;
    assert_near(profile_middle(values, 4), 2.5);
    assert_true(profile_middle(values, 0) == 0);
    for (size_t i = 0; i < 3; i++) {
        _job_ *job = job_of(100 * (i + 1), 50);
        struct io_mount *m = sample_mount(&job->mounts, "/scratch", "nfs4", "srv:/scratch");

        sample_calls(m, IO_READ, reads[i], KIB(4), SECONDS(1));
        if (i == 1) { /* one of three */
            m = sample_mount(&job->mounts, "/home", "nfs4", "srv:/home");
            sample_calls(m, IO_WRITE, 100, KIB(64), 0);
        }
        ps[i] = profile_of(job);
    }
    assert_int_equal(profile_median(ps, 3, &p), 0);
    assert_int_equal(p.runs, 3);
    assert_near(p.elapsed_s, 200);
    assert_near(p.wait, 0.25);
    assert_near(profile_find(&p, "/scratch", "nfs4")->uses[PROFILE_READ].calls, 20);
    assert_true(profile_find(&p, "/home", "nfs4")->uses[PROFILE_WRITE].calls == 0);
    assert_near(profile_find(&p, "/home", "nfs4")->uses[PROFILE_WRITE].size_bytes, (double)KIB(64));
    for (size_t i = 0; i < 3; i++)
        profile_clear(&ps[i]);
}

static void check_sentence(const struct job_account *a, const struct job_account *b,
                           const char *want)
{
    _profile_ struct profile pa = profile_of(a), pb = profile_of(b);
    const struct compare_side sa = {&pa, "1", "job 1"}, sb = {&pb, "2", "job 2"};
    _free_ char *text = compare_sentence(&sa, &sb), *turned = compare_sentence(&sb, &sa);

    assert_string_equal(text, want);
    /* The one that waited is told of first, whatever the order. */
    if (pa.elapsed_s == pb.elapsed_s && strncmp(want, "I/O", 3) != 0)
        assert_string_equal(turned, want);
}

/* 33 and 32 KiB lie in two buckets: that is no half. */
static void test_sizes_that_are_about_the_same(void **state)
{
    _job_ *a = job_of(100, 2), *b = job_of(100, 31);
    struct io_mount *m = sample_mount(&a->mounts, "/scratch", "nfs4", "srv:/scratch"),
                    *n = sample_mount(&b->mounts, "/scratch", "nfs4", "srv:/scratch");

    (void)state;
    sample_calls(m, IO_READ, 1000, KIB(33), SECONDS(1));
    sample_calls(n, IO_READ, 12000, KIB(32), SECONDS(30));
    check_sentence(
        a, b,
        "Job 2 waited longer for I/O: 31 s (31 % of its run time), job 1 2.0 s (2.0 %). It "
        "read 12x as much from /scratch, and each call took 2.5x as long. Both ran about as "
        "long.");
}

static void test_sentences(void **state)
{
    _job_ *a = job_of(100, 2), *b = job_of(100, 31);
    struct io_mount *m = sample_mount(&a->mounts, "/scratch", "nfs4", "srv:/scratch"),
                    *n = sample_mount(&b->mounts, "/scratch", "nfs4", "srv:/scratch");

    (void)state;
    sample_calls(m, IO_READ, 1000, MIB(1), SECONDS(1));
    sample_calls(n, IO_READ, 192000, KIB(64), SECONDS(30));
    check_sentence(
        a, b,
        "Job 2 waited longer for I/O: 31 s (31 % of its run time), job 1 2.0 s (2.0 %). It "
        "read 12x as much from /scratch in calls 16x smaller. Both ran about as long.");
    /* The same work, slower. */
    io_account_clear(&n->io);
    sample_calls(n, IO_READ, 1000, MIB(1), SECONDS(30));
    b->elapsed_ns = SECONDS(200);
    b->longest_wait_ns = SECONDS(100);
    check_sentence(
        a, b,
        "Job 2 waited longer for I/O: 100 s (50 % of its run time), job 1 2.0 s (2.0 %). It "
        "read about as much from /scratch, and each call took 30x as long. Job 2 ran 2.0x as "
        "long as job 1.");
    /* Something new. */
    n = sample_mount(&b->mounts, "/ho\033me", "nfs4", "srv:/home");
    sample_calls(n, IO_STAT, 20000, 0, SECONDS(100));
    check_sentence(
        a, b,
        "Job 2 waited longer for I/O: 100 s (50 % of its run time), job 1 2.0 s (2.0 %). It "
        "made 20.0 k metadata calls on /ho?me, where the other did nothing. Job 2 ran 2.0x "
        "as long as job 1.");
}

/* Of one kind of calls job 1 waited much longer, but less in all: what is told is what cost job 2
 * its time. */
static void test_sentence_follows_the_time_waited(void **state)
{
    _job_ *a = job_of(200, 60), *b = job_of(100, 70);
    struct io_mount *m = sample_mount(&a->mounts, "/scratch", "nfs4", "srv:/scratch"),
                    *n = sample_mount(&b->mounts, "/home", "nfs4", "srv:/home");

    (void)state;
    sample_calls(m, IO_READ, 1000, MIB(1), SECONDS(60));
    sample_calls(n, IO_WRITE, 1000, MIB(1), SECONDS(40));
    sample_calls(n, IO_READ, 1000, MIB(1), SECONDS(30));
    check_sentence(
        a, b,
        "Job 2 waited longer for I/O: 70 s (70 % of its run time), job 1 60 s (30 %). It "
        "wrote 1000 MiB to /home, where the other did nothing. But job 1 ran 2.0x as long as "
        "job 2.");
    b->elapsed_ns = SECONDS(1000);
    a->longest_wait_ns = SECONDS(150);
    check_sentence(
        a, b,
        "Job 1 waited longer for I/O: 150 s (75 % of its run time), job 2 70 s (7.0 %). It "
        "read 1000 MiB from /scratch, where the other did nothing. But job 2 ran 5.0x as "
        "long as job 1.");
}

static void test_sentence_of_little(void **state)
{
    _job_ *a = job_of(1000, 10), *b = job_of(3000, 5);
    struct io_mount *m = sample_mount(&a->mounts, "/scratch", "nfs4", "srv:/scratch");

    (void)state;
    sample_calls(m, IO_READ, 1000, MIB(1), SECONDS(1));
    check_sentence(a, b,
                   "I/O made no difference: job 1 waited 10 s for it, job 2 5.0 s. "
                   "Job 2 ran 3.0x as long as job 1.");
}

static void test_changes(void **state)
{
    static const struct {
        double a, b;
        const char *want;
    } cases[] = {
        {0, 0, "-"},         {0, 5, "new"},       {5, 0, "gone"},        {100, 104, "same"},
        {1, 12, "12x more"}, {16, 1, "16x less"}, {10, 15, "1.5x more"}, {1, 99999, ">999x more"},
    };
    char buf[COMPARE_CHANGE];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(compare_change(cases[i].a, cases[i].b, buf), cases[i].want);
}

static void check_width(const char *text, size_t columns)
{
    _free_ char *copy = strdup(text);

    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        if (layout_width(line) > columns)
            fail_msg("wider than %zu: %s", columns, line);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void test_table(void **state)
{
    _job_ *a = sample_job(), *b = job_of(600, 300);
    _profile_ struct profile pa = profile_of(a), pb = {0};
    _free_ char *wide = NULL, *narrow = NULL;
    struct json_object *json;

    (void)state;
    sample_calls(sample_mount(&b->mounts, "/a/rather/long/mount/point/of/a/project", "lustre",
                              "mgs@o2ib:/a"),
                 IO_READ, 1000, MIB(1), SECONDS(100));
    sample_calls(sample_mount(&b->mounts, "/scratch", "nfs4", "srv:/scratch"), IO_WRITE, 1, 1,
                 SECONDS(1));
    b->completeness.lost = 1;
    pb = profile_of(b);
    wide = compare_text(&(struct compare_side){&pa, "12345678_1234", "job 12345678_1234"},
                        &(struct compare_side){&pb, "median of 17", "the usual run"}, 80);
    narrow = compare_text(&(struct compare_side){&pa, "12345678_1234", "job 12345678_1234"},
                          &(struct compare_side){&pb, "median of 17", "the usual run"}, 40);
    check_width(wide, 80);
    check_width(narrow, 40);
    assert_non_null(strstr(wide, "  12345678_1234   median of 17"));
    assert_non_null(strstr(wide, "\n/a/rather/long/mount/point/of/a/project (lustre)\n"));
    assert_non_null(strstr(wide, "\nThe account of the usual run is incomplete"));
    /* of two powers of two no ratio */
    assert_non_null(
        strstr(wide, "   ~median size               4 MiB            1 B      smaller\n"));
    json = profile_json(&pb);
    assert_string_equal(
        json_object_to_json_string_ext(json,
                                       JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
        "{\"runs\":1,\"complete\":false,\"elapsed_s\":600,\"waiting\":0.500000,"
        "\"total\":{\"read\":{"
        "\"requests\":1000,\"bytes\":1048576000,\"errors\":0,\"median_bytes\":1048576,"
        "\"time_ns\":100000000000,\"waiting\":0.495050},\"write\":{\"requests\":1,\"bytes\":1,"
        "\"errors\":0,\"median_bytes\":1,\"time_ns\":1000000000,\"waiting\":0.004950}},\"mounts\":["
        "{\"mount\":\"/a/rather/long/mount/point/of/a/project\",\"fstype\":\"lustre\",\"read\":{"
        "\"requests\":1000,\"bytes\":1048576000,\"errors\":0,\"median_bytes\":1048576,"
        "\"time_ns\":100000000000,\"waiting\":0.495050}},"
        "{\"mount\":\"/scratch\",\"fstype\":\"nfs4\","
        "\"write\":{\"requests\":1,\"bytes\":1,\"errors\":0,\"median_bytes\":1,"
        "\"time_ns\":1000000000,\"waiting\":0.004950}}]}");
    json_object_put(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_of_a_job),
        cmocka_unit_test(test_profile_of_nothing),
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_sizes_that_are_about_the_same),
        cmocka_unit_test(test_sentence_follows_the_time_waited),
        cmocka_unit_test(test_sentence_of_little),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
