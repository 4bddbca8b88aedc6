/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI-IO in the summary: its table, and the line about what it cost the job. */
#include "config.h"

#include "tests/unit/test.h"

#include <stdlib.h>

#include "report/layout.h"
#include "report/text/mpi.h"
#include "report/text/text.h"
#include "tests/unit/sample.h"

static void check_text(const struct job_account *job, const char *want)
{
    _free_ char *text = report_mpi_text(job, 0);

    assert_string_equal(text, want);
}

static void check_has(const struct job_account *job, const char *line)
{
    _free_ char *text = report_mpi_text(job, 0);

    assert_non_null(text);
    if (!strstr(text, line))
        fail_msg("no \"%s\" in:\n%s", line, text);
}

static void test_classes(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    job->mpi = sample_mpi();
    check_text(job, "\n"
                    "MPI-IO                   calls     bytes    ~size   errs     time      p50\n"
                    "read                        16  84.0 KiB    8 KiB      1    2.0 s   134 ms\n"
                    "write_all                   64  64.0 MiB    1 MiB      -    8.0 s   134 ms\n"
                    "(64.0 KiB of the reads have no status: they are what the calls asked for)\n"
                    "(without the bytes of 2 calls: neither their status nor their type says how\n"
                    " many)\n");
}

static void test_no_calls(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    check_text(job, "\nMPI-IO: not counted (sbatch --io-mpi; jobs from ClickHouse have none)\n");
    job->mpi = calloc(1, sizeof(*job->mpi));
    check_text(job, "\nMPI-IO: no calls\n");
}

static void test_what_is_missing(void **state)
{
    static const struct {
        const char *cause, *line;
    } cases[] = {
        {MPI_CAUSE_LATE, "NOT complete: 7 processes may have called MPI-IO before it was counted"},
        {MPI_CAUSE_CALLS, "NOT complete: 7 calls not counted: counters full"},
        {MPI_CAUSE_ENDS, "NOT complete: 7 calls whose return was not seen"},
        {MPI_CAUSE_UNSEEN, "NOT complete: at least 7 programs not looked at"},
        {MPI_CAUSE_NODE, "NOT complete: not counted on 7 nodes of its steps\n"},
        {MPI_CAUSE_LIBRARY "libmpi.so: no", "NOT complete: not-covered: libmpi.so: no\n"},
        {"some\033thing", "NOT complete: some?thing\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _job_ *job = sample_run();

        job->mpi = calloc(1, sizeof(*job->mpi));
        completeness_add(&job->mpi->completeness, cases[i].cause, 7, 0);
        check_has(job, cases[i].line);
        check_has(job, "MPI-IO: no calls\n");
    }
}

/* Who wrote, below the table. */
static void test_writers(void **state)
{
    _job_ *job = sample_run();
    struct io_mount *m;

    (void)state;
    job->mpi = sample_mpi();
    io_mounts_clear(&job->mounts);
    m = io_mounts_get(&job->mounts, "/a/long/path/to/the/mount/with/the/results/of/the/run", "nfs4",
                      "srv", false);
    assert_non_null(m);
    *io_account_op(&m->io, IO_WRITE) = (struct io_counter){.requests = 4, .bytes = MIB(64)};
    m->users[IO_WRITERS] = (struct io_users){.processes = 1, .threads = 1};
    _free_ char *text = report_mpi_text(job, 80);
    assert_non_null(text);
    assert_non_null(strstr(
        text, "(1 process made 4 writes on\n"
              " /a/long/path/to/the/mount/with/the/results/of/the/run, 16.0 MiB on average, for\n"
              " 64 collective writes (64.0 MiB): collective buffering combined them)\n"));
}

/* A node that has not reported is missing from its MPI-IO, too. */
static void test_incomplete_job(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    job->mpi = sample_mpi();
    job->nodes_expected++;
    check_has(job, "MPI-IO NOT complete: the account of the job is not complete\n");
}

/* --- the summary ------------------------------------------------------------------------------ */

static void check_summary(const struct job_account *job, enum summary summary, size_t columns,
                          const char *want)
{
    const struct text_style style = {.columns = columns};
    _free_ char *text = report_text(job, summary, &style);

    assert_non_null(text);
    if (!strstr(text, want))
        fail_msg("no \"%s\" in:\n%s", want, text);
}

static void check_summary_without(const struct job_account *job, enum summary summary)
{
    _free_ char *text = report_text(job, summary, NULL);

    assert_non_null(text);
    assert_null(strstr(text, "MPI"));
}

/* 600 s, of which a thread waited 300 s for I/O: MPI-IO is worth a line from 30 s on. */
static void test_short(void **state)
{
    _job_ *job = sample_job();

    (void)state;
    job->mpi = sample_mpi();
    check_summary_without(job, SUMMARY_SHORT);
    job->mpi->classes[MPI_WRITE_ALL].time_ns = SECONDS(120);
    job->mpi->classes[MPI_OPEN] = (struct mpi_counter){.calls = 4, .time_ns = SECONDS(10)};
    job->mpi->classes[MPI_SYNC] = (struct mpi_counter){.calls = 9, .time_ns = SECONDS(1)};
    check_summary(job, SUMMARY_SHORT, 80,
                  "  /scratch 11 %; 38 % waiting on /scratch: 31 % server, 4 % client queue\n"
                  "MPI-IO took 133 s in all processes: 64 collective writes 120 s (64.0 MiB), 4\n"
                  "  opens 10 s, 16 independent reads 2.0 s\n"
                  "mount        read mean/s");
    job->mpi->classes[MPI_READ].unknown_calls = 0;
    check_summary(job, SUMMARY_SHORT, 200, "16 independent reads 2.0 s (at most 84.0 KiB)\n");
    job->mpi->classes[MPI_READ].requested_bytes = 0;
    job->mpi->classes[MPI_WRITE_ALL].unknown_calls = 1;
    check_summary(job, SUMMARY_SHORT, 200,
                  "collective writes 120 s (at least 64.0 MiB), 4 opens 10 s, 16 independent reads "
                  "2.0 s (20.0 KiB)\n");
    job->nodes_reported--;
    check_summary(job, SUMMARY_SHORT, 200, "MPI-IO (NOT complete) took at least 133 s in all");
}

/* A small job of which one process surely spent its time in MPI-IO. */
static void test_short_without_io(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    io_mounts_clear(&job->mounts);
    job->longest_wait_ns = 0;
    job->mpi = calloc(1, sizeof(*job->mpi));
    job->mpi->classes[MPI_OPEN] = (struct mpi_counter){.calls = 16, .time_ns = SECONDS(1020)};
    job->mpi->classes[MPI_READ_ALL] = (struct mpi_counter){.calls = 16, .time_ns = 1};
    check_summary(
        job, SUMMARY_SHORT, 80,
        "MPI-IO took 17 min in all processes: 16 opens 17 min, 16 collective reads 1 ns\n");
    job->mpi->classes[MPI_OPEN].calls = 100;
    check_summary_without(job, SUMMARY_SHORT);
}

static void test_full(void **state)
{
    _job_ *job = sample_job();

    (void)state;
    check_summary_without(job, SUMMARY_FULL);
    job->mpi = calloc(1, sizeof(*job->mpi));
    check_summary_without(job, SUMMARY_FULL);
    completeness_add(&job->mpi->completeness, MPI_CAUSE_LATE, 7, 0);
    check_summary(job, SUMMARY_FULL, 80, "\n\nMPI-IO: no calls\nMPI-IO NOT complete: 7 processes");
    mpi_account_destroy(job->mpi);
    job->mpi = sample_mpi();
    check_summary(job, SUMMARY_FULL, 80, "\n\nMPI-IO                   calls     bytes  ");
}

/* 2^63 of each does not overflow, and the last buckets have no upper bound. */
static void test_largest_numbers(void **state)
{
    _job_ *job = sample_run();
    struct mpi_counter *c;

    (void)state;
    job->mpi = calloc(1, sizeof(*job->mpi));
    c = &job->mpi->classes[MPI_READ_ALL];
    *c = (struct mpi_counter){.calls = 1, .bytes = INT64_MAX, .requested_bytes = UINT64_MAX};
    c->size_log2[IO_BUCKETS - 1] = c->latency_log2[IO_BUCKETS - 1] = 1;
    check_has(job, " 16.0 EiB  > 1 GiB ");
    check_has(job, " >137 s\n");
}

/* No line of a narrow table is wider than the terminal. */
static void test_narrow(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    job->mpi = sample_mpi();
    completeness_add(&job->mpi->completeness, MPI_CAUSE_LATE, 7, 0);
    for (size_t columns = 40; columns <= 90; columns++) {
        _free_ char *text = report_mpi_text(job, columns);

        assert_non_null(text);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (layout_width(line) > columns)
                fail_msg("%zu columns, not %zu: %s", layout_width(line), columns, line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),          cmocka_unit_test(test_no_calls),
        cmocka_unit_test(test_what_is_missing),  cmocka_unit_test(test_writers),
        cmocka_unit_test(test_incomplete_job),   cmocka_unit_test(test_short),
        cmocka_unit_test(test_short_without_io), cmocka_unit_test(test_full),
        cmocka_unit_test(test_largest_numbers),  cmocka_unit_test(test_narrow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
