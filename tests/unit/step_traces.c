/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/step_traces.h"

#include "tests/unit/test.h"

#include <stdio.h>

#include "collector/trace/file.h"
#include "common/cleanup.h"

static struct span spans[] = {
    {.start_ns = 50,
     .time_ns = 7,
     .bytes = 4096,
     .offset = 8192,
     .name = "write",
     .mount = "/scratch",
     .pid = 20,
     .tid = 21,
     .flags = SPAN_BYTES | SPAN_OFFSET},
    {.start_ns = 40,
     .time_ns = 30,
     .name = "MPI_File_write",
     .pid = 20,
     .tid = 21,
     .error = 1,
     .kind = SPAN_MPI},
    {.start_ns = 90,
     .name = "write",
     .mount = "/home",
     .path = (char *)"a/b",
     .pid = 30,
     .flags = SPAN_ASYNC},
};
static struct trace_process processes[] = {{.pid = 20, .rank = 3, .comm = "app", .has_rank = true},
                                           {.pid = 30, .unread = true}};

struct step_trace step_of(uint32_t jobid, uint32_t restart, uint32_t step, uint32_t uid,
                          uint64_t start_ns)
{
    return (struct step_trace){
        .trace = {.spans = spans,
                  .n_spans = ARRAY_SIZE(spans),
                  .processes = processes,
                  .n_processes = ARRAY_SIZE(processes),
                  .left_out = {.shorter = {5, 1}, .overflow = {2, 0}},
                  .of = TRACE_OF_MPI,
                  .paths = true,
                  .real_ns = 1000},
        .cluster = (char *)"c1",
        .node = (char *)"n1",
        .caller = (char *)"00-x",
        .jobid = jobid,
        .restart = restart,
        .het = 4294967294,
        .step = step,
        .uid = uid,
        .start_ns = start_ns,
        .end_ns = start_ns + 9,
        .partial = true,
    };
}

char *written(const struct step_trace *step, size_t *size)
{
    char *data = NULL;
    FILE *out = open_memstream(&data, size);

    assert_non_null(out);
    assert_int_equal(trace_file_write(step, out), 0);
    assert_int_equal(fclose(out), 0);
    return data;
}
