/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/trace/processes.h"
#include "common/cleanup.h"
#include "common/clock.h"

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
        path_of(path, pid, "/stat");
        (void)unlink(path);
        path_of(path, pid, "");
        (void)rmdir(path);
    }
    return rmdir(proc);
}

static void write_stat(unsigned pid, uint64_t start_ns)
{
    unsigned long long ticks = start_ns / (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    char path[64];
    FILE *file;

    path_of(path, pid, "/stat");
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fprintf(file, "%u (a b) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0\n", pid, ticks);
    assert_int_equal(fclose(file), 0);
}

/* The variables are separated by newlines. */
static void set_environ(unsigned pid, const char *variables)
{
    char path[64];
    FILE *file;

    path_of(path, pid, "");
    (void)mkdir(path, 0700);
    write_stat(pid, 0);
    path_of(path, pid, "/environ");
    (void)unlink(path); /* it may be a pipe */
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
    trace_processes_see(
        processes, &(struct span){.pid = pid, .tid = tid, .start_ns = clock_ns(CLOCK_MONOTONIC)},
        padded);
}

/* The process as it is in a trace that has a span of it. */
static struct trace_process process_of(struct trace_processes *processes, uint32_t pid)
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
    struct trace_processes *processes = trace_processes_create(proc, NULL);
    struct trace_process process;

    set_environ(3, variables);
    see(processes, 3, 3, "app");
    process = process_of(processes, 3);
    assert_int_equal(process.has_rank, rank >= 0);
    assert_false(process.unread);
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
    check_rank("HOME=/\nPMI_RANK=6", 6);
}

static enum rank_state read_state(unsigned pid)
{
    uint32_t rank = 77;
    enum rank_state state = rank_read(proc, pid, clock_ns(CLOCK_MONOTONIC), &rank);

    assert_int_equal(rank, state == RANK_FOUND ? 3 : 77);
    return state;
}

/* What cannot be read, or not completely, is not a process without a rank. */
static void test_unread(void **state)
{
    char path[64], *large = malloc((1 << 20) + 100);

    (void)state;
    assert_non_null(large);
    assert_int_equal(read_state(9), RANK_UNREAD);
    set_environ(6, ""); /* a zombie, or a process that is being made */
    assert_int_equal(read_state(6), RANK_UNREAD);
    set_environ(6, "PMI_RANK=3\n");
    assert_int_equal(read_state(6), RANK_FOUND);
    path_of(path, 6, "/stat");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_state(6), RANK_UNREAD);
    memset(large, 'x', (1 << 20) + 99);
    memcpy(large, "SLURM_PROCID=3\nX=", 17);
    large[1 << 19] = '\0';
    set_environ(6, large); /* also a long variable that does not end */
    assert_int_equal(read_state(6), RANK_FOUND);
    large[1 << 19] = 'x';
    large[(1 << 20) + 99] = '\0';
    set_environ(6, large);
    assert_int_equal(read_state(6), RANK_UNREAD);
    free(large);
}

/* The process has ended, and another one has its number. */
static void test_reused_number(void **state)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), boot = clock_ns(CLOCK_BOOTTIME);
    uint32_t rank;

    (void)state;
    set_environ(7, "PMI_RANK=3\n");
    write_stat(7, boot - NS_PER_S);
    assert_int_equal(rank_read(proc, 7, now, &rank), RANK_FOUND);
    assert_int_equal(rank_read(proc, 7, now - 2 * NS_PER_S, &rank), RANK_UNREAD);
}

/* A launcher forks, and the child gets its rank when it executes the program. */
static void test_rank_after_exec(void **state)
{
    CLEANUP(trace_processes_destroyp)
    struct trace_processes *processes = trace_processes_create(proc, NULL);

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
    struct trace_processes *processes = trace_processes_create("/nonexistent", NULL);

    (void)state;
    for (uint32_t i = 0; i < 500; i++)
        see(processes, i * 7 % 500 + 1000, i * 7 % 500 + 1000, i % 2 ? "odd" : "even");
    assert_string_equal(process_of(processes, 1007).comm, "odd");
    assert_string_equal(process_of(processes, 1014).comm, "even");
    assert_string_equal(process_of(processes, 5).comm, ""); /* never seen */
}

/* --- the reader ------------------------------------------------------------------------------- */

static void await_rank(struct trace_processes *processes, uint32_t pid, const char *comm)
{
    for (int i = 0; i < 10000 && !process_of(processes, pid).has_rank; i++) {
        see(processes, pid, pid, comm);
        (void)poll(NULL, 0, 1);
    }
    assert_true(process_of(processes, pid).has_rank);
}

static void test_reader(void **state)
{
    struct rank_reader *reader = rank_reader_start(proc);
    struct trace_processes *processes = trace_processes_create(NULL, reader);

    (void)state;
    assert_non_null(reader);
    set_environ(1, "PMI_RANK=5\n");
    set_environ(2, "PMI_RANK=6\n");
    await_rank(processes, 1, "app");
    await_rank(processes, 2, "app");
    assert_int_equal(process_of(processes, 1).rank, 5);
    assert_int_equal(process_of(processes, 2).rank, 6);
    set_environ(2, "PMI_RANK=7\n");
    see(processes, 2, 2, "other");
    assert_false(process_of(processes, 2).has_rank && process_of(processes, 2).rank == 6);
    await_rank(processes, 2, "other");
    assert_int_equal(process_of(processes, 2).rank, 7);
    trace_processes_destroy(processes);
    rank_reader_stop(reader);
    assert_true(rank_reader_join(reader, 60 * NS_PER_S));
}

/* Nobody writes to the pipe: its open waits, as a read that waits for a fault. */
static void hang(unsigned pid)
{
    char path[64];

    set_environ(pid, "");
    path_of(path, pid, "/environ");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

/* Returns when the reader waits for the pipe, which only then has somebody at its other end. */
static int open_pipe(unsigned pid)
{
    char path[64];
    int fd;

    path_of(path, pid, "/environ");
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void test_reader_hangs(void **state)
{
    struct rank_reader *reader = rank_reader_start(proc);
    const struct rank_question question = {.pid = 8, .program = 4};
    struct rank_answer answer;
    unsigned n = 1;
    int fd;

    (void)state;
    hang(8);
    assert_true(rank_reader_ask(reader, &question));
    fd = open_pipe(8);
    while (n < 1000 && rank_reader_ask(reader, &question))
        n++;
    assert_int_equal(n, 256); /* and the others are refused */
    assert_false(rank_reader_take(reader, &answer));
    rank_reader_stop(reader);
    assert_false(rank_reader_join(reader, NS_PER_S / 100));
    assert_int_equal(write(fd, "PMI_RANK=3", 11), 11);
    assert_int_equal(close(fd), 0);
    assert_true(rank_reader_join(reader, 60 * NS_PER_S));
}

/* An answer about the program before is not one about the next. */
static void test_late_answer(void **state)
{
    struct rank_reader *reader = rank_reader_start(proc);
    struct trace_processes *processes = trace_processes_create(NULL, reader);
    int fd;

    (void)state;
    hang(8);
    set_environ(1, "PMI_RANK=5\n");
    see(processes, 8, 8, "launcher");
    fd = open_pipe(8);
    hang(8); /* another pipe: the next question waits for ever */
    see(processes, 8, 8, "app");
    see(processes, 1, 1, "app");
    assert_int_equal(write(fd, "PMI_RANK=3", 11), 11);
    assert_int_equal(close(fd), 0);
    fd = open_pipe(8); /* the first one is answered */
    assert_false(process_of(processes, 8).has_rank);
    assert_true(process_of(processes, 8).unread);
    assert_int_equal(write(fd, "PMI_RANK=4", 11), 11);
    assert_int_equal(close(fd), 0);
    await_rank(processes, 1, "app");
    assert_int_equal(process_of(processes, 8).rank, 4);
    trace_processes_destroy(processes);
    rank_reader_stop(reader);
    assert_true(rank_reader_join(reader, 60 * NS_PER_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),          cmocka_unit_test(test_rank_after_exec),
        cmocka_unit_test(test_many_processes), cmocka_unit_test(test_unread),
        cmocka_unit_test(test_reused_number),  cmocka_unit_test(test_reader),
        cmocka_unit_test(test_reader_hangs),   cmocka_unit_test(test_late_answer),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
