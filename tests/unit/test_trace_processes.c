/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/trace/processes.h"
#include "common/cleanup.h"

DEFINE_CLEANUP(struct trace_processes, trace_processes_destroy)

static char proc[] = "/tmp/jobio-proc-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(proc) ? 0 : -1;
}

static void path_of(char path[64], unsigned pid, const char *file)
{
    (void)snprintf(path, 64, "%s/%u%s", proc, pid, file);
}

static int tear_down(void **state)
{
    char path[64];

    (void)state;
    for (unsigned pid = 1; pid <= 9; pid++) {
        path_of(path, pid, "/environ");
        (void)unlink(path);
        path_of(path, pid, "");
        (void)rmdir(path);
    }
    return rmdir(proc);
}

/* The variables are separated by newlines. */
static void set_environ(unsigned pid, const char *variables)
{
    char path[64];
    FILE *file;

    path_of(path, pid, "");
    (void)mkdir(path, 0700);
    path_of(path, pid, "/environ");
    file = fopen(path, "we");
    assert_non_null(file);
    for (const char *p = variables; *p; p++)
        (void)fputc(*p == '\n' ? 0 : *p, file);
    assert_int_equal(fclose(file), 0);
}

static void see(struct trace_processes *processes, uint32_t pid, uint32_t tid, const char *comm)
{
    char padded[TRACE_COMM] = "";

    memcpy(padded, comm, strlen(comm));
    trace_processes_see(processes, pid, tid, padded);
}

/* The process as it is in a trace that has a span of it. */
static struct trace_process process_of(const struct trace_processes *processes, uint32_t pid)
{
    struct span spans[] = {{.pid = pid}, {.pid = pid}};
    struct trace trace = {.spans = spans, .n_spans = 2};
    struct trace_process ret;

    assert_int_equal(trace_processes_finish(processes, &trace), 0);
    assert_int_equal(trace.n_processes, 1);
    assert_non_null(trace_process(&trace, pid));
    assert_null(trace_process(&trace, pid + 1));
    ret = *trace_process(&trace, pid);
    free(trace.processes);
    return ret;
}

static void check_rank(const char *variables, int rank)
{
    CLEANUP(trace_processes_destroyp)
    struct trace_processes *processes = trace_processes_create(proc);
    struct trace_process process;

    set_environ(3, variables);
    see(processes, 3, 3, "app");
    process = process_of(processes, 3);
    assert_int_equal(process.has_rank, rank >= 0);
    if (rank >= 0)
        assert_int_equal(process.rank, rank);
}

static void test_ranks(void **state)
{
    (void)state;
    check_rank("HOME=/\nPMI_RANK=5\nX=1\n", 5);
    check_rank("PMIX_RANK=0\n", 0);
    check_rank("OMPI_COMM_WORLD_RANK=12", 12);
    check_rank("SLURM_PROCID=7\n", 7);
    check_rank("SLURM_PROCID=7\nPMI_RANK=1\n", 1);
    check_rank("PMI_RANK=1\nSLURM_PROCID=7\n", 1);
    check_rank("PMI_RANK=one\n", -1);
    check_rank("PMI_RANK=\nMPI_RANK=1\nPMI_RANKS=2\n", -1);
    check_rank("PMI_RANK=4294967296\n", -1);
    check_rank("", -1);
}

/* A launcher forks, and the child gets its rank when it executes the program. */
static void test_rank_after_exec(void **state)
{
    CLEANUP(trace_processes_destroyp)
    struct trace_processes *processes = trace_processes_create(proc);

    (void)state;
    set_environ(4, "HOME=/\n");
    for (int i = 0; i < 100; i++)
        see(processes, 4, 4, "launcher");
    set_environ(4, "PMI_RANK=2\n");
    see(processes, 4, 4, "launcher"); /* no more attempts */
    assert_false(process_of(processes, 4).has_rank);
    see(processes, 4, 5, "thread");
    assert_string_equal(process_of(processes, 4).comm, "launcher");
    see(processes, 4, 4, "app");
    assert_true(process_of(processes, 4).has_rank);
    assert_int_equal(process_of(processes, 4).rank, 2);
    assert_string_equal(process_of(processes, 4).comm, "app");
}

static void test_many_processes(void **state)
{
    CLEANUP(trace_processes_destroyp)
    struct trace_processes *processes = trace_processes_create("/nonexistent");

    (void)state;
    for (uint32_t i = 0; i < 500; i++)
        see(processes, i * 7 % 500 + 1000, i * 7 % 500 + 1000, i % 2 ? "odd" : "even");
    assert_string_equal(process_of(processes, 1007).comm, "odd");
    assert_string_equal(process_of(processes, 1014).comm, "even");
    assert_string_equal(process_of(processes, 5).comm, ""); /* never seen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_rank_after_exec),
        cmocka_unit_test(test_many_processes),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
