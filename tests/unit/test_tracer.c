/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes whose environment cannot be read hold up neither the tracer nor the steps of others.
 * The probe and rank_read() are this test's. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "collector/probe/spans.h"
#include "collector/trace/rank.h"
#include "collector/trace/tracer.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define PID_HANGS 1000 /* and above */
#define USER 1
#define OTHER_USER 2
/* tracer.c: readers of ended steps that the processes of a user may hold up */
#define HUNG_OF_USER 4

/* --- the environment of processes ------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int hung, reads; /* with the mutex */
static bool hangs = true;

/* The rank is the number of the process. */
enum rank_state rank_read(const char *proc, uint32_t pid, uint64_t seen_ns, uint32_t *ret)
{
    (void)proc;
    (void)seen_ns;
    (void)pthread_mutex_lock(&mutex);
    reads++;
    hung += pid >= PID_HANGS;
    while (pid >= PID_HANGS && hangs)
        (void)pthread_cond_wait(&released, &mutex);
    hung -= pid >= PID_HANGS;
    (void)pthread_mutex_unlock(&mutex);
    *ret = pid;
    return RANK_FOUND;
}

static void set_hangs(bool value)
{
    (void)pthread_mutex_lock(&mutex);
    hangs = value;
    (void)pthread_cond_broadcast(&released);
    (void)pthread_mutex_unlock(&mutex);
}

static int value_of(const int *of)
{
    int ret;

    (void)pthread_mutex_lock(&mutex);
    ret = *of;
    (void)pthread_mutex_unlock(&mutex);
    return ret;
}

static void await(const int *value, int wanted)
{
    for (int i = 0; i < 10000 && value_of(value) != wanted; i++)
        (void)poll(NULL, 0, 1);
    assert_int_equal(value_of(value), wanted);
}

/* --- the probe -------------------------------------------------------------------------------- */

/* The next span that it reports; pid 0: none. */
static struct {
    uint32_t step, pid;
} next;
static uint64_t reported[32]; /* of each step, whose number is that of its slot */

int probe_trace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, enum trace_of of,
                bool paths, uint32_t *ret, struct error *error)
{
    (void)probe;
    (void)of;
    (void)paths;
    (void)cgroup_version;
    (void)error;
    *ret = (uint32_t)cgroup_id;
    return 0;
}

void probe_untrace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, uint32_t slot)
{
    (void)probe;
    (void)cgroup_id;
    (void)cgroup_version;
    (void)slot;
}

void probe_trace_set_least(struct probe *probe, uint32_t slot, uint64_t least_ns)
{
    (void)probe;
    (void)slot;
    (void)least_ns;
}

struct trace_left_out probe_trace_left_out(const struct probe *probe, uint32_t slot)
{
    (void)probe;
    (void)slot;
    return (struct trace_left_out){.shorter = {0}};
}

void probe_trace_reported(const struct probe *probe, uint32_t slot, uint64_t ret[SPAN_KINDS])
{
    (void)probe;
    for (int kind = 0; kind < SPAN_KINDS; kind++)
        ret[kind] = kind == SPAN_REQUEST ? reported[slot] : 0;
}

int probe_spans_fd(const struct probe *probe)
{
    (void)probe;
    return -1;
}

int probe_spans(struct probe *probe, uint32_t max, probe_span_f each, void *arg,
                struct error *error)
{
    struct span span = {.name = "write", .pid = next.pid, .tid = next.pid};

    (void)probe;
    (void)max;
    (void)error;
    if (!next.pid)
        return 0;
    span.start_ns = clock_ns(CLOCK_MONOTONIC);
    next.pid = 0;
    reported[next.step]++;
    each(next.step, &span, "app\0\0\0\0\0\0\0\0\0\0\0\0", arg);
    return 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct tracer *tracer;
static struct error error;

static int set_up(void **state)
{
    const struct trace_limits limits = {.per_second = 100, .in_all = 1000};

    (void)state;
    set_hangs(true);
    (void)alarm(60); /* a tracer that waits for a reader waits for ever */
    return tracer_create(&tracer, NULL, &limits, &error);
}

static void see(uint32_t step, uint32_t pid)
{
    next.step = step;
    next.pid = pid;
    assert_int_equal(tracer_read(tracer, &error), 0);
}

/* A step whose process has made a request, which jobiod has read. */
static void start_step(uint32_t step, uid_t uid, uint32_t pid)
{
    const struct tracer_step traced = {
        .number = step, .uid = uid, .cgroup_id = step, .cgroup_version = 2};

    assert_int_equal(tracer_start(tracer, &traced, &error), 0);
    see(step, pid);
}

/* Ends the step, whose processes are this number. Returns the first one. */
static struct trace_process end_step(uint32_t step, size_t n, uint64_t *unread)
{
    struct trace trace = {0};
    struct trace_process ret;

    assert_int_equal(tracer_finish(tracer, step, &trace, &error), 0);
    assert_int_equal(trace.n_processes, n);
    ret = trace.processes[0];
    *unread = trace_unread(&trace);
    assert_int_equal(trace_dropped(&trace, SPAN_REQUEST), 0);
    trace_clear(&trace);
    return ret;
}

static void check_unread(uint32_t step)
{
    uint64_t unread;
    struct trace_process process = end_step(step, 1, &unread);

    assert_true(process.unread);
    assert_false(process.has_rank);
    assert_int_equal(unread, 1);
}

/* Starts and ends a step whose first process can be read. When the second one is being read, the
 * first one is answered. */
static void check_read(uint32_t step, uid_t uid)
{
    int before = value_of(&reads);
    struct trace_process process;
    uint64_t unread;

    start_step(step, uid, 7);
    see(step, 8);
    await(&reads, before + 2);
    process = end_step(step, 2, &unread);
    assert_false(process.unread);
    assert_true(process.has_rank);
    assert_int_equal(process.rank, 7);
    assert_in_range(unread, 0, 1);
}

/* Steps 1 to n of USER; each has a reader that hangs. */
static void hang_readers(uint32_t n)
{
    for (uint32_t step = 1; step <= n; step++) {
        start_step(step, USER, PID_HANGS + step);
        await(&hung, (int)step);
    }
}

static int threads(void)
{
    _closedir_ DIR *tasks = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));)
        n += *entry->d_name != '.';
    return n;
}

static int other_threads; /* an emulator has some */

/* Until no other readers than these have a thread. */
static void await_readers(int n)
{
    for (int i = 0; i < 10000 && threads() > other_threads + n; i++)
        (void)poll(NULL, 0, 1);
    assert_int_equal(threads(), other_threads + n);
}

static void release_readers(void)
{
    set_hangs(false);
    await_readers(0);
}

static void test_running_steps(void **state)
{
    (void)state;
    hang_readers(HUNG_OF_USER + 1);
    check_read(10, OTHER_USER);
    check_read(11, USER);
    for (uint32_t step = 1; step <= HUNG_OF_USER + 1; step++)
        check_unread(step);
    assert_int_equal(value_of(&hung), HUNG_OF_USER + 1);
    release_readers();
    tracer_destroy(tracer);
}

static void test_limit_of_a_user(void **state)
{
    int before;

    (void)state;
    hang_readers(HUNG_OF_USER);
    for (uint32_t step = 1; step < HUNG_OF_USER; step++)
        check_unread(step);
    check_read(10, USER); /* one less than the limit */
    check_unread(HUNG_OF_USER);

    await_readers(HUNG_OF_USER);
    before = value_of(&reads);
    start_step(11, USER, 7);
    start_step(12, USER, PID_HANGS);
    assert_int_equal(threads(), other_threads + HUNG_OF_USER); /* they have no reader */
    check_unread(11);
    check_unread(12);
    assert_int_equal(value_of(&reads), before);
    assert_int_equal(value_of(&hung), HUNG_OF_USER);
    check_read(13, OTHER_USER);

    release_readers();
    check_read(14, USER);
    tracer_destroy(tracer);
}

/* At exit, jobiod leaves them behind. */
static void test_destroy(void **state)
{
    uint64_t start_ns;

    (void)state;
    hang_readers(HUNG_OF_USER);
    for (uint32_t step = 2; step <= HUNG_OF_USER; step++)
        check_unread(step);
    start_ns = clock_ns(CLOCK_MONOTONIC);
    tracer_destroy(tracer);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start_ns < 10 * NS_PER_S);
    assert_int_equal(value_of(&hung), HUNG_OF_USER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_running_steps, set_up),
        cmocka_unit_test_setup(test_limit_of_a_user, set_up),
        cmocka_unit_test_setup(test_destroy, set_up),
    };

    other_threads = threads();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
