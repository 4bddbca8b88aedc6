/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that counts the MPI-IO of steps, with programs that this test replaces. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "config.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/mpi/finder.h"
#include "collector/mpi/watcher.h"
#include "collector/probe/mpi.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc_stat.h"
#include "tests/unit/mpi_process.h"

struct mpi_probe {
    int fd;
};

struct mpi_links {
    int unused;
};

static struct {
    atomic_int added, removed, attempts, loaded, links;
    atomic_bool fails, full, knows;
    pthread_mutex_t
        gate; /* the thread waits for it to load the programs, and to read what was executed */
} fake = {.gate = PTHREAD_MUTEX_INITIALIZER};

/* The processes in the map, all of which the programs have seen start MPI. */
static struct mpi_process seen[4];
static size_t n_seen, room;

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

int mpi_probe_create(struct mpi_probe **ret, const struct probe *probe, struct error *error)
{
    bool fails;

    (void)probe;
    (void)pthread_mutex_lock(&fake.gate);
    (void)pthread_mutex_unlock(&fake.gate);
    fails = fake.fails; /* before a test sees the attempt */
    fake.attempts++;
    if (fails)
        return error_set(error, -ENOTSUP, "this kernel is too old");
    *ret = calloc(1, sizeof(**ret));
    (*ret)->fd = eventfd(0, EFD_CLOEXEC);
    fake.loaded++;
    return 0;
}

void mpi_probe_destroy(struct mpi_probe *mpi)
{
    if (!mpi)
        return;
    close(mpi->fd);
    free(mpi);
    fake.loaded--;
}

int mpi_probe_add(struct mpi_probe *mpi, uint32_t step, struct error *error)
{
    (void)mpi;
    (void)step;
    if (fake.full)
        return error_set(error, -E2BIG, "too many steps");
    fake.added++;
    return 0;
}

void mpi_probe_remove(struct mpi_probe *mpi, uint32_t step)
{
    (void)mpi;
    (void)step;
    fake.removed++;
}

int mpi_probe_attach(struct mpi_probe *mpi, int fd, const struct mpi_file *file,
                     struct mpi_links **ret, struct error *error)
{
    (void)mpi;
    (void)fd;
    (void)file;
    (void)error;
    *ret = calloc(1, sizeof(**ret));
    fake.links++;
    return 0;
}

void mpi_links_destroy(struct mpi_links *links)
{
    fake.links -= links != NULL;
    free(links);
}

int mpi_probe_fd(const struct mpi_probe *mpi)
{
    return mpi->fd;
}

int mpi_probe_execs(struct mpi_probe *mpi, mpi_exec_f each, void *arg, struct error *error)
{
    (void)mpi;
    (void)each;
    (void)arg;
    (void)error;
    (void)pthread_mutex_lock(&fake.gate);
    (void)pthread_mutex_unlock(&fake.gate);
    return 0;
}

bool mpi_probe_knows(const struct mpi_probe *mpi, uint32_t step, uint32_t pid)
{
    (void)mpi;
    for (size_t i = 0; i < n_seen; i++)
        if (seen[i].step == step && seen[i].pid == pid)
            return true;
    return fake.knows;
}

int mpi_probe_processes(const struct mpi_probe *mpi, struct mpi_process **ret, size_t *n,
                        size_t *max, struct error *error)
{
    (void)mpi;
    (void)error;
    *ret = calloc(n_seen + 1, sizeof(**ret));
    memcpy(*ret, seen, n_seen * sizeof(**ret));
    *n = n_seen;
    *max = room;
    return 0;
}

void mpi_probe_forget(struct mpi_probe *mpi, const struct mpi_process *process)
{
    (void)mpi;
    (void)pthread_mutex_lock(&fake.gate);
    for (size_t i = 0; i < n_seen; i++)
        if (!memcmp(&seen[i], process, sizeof(*process)))
            seen[i--] = seen[--n_seen];
    (void)pthread_mutex_unlock(&fake.gate);
}

/* A step has as many calls as its number says. */
int mpi_probe_read(const struct mpi_probe *mpi, uint32_t step, struct mpi_account *ret,
                   struct error *error)
{
    (void)mpi;
    (void)error;
    ret->classes[MPI_OPEN].calls = step;
    return 0;
}

static int reset(void **state)
{
    (void)state;
    fake.added = fake.removed = fake.attempts = 0;
    fake.fails = fake.full = fake.knows = false;
    n_seen = 0;
    room = ARRAY_SIZE(seen);
    return 0;
}

/* Waits 1 ms; fails the test after 20 s. */
static bool pause_once(unsigned *n)
{
    if (++*n > 20000)
        fail_msg("waited in vain");
    return usleep(1000) == 0;
}

static void await_ready(struct mpi_watcher *watcher)
{
    struct mpi_watcher_state state;
    unsigned waited = 0;

    do
        mpi_watcher_get_state(watcher, &state);
    while (!state.ready && pause_once(&waited));
}

/* Reads the step until its account has `n` causes. */
static void await_causes(struct mpi_watcher *watcher, uint32_t step, size_t n)
{
    unsigned waited = 0;
    size_t has;

    do {
        struct mpi_account *account = mpi_watcher_read(watcher, step);

        assert_non_null(account);
        has = account->completeness.n;
        mpi_account_destroy(account);
    } while (has != n && pause_once(&waited));
}

static void check(struct mpi_watcher *watcher, uint32_t step, uint64_t calls, const char *cause)
{
    struct mpi_account *account = mpi_watcher_read(watcher, step);

    assert_non_null(account);
    assert_int_equal(account->classes[MPI_OPEN].calls, calls);
    assert_int_equal(account->completeness.n, cause != NULL);
    if (cause)
        assert_string_equal(account->completeness.items[0].cause, cause);
    mpi_account_destroy(account);
}

static void test_steps(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, 0);
    unsigned waited = 0;

    (void)state;
    assert_non_null(watcher);
    assert_false(mpi_watcher_has(watcher, 3));
    assert_false(mpi_watcher_add(watcher, 3)); /* not attached yet */
    assert_true(mpi_watcher_has(watcher, 3));
    await_ready(watcher);
    assert_true(mpi_watcher_add(watcher, 4));
    assert_true(mpi_watcher_add(watcher, 4));
    assert_int_equal(fake.added, 2); /* at once, if the programs are loaded */
    check(watcher, 3, 3, NULL);
    check(watcher, 4, 4, NULL);
    mpi_watcher_remove(watcher, 3);
    assert_false(mpi_watcher_has(watcher, 3));
    mpi_watcher_remove(watcher, 3);
    mpi_watcher_remove(watcher, 4);
    /* Without a step, the libraries are free again. */
    while (fake.removed < 2 || fake.links)
        (void)pause_once(&waited);
    mpi_watcher_destroy(watcher);
    assert_int_equal(fake.removed, 2);
    assert_int_equal(fake.loaded, 0);
}

static void test_always(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);

    (void)state;
    assert_non_null(watcher);
    await_ready(watcher);
    assert_int_equal(fake.loaded, 1);
    (void)mpi_watcher_add(watcher, 5);
    check(watcher, 5, 5, NULL);
    mpi_watcher_destroy(watcher);
    assert_int_equal(fake.loaded, 0);
    assert_int_equal(fake.links, 0);
}

static void test_cannot_load(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    struct mpi_watcher_state now;
    unsigned waited = 0;

    (void)state;
    assert_non_null(watcher);
    mpi_watcher_destroy(watcher);
    fake.fails = true;
    watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    (void)mpi_watcher_add(watcher, 6);
    do
        mpi_watcher_get_state(watcher, &now);
    while (!*now.why.text && pause_once(&waited));
    assert_false(now.ready);
    assert_int_equal(now.steps, 1);
    check(watcher, 6, 0, MPI_CAUSE_LIBRARY "this kernel is too old");
    mpi_watcher_destroy(watcher);
}

/* It is tried again after a pause, and after twice the pause. */
static void test_can_load_later(void **state)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    struct mpi_watcher_state now;
    struct mpi_watcher *watcher;
    unsigned waited = 0;

    (void)state;
    fake.fails = true;
    watcher = mpi_watcher_create(NULL, 0);
    assert_non_null(watcher);
    assert_false(mpi_watcher_add(watcher, 6));
    while (fake.attempts < 2)
        (void)pause_once(&waited);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start >= NS_PER_S);
    check(watcher, 6, 0, MPI_CAUSE_LIBRARY "this kernel is too old");
    fake.fails = false;
    await_ready(watcher);
    assert_int_equal(fake.attempts, 3);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start >= 3 * NS_PER_S);
    mpi_watcher_get_state(watcher, &now);
    assert_string_equal(now.why.text, "");
    await_causes(watcher, 6, 0);
    mpi_watcher_destroy(watcher);
}

static void test_no_room(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    uint32_t *pids = calloc(1, sizeof(*pids));

    (void)state;
    assert_non_null(watcher);
    await_ready(watcher);
    fake.full = true;
    assert_false(mpi_watcher_add(watcher, 7));
    check(watcher, 7, 7, MPI_CAUSE_UNSEEN);
    fake.full = false;
    mpi_watcher_scan(watcher, 7, pids, 1, false);
    await_causes(watcher, 7, 0); /* the thread has tried again */
    mpi_watcher_scan(watcher, 7, calloc(1, sizeof(*pids)), 1, true);
    check(watcher, 7, 7, MPI_CAUSE_UNSEEN);
    mpi_watcher_scan(watcher, 8, calloc(1, sizeof(*pids)), 1, false); /* not counted */
    mpi_watcher_destroy(watcher);
}

/* The thread hangs while it loads, attaches or looks: readings do not wait for it. */
static void test_busy(void **state)
{
    struct mpi_watcher *watcher;

    (void)state;
    (void)pthread_mutex_lock(&fake.gate);
    watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    assert_non_null(watcher);
    (void)mpi_watcher_add(watcher, 9);
    check(watcher, 9, 0, MPI_CAUSE_UNSEEN);
    (void)pthread_mutex_unlock(&fake.gate);
    await_causes(watcher, 9, 0);
    (void)pthread_mutex_lock(&fake.gate);
    (void)mpi_watcher_add(watcher, 10);
    check(watcher, 10, 10, NULL);
    (void)pthread_mutex_unlock(&fake.gate);
    mpi_watcher_destroy(watcher);
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
    mpi_finder_exec(11, (uint32_t)getpid(), now, finder);
    mpi_finder_exec(12, (uint32_t)getpid(), now - 2 * NS_PER_S, finder);
    assert_int_equal(causes_of(finder, 11), 0);
    assert_int_equal(causes_of(finder, 12), 1);
    fake.knows = true; /* the programs are at its MPI */
    assert_int_equal(causes_of(finder, 12), 0);
    fake.knows = false;
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
        mpi_finder_exec(30 + i, (uint32_t)getpid(), now - NS_PER_MS, finder);
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
    seen[n_seen++] = (struct mpi_process){20, self, start + NS_PER_MS};
    seen[n_seen++] = (struct mpi_process){20, child, start};
    seen[n_seen++] = (struct mpi_process){21, self, start - 20 * NS_PER_MS};
    mpi_finder_clean(finder);
    assert_int_equal(n_seen, 1);
    assert_int_equal(seen[0].step, 20);
    assert_int_equal(seen[0].pid, self);
    mpi_finder_destroy(finder);
}

/* While more than half of the room is left, nothing is forgotten. */
static void test_room_is_left(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);

    (void)state;
    assert_non_null(finder);
    seen[n_seen++] = (struct mpi_process){23, 0x7fffffff, NS_PER_S};
    seen[n_seen++] = (struct mpi_process){23, 0x7ffffffe, NS_PER_S};
    mpi_finder_clean(finder);
    assert_int_equal(n_seen, 2);
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
    room = 1;
    seen[n_seen++] = (struct mpi_process){24, pid, NS_PER_S};
    mpi_finder_exec(24, pid, clock_ns(CLOCK_MONOTONIC) - 2 * NS_PER_S, finder);
    mpi_finder_clean(finder);
    assert_int_equal(n_seen, 0);
    assert_int_equal(causes_of(finder, 24), 0);
    assert_true(mpi_finder_look(finder));
    assert_int_equal(causes_of(finder, 24), 0);
    mpi_finder_destroy(finder);
}

/* The thread does it, while the step runs. */
static void test_clean(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, 0);
    unsigned waited = 0;
    size_t left;

    (void)state;
    assert_non_null(watcher);
    (void)pthread_mutex_lock(&fake.gate);
    room = 1;
    seen[n_seen++] = (struct mpi_process){22, 0x7fffffff, NS_PER_S};
    (void)mpi_watcher_add(watcher, 22);
    (void)pthread_mutex_unlock(&fake.gate);
    do {
        (void)pthread_mutex_lock(&fake.gate);
        left = n_seen;
        (void)pthread_mutex_unlock(&fake.gate);
    } while (left && pause_once(&waited));
    mpi_watcher_destroy(watcher);
}

/* Later looks at a process whose MPI has been found are for a second one: they may be late. */
static void test_late_again(void **state)
{
    struct mpi_probe probe = {0};
    struct mpi_finder *finder = mpi_finder_create(&probe);
    pid_t pid = start_with_mpi();
    uint32_t pids[] = {(uint32_t)pid};
    int links = fake.links;

    (void)state;
    assert_non_null(finder);
    mpi_finder_exec(13, pids[0], clock_ns(CLOCK_MONOTONIC), finder);
    usleep(10000);
    while (mpi_finder_look(finder))
        ;
    if (geteuid() != 0) { /* only root may open the file of another process */
        mpi_finder_destroy(finder);
        (void)kill(pid, SIGKILL);
        skip();
    }
    assert_true(fake.links > links);
    mpi_finder_forget(finder, 13); /* the probes were attached after its start */
    mpi_finder_exec(14, pids[0], clock_ns(CLOCK_MONOTONIC), finder);
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

/* For ThreadSanitizer. */
static void test_many(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, 0);

    (void)state;
    assert_non_null(watcher);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t *pids = calloc(1, sizeof(*pids));

        (void)mpi_watcher_add(watcher, i);
        pids[0] = (uint32_t)getpid();
        mpi_watcher_scan(watcher, i, pids, 1, false);
        mpi_account_destroy(mpi_watcher_read(watcher, i));
        if (i >= 2)
            mpi_watcher_remove(watcher, i - 2);
    }
    mpi_watcher_destroy(watcher);
    assert_int_equal(fake.loaded, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_steps, reset),
        cmocka_unit_test_setup(test_always, reset),
        cmocka_unit_test_setup(test_cannot_load, reset),
        cmocka_unit_test_setup(test_can_load_later, reset),
        cmocka_unit_test_setup(test_no_room, reset),
        cmocka_unit_test_setup(test_busy, reset),
        cmocka_unit_test_setup(test_late, reset),
        cmocka_unit_test_setup(test_unopened_files, reset),
        cmocka_unit_test_setup(test_ended_processes, reset),
        cmocka_unit_test_setup(test_room_is_left, reset),
        cmocka_unit_test_setup(test_forgotten_in_time, reset),
        cmocka_unit_test_setup(test_clean, reset),
        cmocka_unit_test_setup(test_late_again, reset),
        cmocka_unit_test_setup(test_many, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
