/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI-IO in the document of a job. */
#include "tests/unit/test.h"

#include "report/json/json.h"
#include "tests/unit/json_at.h"
#include "tests/unit/sample.h"

static void test_document_of_mpi(void **state)
{
    _job_ *job = sample_run();
    _json_ *o = NULL, *incomplete = NULL;

    (void)state;
    job->mpi = sample_mpi();
    o = report_json(job, 0);
    check_at(o, "/mpi/complete", "true");
    check_at(o, "/mpi/incomplete", "[]");
    check_at(o, "/mpi/calls/write_all/bytes", "67108864");
    check_at(o, "/mpi/calls/read/calls", "16");
    check_at(o, "/mpi/calls/read/requested_bytes", "65536");
    check_at(o, "/mpi/calls/read/unknown_calls", "2");
    assert_null(json_object_object_get(at(o, "/mpi/calls"), "write"));
    completeness_add(&job->mpi->completeness, MPI_CAUSE_ENDS, 3, 0);
    incomplete = report_json(job, 0);
    check_at(incomplete, "/complete", "true");
    check_at(incomplete, "/mpi/complete", "false");
    check_at(incomplete, "/mpi/incomplete/0/cause", "\"return-not-seen\"");
    check_at(incomplete, "/mpi/incomplete/0/count", "3");
}

/* The MPI-IO of a job needs all of its nodes, but nothing of its mounts. */
static void test_mpi_of_steps(void **state)
{
    _job_ *job = sample_job();
    _json_ *o = NULL;

    (void)state;
    for (int i = 0; i < 2; i++)
        job->steps[i].mpi = sample_mpi();
    job->mpi = sample_mpi();
    completeness_add(&job->steps[1].completeness, "step-vanished", 1, 0);
    job->nodes_reported--;
    o = report_json(job, REPORT_STEPS);
    check_at(o, "/mpi/complete", "false");
    check_at(o, "/mpi/incomplete", "[]");
    check_at(o, "/steps/0/mpi/complete", "true");
    check_at(o, "/steps/0/mpi/calls/write_all/bytes", "67108864");
    check_at(o, "/steps/1/mpi/complete", "true");
    assert_null(json_object_object_get(at(o, "/steps/2"), "mpi"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_of_mpi),
        cmocka_unit_test(test_mpi_of_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
