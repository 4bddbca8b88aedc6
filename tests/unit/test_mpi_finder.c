/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the MPI of processes, with programs that this test replaces. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "config.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/mpi/finder.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc_stat.h"
#include "tests/unit/mpi_fake.h"
#include "tests/unit/mpi_process.h"

/* Files that a process has mapped cannot be opened; 0: they can. */
static int map_files_error;

/* Instead of libc's. */
int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (map_files_error && strstr(path, "/map_files/")) {
        errno = map_files_error;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* The clocks are ahead. */
static time_t ahead_s;

/* Instead of libc's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ret);

    ret->tv_sec += ahead_s;
    return rc;
}

static size_t causes_of(struct mpi_finder *finder, uint32_t step)
{
    struct mpi_account *account = NULL;
    size_t n;

    assert_int_equal(mpi_finder_read(finder, step, &account, NULL), 0);
    n = account->completeness.n;
    if (n)
        assert_string_equal(account->completeness.items[0].cause, MPI_CAUSE_UNSEEN);
    mpi_account_destroy(account);
    return n;
}

/* A process that has not been looked at for more than a second may have ended. */
static void test_late(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    (void)state;
    assert_non_null(finder);
    mpi_finder_exec(11, (uint32_t)getpid(), now, false, finder);
    mpi_finder_exec(12, (uint32_t)getpid(), now - 2 * NS_PER_S, false, finder);
    assert_int_equal(causes_of(finder, 11), 0);
    assert_int_equal(causes_of(finder, 12), 1);
    fake_mpi.knows = true; /* the programs are at its MPI */
    assert_int_equal(causes_of(finder, 12), 0);
    fake_mpi.knows = false;
    while (causes_of(finder, 12))
        assert_true(mpi_finder_look(finder));
    mpi_finder_destroy(finder);
}

/* Any file of a process without libmpi may have MPI linked statically. */
static void test_unopened_files(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    const struct {
        int error;
        const char *cause;
    } rows[] = {{EACCES, MPI_CAUSE_LIBRARY "a program: cannot open its files"}, {ENOENT, NULL}};

    (void)state;
    assert_non_null(finder);
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct mpi_account *account = NULL;

        map_files_error = rows[i].error;
        mpi_finder_exec(30 + i, (uint32_t)getpid(), now - NS_PER_MS, false, finder);
        assert_true(mpi_finder_look(finder));
        assert_int_equal(mpi_finder_read(finder, 30 + i, &account, NULL), 0);
        assert_int_equal(account->completeness.n, rows[i].cause != NULL);
        if (rows[i].cause)
            assert_string_equal(account->completeness.items[0].cause, rows[i].cause);
        mpi_account_destroy(account);
    }
    map_files_error = 0;
    mpi_finder_destroy(finder);
}

static uint64_t own_start_ns(void)
{
    _fclose_ FILE *file = fopen("/proc/self/stat", "re");
    uint64_t ticks = 0;
    char line[1024];

    assert_non_null(fgets(line, sizeof(line), file));
    assert_int_equal(proc_stat_number(line, PROC_STAT_START, &ticks), 0);
    return ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Processes that have ended leave the map: one without a successor, and one whose pid is that of
 * this process by now. */
static void test_ended_processes(void **state)
{
    const uint32_t self = (uint32_t)getpid(), child = (uint32_t)fork();
    const uint64_t start = own_start_ns();
    struct mpi_probe probe = {0};
    struct mpi_finder *finder;

    (void)state;
    if (!child)
        _exit(0);
    assert_int_equal(waitpid((pid_t)child, NULL, 0), child);
    finder = mpi_finder_create(&probe);
    assert_non_null(finder);
    fake_mpi.seen[fake_mpi.n_seen++] = (struct mpi_process){20, self, start + NS_PER_MS};
    fake_mpi.seen[fake_mpi.n_seen++] = (struct mpi_process){20, child, start};
    fake_mpi.seen[fake_mpi.n_seen++] = (struct mpi_process){21, self, start - 20 * NS_PER_MS};
    mpi_finder_clean(finder);
    assert_int_equal(fake_mpi.n_seen, 1);
    assert_int_equal(fake_mpi.seen[0].step, 20);
    assert_int_equal(fake_mpi.seen[0].pid, self);
    mpi_finder_destroy(finder);
}

/* While more than half of the room is left, nothing is forgotten. */
static void test_room_is_left(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);

    (void)state;
    assert_non_null(finder);
    fake_mpi.seen[fake_mpi.n_seen++] = (struct mpi_process){23, 0x7fffffff, NS_PER_S};
    fake_mpi.seen[fake_mpi.n_seen++] = (struct mpi_process){23, 0x7ffffffe, NS_PER_S};
    mpi_finder_clean(finder);
    assert_int_equal(fake_mpi.n_seen, 2);
    mpi_finder_destroy(finder);
}

/* A process that the programs forget because it has ended was not overlooked. */
static void test_forgotten_in_time(void **state)
{
    const uint32_t pid = 0x7fffffff;
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);

    (void)state;
    assert_non_null(finder);
    fake_mpi.room = 1;
    fake_mpi.seen[fake_mpi.n_seen++] = (struct mpi_process){24, pid, NS_PER_S};
    mpi_finder_exec(24, pid, clock_ns(CLOCK_MONOTONIC) - 2 * NS_PER_S, false, finder);
    mpi_finder_clean(finder);
    assert_int_equal(fake_mpi.n_seen, 0);
    assert_int_equal(causes_of(finder, 24), 0);
    assert_true(mpi_finder_look(finder));
    assert_int_equal(causes_of(finder, 24), 0);
    mpi_finder_destroy(finder);
}

/* Later looks at a process whose MPI has been found are for a second one: they may be late. */
static void test_late_again(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);
    pid_t pid = start_with_mpi();
    uint32_t pids[] = {(uint32_t)pid};
    int links = fake_mpi.links;

    (void)state;
    assert_non_null(finder);
    mpi_finder_exec(13, pids[0], clock_ns(CLOCK_MONOTONIC), false, finder);
    usleep(10000);
    while (mpi_finder_look(finder))
        ;
    if (geteuid() != 0) { /* only root may open the file of another process */
        mpi_finder_destroy(finder);
        (void)kill(pid, SIGKILL);
        skip();
    }
    assert_true(fake_mpi.links > links);
    mpi_finder_forget(finder, 13); /* the probes were attached after its start */
    mpi_finder_exec(14, pids[0], clock_ns(CLOCK_MONOTONIC), false, finder);
    usleep(10000);
    assert_true(mpi_finder_look(finder));
    mpi_finder_scan(finder, 14, pids, 1);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    usleep(1100000);
    assert_int_equal(causes_of(finder, 14), 0);
    assert_true(mpi_finder_look(finder));
    assert_int_equal(causes_of(finder, 14), 0);
    mpi_finder_destroy(finder);
}

static uint64_t late_of(struct mpi_finder *finder, uint32_t step)
{
    struct mpi_account *account = NULL;
    uint64_t n = 0;

    assert_int_equal(mpi_finder_read(finder, step, &account, NULL), 0);
    for (size_t i = 0; i < account->completeness.n; i++)
        if (!strcmp(account->completeness.items[i].cause, MPI_CAUSE_LATE))
            n += account->completeness.items[i].count;
    mpi_account_destroy(account);
    return n;
}

/* A late process executes another program. If it had called a function, the programs have counted
 * it. */
static void test_late_once(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);
    pid_t pid = start_with_mpi();

    (void)state;
    assert_non_null(finder);
    mpi_finder_exec(15, (uint32_t)pid, clock_ns(CLOCK_MONOTONIC), false, finder);
    if (geteuid() == 0) { /* only root may open the file of another process */
        for (int i = 0; i < 10000 && !late_of(finder, 15); i++)
            if (!mpi_finder_look(finder))
                usleep(1000);
        assert_int_equal(late_of(finder, 15), 1);
        mpi_finder_exec(15, (uint32_t)pid, clock_ns(CLOCK_MONOTONIC), false, finder);
        assert_int_equal(late_of(finder, 15), 1);
        mpi_finder_exec(15, (uint32_t)pid, clock_ns(CLOCK_MONOTONIC), true, finder);
        assert_int_equal(late_of(finder, 15), 0);
    }
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    mpi_finder_destroy(finder);
}

/* Make the step look at a process for the first time. */
static void look_at(struct mpi_finder *finder, uint32_t step, uint32_t pid)
{
    mpi_finder_scan(finder, step, &pid, 1);
    while (mpi_finder_look(finder))
        ;
}

/* A file loses its probes a minute after the last of its steps. */
static void test_unused(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);
    pid_t pid = start_with_mpi();
    int links = fake_mpi.links;

    (void)state;
    assert_non_null(finder);
    look_at(finder, 40, (uint32_t)pid);
    if (geteuid() == 0) { /* only root may open the file of another process */
        assert_int_equal(fake_mpi.links, links + 1);
        look_at(finder, 41, (uint32_t)pid);
        mpi_finder_forget(finder, 40);
        assert_true(mpi_finder_due(finder) == UINT64_MAX);
        mpi_finder_forget(finder, 41);
        ahead_s += 59;
        look_at(finder, 42, (uint32_t)pid);
        ahead_s += 61;
        mpi_finder_clean(finder);
        mpi_finder_forget(finder, 42);
        ahead_s += 59;
        assert_true(mpi_finder_due(finder) > clock_ns(CLOCK_MONOTONIC));
        mpi_finder_clean(finder);
        assert_int_equal(fake_mpi.links, links + 1);
        ahead_s += 2;
        assert_true(mpi_finder_due(finder) <= clock_ns(CLOCK_MONOTONIC));
        mpi_finder_clean(finder);
        for (int i = 0; i < 10000 && fake_mpi.links != links; i++)
            usleep(1000);
        assert_int_equal(fake_mpi.links, links);
        assert_true(mpi_finder_due(finder) == UINT64_MAX);
        look_at(finder, 43, (uint32_t)pid);
        assert_int_equal(fake_mpi.links, links + 1);
    }
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    mpi_finder_destroy(finder);
    ahead_s = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_late, fake_mpi_reset),
        cmocka_unit_test_setup(test_unopened_files, fake_mpi_reset),
        cmocka_unit_test_setup(test_ended_processes, fake_mpi_reset),
        cmocka_unit_test_setup(test_room_is_left, fake_mpi_reset),
        cmocka_unit_test_setup(test_forgotten_in_time, fake_mpi_reset),
        cmocka_unit_test_setup(test_late_again, fake_mpi_reset),
        cmocka_unit_test_setup(test_late_once, fake_mpi_reset),
        cmocka_unit_test_setup(test_unused, fake_mpi_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
