/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/prometheus/prometheus.h"
#include "tests/unit/sample.h"

#define WHERE "cluster=\"alpha\",instance=\"n1\""
#define SCRATCH "mountpoint=\"/scratch\",fstype=\"nfs4\""

static char *page_with(const struct job_account *const *jobs, size_t n,
                       const struct io_mounts *totals, struct prometheus_names *names)
{
    const struct prometheus_node node = {
        .cluster = "alpha",
        .instance = "n1",
        .totals = totals,
        .jobs = jobs,
        .n_jobs = n,
        .names = names,
        .users = true,
        .lost = 7,
        .version = "0.1.0",
        .plugin = "0.0.9",
    };
    char *text = report_prometheus(&node);

    assert_non_null(text);
    return text;
}

static char *page_of(const struct job_account *const *jobs, size_t n,
                     const struct io_mounts *totals)
{
    return page_with(jobs, n, totals, NULL);
}

static void assert_line(const char *text, const char *line)
{
    char want[1024];

    snprintf(want, sizeof(want), "\n%s\n", line);
    if (!strstr(text, want))
        fail_msg("no line %s in:\n%s", line, text);
}

static void assert_no(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("%s in:\n%s", part, text);
}

/* Families are contiguous, with HELP and TYPE once; no two samples have the same labels; the last
 * line ends. */
static void check_form(const char *text)
{
    char *lines[4096], *copy = strdup(text);
    size_t n = 0;

    assert_int_equal(text[strlen(text) - 1], '\n');
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
        assert_in_range(n, 0, 4095);
        lines[n++] = line;
    }
    for (size_t i = 0, family = 0; i < n; i++) {
        if (!strncmp(lines[i], "# HELP ", 7)) {
            size_t name = strcspn(lines[i] + 7, " ");

            family = i;
            assert_memory_equal(lines[i + 1], "# TYPE ", 7);
            assert_memory_equal(lines[i + 1] + 7, lines[i] + 7, name + 1);
            for (size_t k = 0; k < i; k++)
                assert_true(strncmp(lines[k], lines[i], 7 + name + 1) != 0);
        } else if (lines[i][0] != '#') {
            size_t name = strcspn(lines[i], "{"), labels = strcspn(lines[i], "}");

            assert_int_equal(strcspn(lines[family] + 7, " "), name);
            assert_memory_equal(lines[i], lines[family] + 7, name);
            for (size_t k = family; k < i; k++)
                if (!strncmp(lines[k], lines[i], labels + 1))
                    fail_msg("twice: %s", lines[i]);
        }
    }
    free(copy);
}

/* What promtool finds, and its exit status. Skipped where there is no promtool. */
static void check_promtool(const char *text)
{
    char path[] = "/tmp/jobio-test-prometheus-XXXXXX", command[128], found[4096];
    int fd = mkstemp(path), status;
    size_t n;
    FILE *out;

    assert_in_range(fd, 0, 1 << 20);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    snprintf(command, sizeof(command), "promtool check metrics <%s 2>&1", path);
    out = popen(command, "re");
    assert_non_null(out);
    n = fread(found, 1, sizeof(found) - 1, out);
    found[n] = '\0';
    status = pclose(out);
    (void)unlink(path);
    if (status != 0 || n != 0)
        fail_msg("promtool: exit status %d\n%s", status >> 8, found);
}

static void test_samples(void **state)
{
    _job_ *job = sample_job();
    const struct job_account *jobs[] = {job};
    _free_ char *text = page_of(jobs, 1, &job->mounts);

    (void)state;
    check_form(text);
    /* By hand from sample.c: 101000 MiB, 600 s. */
    assert_line(text, "# TYPE jobio_read_bytes_total counter");
    assert_line(text, "jobio_read_bytes_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 105906176000");
    assert_line(text, "jobio_read_requests_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 101000");
    assert_line(text, "jobio_read_seconds_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 110");
    assert_line(text, "jobio_write_errors_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 7");
    assert_line(text, "# TYPE jobio_read_mean_bytes_per_second gauge");
    assert_line(text,
                "jobio_read_mean_bytes_per_second{" WHERE ",jobid=\"4711\"," SCRATCH "} 176510293");
    assert_line(text, "jobio_write_mean_requests_per_second{" WHERE ",jobid=\"4711\"," SCRATCH
                      "} 4.26666667");
    assert_line(text,
                "jobio_read_peak_bytes_per_second{" WHERE ",jobid=\"4711\"," SCRATCH "} 943718400");
    assert_line(text,
                "jobio_write_peak_requests_per_second{" WHERE ",jobid=\"4711\"," SCRATCH "} 50");
    assert_line(text, "jobio_metadata_requests_total{" WHERE ",jobid=\"4711\"," SCRATCH
                      ",op=\"create\"} 5000");
    assert_line(text, "jobio_metadata_seconds_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 100");
    assert_line(text, "jobio_metadata_errors_total{" WHERE
                      ",jobid=\"4711\",mountpoint=\"/home\",fstype=\"nfs4\"} 88000");
    assert_line(text, "jobio_node_metadata_seconds_total{" WHERE "," SCRATCH "} 100");
    /* Neither EINTR nor ENOENT is a matter of the file system. */
    assert_line(text,
                "jobio_failures_total{" WHERE ",jobid=\"4711\"," SCRATCH ",errno=\"ENOSPC\"} 5");
    assert_no(text, "EINTR");
    assert_no(text, "ENOENT");
    assert_line(text, "jobio_write_bytes_total{" WHERE ",jobid=\"4711\",mountpoint=\"(private)\","
                      "fstype=\"tmpfs\"} 536870912");
    assert_line(text, "jobio_job_info{" WHERE ",jobid=\"4711\",user=\"ada\",account=\"physics\","
                      "partition=\"long\",state=\"ended\"} 1");
    assert_line(text, "jobio_job_start_timestamp_seconds{" WHERE ",jobid=\"4711\"} "
                      "1795168801.00000002");
    assert_line(text, "jobio_job_end_timestamp_seconds{" WHERE ",jobid=\"4711\"} "
                      "1795169401.50000002");
    assert_line(text, "jobio_job_elapsed_seconds{" WHERE ",jobid=\"4711\"} 600");
    assert_line(text, "jobio_job_longest_wait_seconds{" WHERE ",jobid=\"4711\"} 300");
    assert_line(text, "jobio_job_expected_nodes{" WHERE ",jobid=\"4711\"} 2");
    assert_line(text, "jobio_node_read_bytes_total{" WHERE "," SCRATCH "} 105906176000");
    assert_line(text, "jobio_node_metadata_requests_total{" WHERE ",mountpoint=\"/home\","
                      "fstype=\"nfs4\",op=\"open\"} 100000");
    assert_line(text, "jobio_events_lost_total{" WHERE "} 7");
    assert_line(text, "jobio_tracked_jobs{" WHERE "} 0");
    assert_line(text, "jobio_build_info{" WHERE ",version=\"0.1.0\"} 1");
    assert_line(text, "jobio_plugin_info{" WHERE ",version=\"0.0.9\"} 1");
    assert_no(text, "fsync");
}

static void test_running_job_has_no_end(void **state)
{
    _job_ *job = sample_job();
    const struct job_account *jobs[] = {job};
    _free_ char *text = NULL;

    (void)state;
    job->ended = false;
    text = page_of(jobs, 1, NULL);
    assert_no(text, "end_timestamp_seconds{");
    assert_line(text, "jobio_tracked_jobs{" WHERE "} 1");
    assert_non_null(strstr(text, "state=\"running\"} 1\n"));
}

static void test_no_wait_is_longer_than_the_job(void **state)
{
    _job_ *job = sample_job();
    const struct job_account *jobs[] = {job};
    _free_ char *text = NULL;

    (void)state;
    job->longest_wait_ns = job->elapsed_ns + SECONDS(100);
    text = page_of(jobs, 1, &job->mounts);
    assert_line(text, "jobio_job_longest_wait_seconds{" WHERE ",jobid=\"4711\"} 600");
}

static void test_a_job_is_complete_or_not(void **state)
{
    _job_ *first = sample_job(), *second = sample_job();
    const struct job_account *jobs[] = {first, second};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        _free_ char *text = NULL;

        completeness_clear(&first->completeness);
        first->completeness = (struct completeness){.lost = i == 1};
        if (i == 2)
            assert_int_equal(completeness_add(&first->completeness, "map-full", 3, 0), 0);
        first->key.restart = i == 3; /* a run of the job that is not the newest */
        second->completeness.lost = i == 3;
        second->key.restart = 0;
        second->nodes_expected = first->nodes_expected = i == 3 ? 0 : 2;
        text = page_of(jobs, i == 3 ? 2 : 1, NULL);
        assert_line(text, i == 0 ? "jobio_job_complete{" WHERE ",jobid=\"4711\"} 1"
                                 : "jobio_job_complete{" WHERE ",jobid=\"4711\"} 0");
        if (i == 3)
            assert_no(text, "jobio_job_expected_nodes{");
    }
}

static void test_users_may_be_left_out(void **state)
{
    _job_ *job = sample_job();
    const struct job_account *jobs[] = {job};
    const struct prometheus_node node = {
        .cluster = "c", .instance = "i", .jobs = jobs, .n_jobs = 1};
    _free_ char *text = report_prometheus(&node);

    (void)state;
    assert_no(text, "\"ada\"");
    assert_no(text, "physics");
    assert_no(text, "jobio_plugin_info");
    assert_non_null(strstr(text, "jobid=\"4711\",partition=\"long\",state"));
    assert_non_null(
        strstr(text, "jobio_build_info{cluster=\"c\",instance=\"i\",version=\"\"} 1\n"));
}

static void test_runs_of_a_requeued_job_are_one(void **state)
{
    _job_ *first = sample_job(), *second = sample_job();

    (void)state;
    first->key.restart = 0;
    second->ended = false;
    for (unsigned order = 0; order < 2; order++) {
        const struct job_account *jobs[] = {order ? first : second, order ? second : first};
        _free_ char *text = page_of(jobs, 2, NULL);

        check_form(text);
        assert_line(text,
                    "jobio_read_bytes_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 211812352000");
        /* Twice the bytes in twice the time. */
        assert_line(text, "jobio_read_mean_bytes_per_second{" WHERE ",jobid=\"4711\"," SCRATCH
                          "} 176510293");
        assert_non_null(strstr(text, "state=\"running\"} 1\n"));
        assert_no(text, "state=\"ended\"");
    }
}

static void test_private_mounts_sum_by_fstype(void **state)
{
    _job_ *job = job_account_create();
    const struct job_account *jobs[] = {job};
    static const struct {
        const char *mount, *fstype;
        bool labelled, private;
    } mounts[] = {
        {"/a", "tmpfs", false, true},       {"/b", "tmpfs", false, false},
        {"/c", "fuse.sshfs", false, false}, {"/d", "fuse.forged", false, true},
        {"/e", "fuse.gpfs", true, false},   {"/a", "tmpfs", true, false},
    };
    _free_ char *text = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
        struct io_mount *m =
            io_mounts_get(&job->mounts, mounts[i].mount, mounts[i].fstype, "s", mounts[i].private);

        m->labelled = mounts[i].labelled;
        sample_calls(m, IO_READ, 1, 1 << i, 1);
    }
    text = page_of(jobs, 1, NULL);
    check_form(text);
#define BYTES "jobio_read_bytes_total{" WHERE ",jobid=\"0\",mountpoint="
    assert_line(text, BYTES "\"(private)\",fstype=\"tmpfs\"} 3");
    assert_line(text, BYTES "\"(private)\",fstype=\"fuse\"} 12");
    assert_line(text, BYTES "\"/e\",fstype=\"fuse.gpfs\"} 16");
    assert_line(text, BYTES "\"/a\",fstype=\"tmpfs\"} 32");
    assert_no(text, "sshfs");
    assert_no(text, "forged");
}

/* The first 32 names of the node, then those of the jobs, then (other). */
static void test_names_are_limited(void **state)
{
    _job_ *job = job_account_create();
    const struct job_account *jobs[] = {job};
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    _free_ char *text = NULL;

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        char name[16];

        snprintf(name, sizeof(name), "/m%u", i);
        if (i < 31)
            sample_calls(sample_mount(&totals, name, "xfs", "s"), IO_READ, 1, 1, 1);
        sample_calls(sample_mount(&job->mounts, name, "xfs", "s"), IO_READ, 1, 1, 1);
    }
    text = page_of(jobs, 1, &totals);
    check_form(text);
    assert_line(text, BYTES "\"/m0\",fstype=\"xfs\"} 1");
    assert_line(text, BYTES "\"/m31\",fstype=\"xfs\"} 1");
    assert_line(text, BYTES "\"(other)\",fstype=\"xfs\"} 8");
    assert_no(text, "/m32");
    assert_no(text, "jobio_node_read_bytes_total{" WHERE ",mountpoint=\"(other)\"");
}

/* Who came first keeps its name in later bodies, also when others come before it there: no counter
 * goes back. */
static void test_names_stay(void **state)
{
    _job_ *first = job_account_create(), *second = job_account_create();
    const struct job_account *one[] = {first}, *two[] = {second, first};
    CLEANUP(prometheus_names_clear) struct prometheus_names names = {0};
    _free_ char *before = NULL, *after = NULL;

    (void)state;
    sample_mount(&first->mounts, "/idle", "xfs", "s"); /* takes no place */
    for (unsigned i = 0; i < 40; i++) {
        char name[16];

        snprintf(name, sizeof(name), "/a%u", i);
        sample_calls(sample_mount(&first->mounts, name, "xfs", "s"), IO_READ, 1, 1, 1);
        snprintf(name, sizeof(name), "/b%u", i);
        sample_calls(sample_mount(&second->mounts, name, "xfs", "s"), IO_READ, 1, 1, 1);
    }
    second->key.jobid = 1;
    before = page_with(one, 1, NULL, &names);
    assert_int_equal(names.n, 32);
    after = page_with(two, 2, NULL, &names);
    assert_int_equal(names.n, 32);
    assert_line(before, BYTES "\"/a31\",fstype=\"xfs\"} 1");
    assert_line(after, BYTES "\"/a31\",fstype=\"xfs\"} 1");
    assert_line(after, BYTES "\"(other)\",fstype=\"xfs\"} 8");
    assert_no(after, "mountpoint=\"/b");
    assert_no(after, "idle");
}

static void test_values_are_escaped(void **state)
{
    _job_ *job = sample_job();
    const struct job_account *jobs[] = {job};
    _free_ char *text = NULL;

    (void)state;
    sample_calls(sample_mount(&job->mounts, "/a\\b \"c\"\nd\xff", "x", "s"), IO_READ, 1, 1, 1);
    sample_calls(sample_mount(&job->mounts, "/a\\b \"c\"\td\xfe", "x", "s"), IO_READ, 1, 1, 1);
    free(job->account);
    job->account = strdup("\"} 1\nforged{a=\"");
    text = page_of(jobs, 1, NULL);
    check_form(text);
    /* Both names come out the same, so they are one. */
    assert_line(text, "jobio_read_bytes_total{" WHERE ",jobid=\"4711\",mountpoint="
                      "\"/a\\\\b \\\"c\\\"?d?\",fstype=\"x\"} 2");
    assert_no(text, "\nforged");
}

static void test_nanoseconds_stay(void **state)
{
    _job_ *job = job_account_create();
    const struct job_account *jobs[] = {job};
    struct io_counter *c;
    _free_ char *text = NULL;

    (void)state;
    c = sample_calls(sample_mount(&job->mounts, "/", "x", "s"), IO_READ, 1, 1,
                     UINT64_C(12345678901234567891));
    c->bytes = UINT64_MAX;
    text = page_of(jobs, 1, NULL);
    assert_line(text, "jobio_read_seconds_total{" WHERE
                      ",jobid=\"0\",mountpoint=\"/\",fstype=\"x\"} 12345678901.234567891");
    assert_line(text, BYTES "\"/\",fstype=\"x\"} 18446744073709551615");
    /* No time has passed: no bandwidth. */
    assert_line(text, "jobio_read_mean_bytes_per_second{" WHERE
                      ",jobid=\"0\",mountpoint=\"/\",fstype=\"x\"} 0");
}

static void test_empty_node(void **state)
{
    _free_ char *text = page_of(NULL, 0, NULL);

    (void)state;
    check_form(text);
    assert_line(text, "jobio_tracked_jobs{" WHERE "} 0");
}

static void test_closes_and_locks_are_no_metadata(void **state)
{
    _job_ *job = sample_job();
    const struct job_account *jobs[] = {job};
    _free_ char *text = NULL;

    (void)state;
    sample_calls(&job->mounts.items[0], IO_CLOSE, 30, 0, 2000000000);
    sample_calls(&job->mounts.items[0], IO_LOCK, 3, 0, 4000000000);
    sample_calls(&job->mounts.items[0], IO_LOOKUP, 7, 0, 1000000000);
    text = page_of(jobs, 1, NULL);
    assert_line(text, "jobio_close_requests_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 30");
    assert_line(text, "jobio_lock_requests_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 3");
    assert_line(text, "jobio_close_seconds_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 2");
    assert_line(text, "jobio_lock_seconds_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 4");
    assert_line(text, "jobio_metadata_seconds_total{" WHERE ",jobid=\"4711\"," SCRATCH "} 101");
    assert_non_null(strstr(text, ",op=\"lookup\"} 7\n"));
    assert_no(text, "op=\"close\"");
    assert_no(text, "op=\"lock\"");
}

static void test_promtool_has_no_finding(void **state)
{
    _job_ *job = sample_job(), *run = sample_job();
    const struct job_account *jobs[] = {job, run};
    _free_ char *text = NULL, *empty = page_of(NULL, 0, NULL);

    (void)state;
    if (system("command -v promtool >/dev/null") != 0)
        skip();
    run->key.jobid = 1;
    run->ended = false;
    for (int op = IO_OP_FIRST_META; op < IO_OP_COUNT; op++)
        sample_calls(&run->mounts.items[0], op, 3, 0, 1234567);
    sample_calls(sample_mount(&job->mounts, "/a\\b \"c\"\nd\xff", "x", "s"), IO_READ, 1, 1, 1);
    text = page_of(jobs, 2, &run->mounts);
    check_promtool(text);
    check_promtool(empty);
}

static void test_more_families(void **state)
{
    const struct prometheus_sample depth[] = {{"http://g:9091/\"a\"", 3}, {"b\nc", 0}};
    const struct prometheus_sample big[] = {{NULL, 123456789012345}};
    const struct prometheus_sample part[] = {{NULL, 0.25}};
    const struct prometheus_family families[] = {
        {"jobio_depth_rows", "gauge", "Rows.", "target", depth, 2},
        {"jobio_nothing", "gauge", "None.", NULL, NULL, 0},
        {"jobio_big_total", "counter", "Big.", NULL, big, 1},
        {"jobio_part_seconds", "gauge", "Part.", NULL, part, 1},
    };
    const struct prometheus_node node = {.cluster = "alpha",
                                         .instance = "n1",
                                         .version = "0.1.0",
                                         .families = families,
                                         .n_families = 4};
    char *text = report_prometheus(&node);

    (void)state;
    assert_non_null(text);
    check_form(text);
    assert_line(text, "jobio_depth_rows{" WHERE ",target=\"http://g:9091/\\\"a\\\"\"} 3");
    assert_line(text, "jobio_depth_rows{" WHERE ",target=\"b?c\"} 0");
    assert_line(text, "jobio_big_total{" WHERE "} 123456789012345");
    assert_line(text, "jobio_part_seconds{" WHERE "} 0.25");
    assert_no(text, "jobio_nothing");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_running_job_has_no_end),
        cmocka_unit_test(test_no_wait_is_longer_than_the_job),
        cmocka_unit_test(test_a_job_is_complete_or_not),
        cmocka_unit_test(test_users_may_be_left_out),
        cmocka_unit_test(test_runs_of_a_requeued_job_are_one),
        cmocka_unit_test(test_private_mounts_sum_by_fstype),
        cmocka_unit_test(test_names_are_limited),
        cmocka_unit_test(test_names_stay),
        cmocka_unit_test(test_values_are_escaped),
        cmocka_unit_test(test_nanoseconds_stay),
        cmocka_unit_test(test_empty_node),
        cmocka_unit_test(test_more_families),
        cmocka_unit_test(test_closes_and_locks_are_no_metadata),
        cmocka_unit_test(test_promtool_has_no_finding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
