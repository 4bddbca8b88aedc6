/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of MPI-IO. */
#include "config.h"

#include "tests/unit/test.h"

#include <stdlib.h>

#include "report/layout.h"
#include "report/text/mpi.h"
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
    check_text(job,
               "MPI-IO                    calls     bytes    ~size   errs     time      p50\n"
               "read                         16  84.0 KiB    8 KiB      1    2.0 s   134 ms\n"
               "write_all                    64  64.0 MiB    1 MiB      -    8.0 s   134 ms\n"
               "(64.0 KiB of the reads have no status: they are what the calls asked for)\n"
               "(without the bytes of 2 calls that have no status, and a type whose size only\n"
               " the library knows)\n");
}

static void test_no_calls(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    check_text(job, "MPI-IO: not counted\n");
    job->mpi = calloc(1, sizeof(*job->mpi));
    check_text(job, "MPI-IO: no calls\n");
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
    for (size_t columns = 41; columns <= 90; columns++) {
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
        cmocka_unit_test(test_classes),         cmocka_unit_test(test_no_calls),
        cmocka_unit_test(test_what_is_missing), cmocka_unit_test(test_largest_numbers),
        cmocka_unit_test(test_narrow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
