/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jobio run` of users: what waits for the kernel must not wait on the event loop. FAKES of
 * requests and of the kernel's side of cgroups and processes, and the real thread.
 */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/cgroup/peer.h"
#include "collector/daemon/runs.h"
#include "collector/track/tracker.h"
#include "common/clock.h"
#include "common/message.h"
#include "tests/unit/sampler_rig.h"

#define USER 1000
#define MOVES 64
#define A_USER 16 /* the limit of runs */

struct request {
    uid_t uid;
    pid_t pid;
    unsigned answers;
    uint64_t run; /* the answer to run-begin */
    char error[256];
};

static struct {
    sd_event *loop;
    struct runs *runs;
    char directory[40];
    pthread_t thread;            /* the main one */
    sem_t started, go;           /* of a wait for the kernel */
    bool moves_wait, drops_wait; /* for `go` */
    unsigned drops;
    pid_t moved[MOVES]; /* in that order */
    size_t n_moved;
    pid_t checked;       /* the number that was checked last; 0: something was done since */
    bool checks_fail;    /* of numbers */
    bool covered_by_job; /* all processes */
    const char *fault;   /* of the thread */
    uid_t namespace_owner;
    bool cgroups_are_gone;
    char paths[MOVES][96]; /* of the cgroups, by the number of the process */
    bool paths_are_new;    /* else all processes are in /user */
} t;

/* --- the fakes -------------------------------------------------------------------------------- */

uid_t request_uid(const struct request *request)
{
    return request->uid;
}

pid_t request_pid(const struct request *request)
{
    return request->pid;
}

void request_error(struct request *request, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(request->error, sizeof(request->error), format, ap);
    va_end(ap);
    request->answers++;
}

void request_message(struct request *request, const struct message *m)
{
    request->answers++;
    assert_int_equal(message_get_u64(m, "RUN", UINT64_MAX, 0, &request->run, NULL), 0);
}

void request_text(struct request *request, char *text, bool cut)
{
    (void)cut;
    request->answers++;
    free(text);
}

int tracker_covers(struct tracker *tracker, pid_t pid, const char *path, uint32_t *jobid,
                   struct error *error)
{
    (void)tracker, (void)pid, (void)path, (void)error;
    *jobid = t.covered_by_job ? 7 : 0;
    return 0;
}

int peer_open(pid_t pid, uid_t uid, struct error *error)
{
    int fds[2];

    (void)pid, (void)uid, (void)error;
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    return fds[1];
}

int peer_check(int pidfd, struct error *error)
{
    (void)pidfd, (void)error;
    return 0;
}

int peer_check_number(pid_t pid, struct error *error)
{
    t.checked = pid;
    return t.checks_fail ? error_set(error, -EAGAIN, "an older process") : 0;
}

struct peer_owners peer_owners(pid_t pid)
{
    (void)pid;
    return (struct peer_owners){PEER_NO_OWNER, t.namespace_owner};
}

int hierarchy_create(struct hierarchy **ret, const char *mountinfo, struct error *error)
{
    (void)mountinfo, (void)error;
    *ret = NULL;
    return 0;
}

void hierarchy_destroy(struct hierarchy *hierarchy)
{
    (void)hierarchy;
}

int hierarchy_check(struct hierarchy *hierarchy, int version, const char *path, uint64_t id,
                    struct error *error)
{
    (void)hierarchy, (void)path, (void)id;
    assert_int_equal(version, 2);
    return t.cgroups_are_gone ? error_set(error, -ENOENT, "there is no such cgroup") : 0;
}

int hierarchy_of(pid_t pid, char buf[512], struct error *error)
{
    (void)error;
    strcpy(buf, t.paths_are_new ? t.paths[pid % MOVES] : "/user");
    return 0;
}

size_t hierarchy_processes(struct hierarchy *hierarchy, const char *path)
{
    (void)hierarchy, (void)path;
    return 0;
}

size_t hierarchy_tasks(struct hierarchy *hierarchy, int version, const char *path, uint32_t *pids,
                       size_t max)
{
    (void)hierarchy, (void)version, (void)path, (void)pids, (void)max;
    return 0;
}

/* At most 10 s, so that a test without the thread fails. */
static void wait_for_go(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 10;
    (void)sem_post(&t.started);
    if (sem_timedwait(&t.go, &at) < 0)
        t.fault = "waited too long";
}

int hierarchy_enclose(struct hierarchy *hierarchy, pid_t pid, const char *name,
                      struct hierarchy_leaf *ret, struct error *error)
{
    (void)hierarchy, (void)error;
    if (pthread_equal(pthread_self(), t.thread))
        t.fault = "the loop moved a process";
    if (t.checked != pid)
        t.fault = "the number was not checked right before the move";
    t.checked = 0;
    if (t.moves_wait)
        wait_for_go();
    t.moved[t.n_moved++ % MOVES] = pid;
    (void)snprintf(ret->path, sizeof(ret->path), "/user/%s", name);
    (void)snprintf(t.paths[pid % MOVES], sizeof(t.paths[pid % MOVES]), "/user/%s/below", name);
    ret->id = (uint64_t)pid;
    ret->level = 2;
    return 0;
}

int hierarchy_remove(struct hierarchy *hierarchy, const char *path)
{
    (void)hierarchy, (void)path;
    return 0;
}

/* Called by probe_drop_wait(). */
static void wait_for_programs(void *arg)
{
    (void)arg;
    t.drops++;
    if (t.drops_wait)
        wait_for_go();
}

/* --- helpers ---------------------------------------------------------------------------------- */

static void start_runs(void)
{
    const struct runs_options options = {.cluster = "c",
                                         .node = "n",
                                         .runtime_dir = t.directory,
                                         .probe = rig.probe,
                                         .sampler = rig.sampler};

    rig_must(runs_create(&t.runs, t.loop, &options, &rig.error));
    t.paths_are_new = true;
    runs_adopt(t.runs);
    t.paths_are_new = false;
}

static void stop_runs(void)
{
    runs_destroy(t.runs);
    t.runs = NULL;
}

static int setup(void **state)
{
    memset(&t, 0, sizeof(t));
    t.namespace_owner = PEER_NO_OWNER;
    t.thread = pthread_self();
    (void)sem_init(&t.started, 0, 0);
    (void)sem_init(&t.go, 0, 0);
    strcpy(t.directory, "/tmp/jobio-test-runs-XXXXXX");
    assert_non_null(mkdtemp(t.directory));
    assert_int_equal(rig_setup(state), 0);
    fake_probe_set_wait(rig.probe, wait_for_programs, NULL);
    assert_true(sd_event_new(&t.loop) >= 0);
    start_runs();
    return 0;
}

static int teardown(void **state)
{
    char name[64];

    stop_runs();
    t.cgroups_are_gone = true;
    start_runs();
    assert_int_equal(runs_count(t.runs), 0);
    stop_runs();
    sd_event_unref(t.loop);
    if (t.fault)
        fail_msg("%s", t.fault);
    (void)snprintf(name, sizeof(name), "%s/runs", t.directory);
    assert_int_equal(rmdir(name), 0); /* no file of a run is left */
    assert_int_equal(rmdir(t.directory), 0);
    return rig_teardown(state);
}

static void request_start(struct request *request, uid_t uid, pid_t pid)
{
    struct message *m = malloc(sizeof(*m));

    assert_non_null(m);
    message_init(m, "run-begin");
    *request = (struct request){.uid = uid, .pid = pid};
    runs_start(t.runs, request, m);
    free(m);
}

static void request_end(struct request *request)
{
    struct message *m = malloc(sizeof(*m));

    assert_non_null(m);
    message_init(m, "run-end");
    assert_int_equal(message_put_u64(m, "RUN", request->run), 0);
    request->answers = 0;
    runs_end(t.runs, request, m);
    free(m);
}

/* A run that was started gives its account. */
static void end_run(struct request *request)
{
    if (*request->error)
        return;
    request_end(request);
    assert_string_equal(request->error, "");
    assert_int_equal(request->answers, 1);
}

/* Run the loop until this request has an answer, at most 10 s. */
static void wait_for_answer(const struct request *request)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);

    while (!request->answers && clock_ns(CLOCK_MONOTONIC) - start < 10 * NS_PER_S)
        assert_true(sd_event_run(t.loop, 100000) >= 0);
    assert_int_equal(request->answers, 1);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_loop_does_not_wait_for_moves(void **state)
{
    struct request request;

    (void)state;
    t.moves_wait = true;
    request_start(&request, USER, 10); /* with a wait on this thread, this fails after 10 s */
    assert_int_equal(sem_wait(&t.started), 0);
    assert_int_equal(sd_event_run(t.loop, 0), 0);
    assert_int_equal(request.answers, 0); /* not before its process is counted */
    assert_int_equal(runs_count(t.runs), 0);
    (void)sem_post(&t.go);
    wait_for_answer(&request);
    assert_string_equal(request.error, "");
    assert_int_equal(runs_count(t.runs), 1);
    assert_non_null(fake_probe_step(rig.probe, 10));
}

static void test_loop_does_not_wait_for_removals(void **state)
{
    struct request requests[4];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        request_start(&requests[i], USER, (pid_t)(10 + i));
        wait_for_answer(&requests[i]);
    }
    t.drops_wait = true;
    request_end(&requests[0]);
    wait_for_answer(&requests[0]);
    assert_string_equal(requests[0].error, "");
    assert_int_equal(sem_wait(&t.started), 0);
    /* The thread waits. Those that end meanwhile share the next wait. */
    for (size_t i = 1; i < 4; i++) {
        request_end(&requests[i]);
        wait_for_answer(&requests[i]);
    }
    assert_int_equal(runs_count(t.runs), 0);
    assert_non_null(fake_probe_step(rig.probe, 10));
    t.drops_wait = false;
    (void)sem_post(&t.go);
    for (int i = 0; i < 100 && fake_probe_step(rig.probe, 13); i++)
        assert_true(sd_event_run(t.loop, 100000) >= 0);
    for (uint32_t step = 10; step < 14; step++)
        assert_null(fake_probe_step(rig.probe, step));
    assert_int_equal(t.drops, 2);
}

/* Between two moves of a user, each other user gets one. */
static void test_users_take_turns(void **state)
{
    static const pid_t expected[] = {100, 200, 101, 201, 102, 103, 104};
    struct request first[5], second[2];

    (void)state;
    t.moves_wait = true;
    for (size_t i = 0; i < 5; i++)
        request_start(&first[i], USER, (pid_t)(100 + i));
    for (size_t i = 0; i < 2; i++)
        request_start(&second[i], USER + 1, (pid_t)(200 + i));
    for (size_t i = 0; i < 7; i++)
        (void)sem_post(&t.go);
    for (size_t i = 0; i < 5; i++)
        wait_for_answer(&first[i]);
    for (size_t i = 0; i < 2; i++)
        wait_for_answer(&second[i]);
    assert_int_equal(t.n_moved, 7);
    assert_memory_equal(t.moved, expected, sizeof(expected));
}

/* Of all uids in the user namespaces of a user, and with the one that the thread has. */
static void test_users_have_a_limit_of_moves(void **state)
{
    struct request requests[A_USER + 2], other, root;

    (void)state;
    t.moves_wait = true;
    t.namespace_owner = USER;
    request_start(&requests[0], 100000, 100);
    assert_int_equal(sem_wait(&t.started), 0);
    for (size_t i = 1; i < A_USER + 2; i++)
        request_start(&requests[i], (uid_t)(100000 + i), (pid_t)(100 + i));
    assert_int_equal(requests[A_USER + 1].answers, 1);
    assert_string_equal(requests[A_USER + 1].error, "too many runs start at once: try again later");
    assert_int_equal(requests[A_USER].answers, 0);
    t.namespace_owner = PEER_NO_OWNER;
    request_start(&other, USER + 1, 300);
    request_start(&root, 0, 400);
    for (size_t i = 0; i < A_USER + 3; i++)
        (void)sem_post(&t.go);
    for (size_t i = 0; i <= A_USER; i++)
        wait_for_answer(&requests[i]);
    wait_for_answer(&other);
    wait_for_answer(&root);
    assert_string_equal(other.error, "");
    assert_string_equal(root.error, "");
}

static void test_uid_has_a_limit_of_runs(void **state)
{
    struct request requests[A_USER], more, other;

    (void)state;
    t.moves_wait = true;
    for (size_t i = 0; i < A_USER; i++)
        request_start(&requests[i], USER, (pid_t)(100 + i));
    request_start(&more, USER, 200); /* those that are started count */
    assert_int_equal(more.answers, 1);
    assert_string_equal(more.error, "too many runs at once: user 1000 has 16 already: wait until "
                                    "one has ended");
    for (size_t i = 0; i < A_USER; i++)
        (void)sem_post(&t.go);
    for (size_t i = 0; i < A_USER; i++)
        wait_for_answer(&requests[i]);
    t.moves_wait = false;
    /* One that is being removed does not count. */
    t.drops_wait = true;
    request_end(&requests[0]);
    request_start(&other, USER, 300);
    assert_int_equal(other.answers, 0);
    (void)sem_post(&t.go);
    wait_for_answer(&other);
    assert_string_equal(other.error, "");
    t.drops_wait = false;
}

/* On the thread, right before the move: see hierarchy_enclose(). */
static void test_number_is_checked_before_the_move(void **state)
{
    struct request request;

    (void)state;
    t.checks_fail = true;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    assert_string_equal(request.error, "an older process");
    assert_int_equal(t.n_moved, 0);
    assert_int_equal(runs_count(t.runs), 0);
}

/* Its process got into a step while it was moved. */
static void test_process_of_a_step_is_not_counted_twice(void **state)
{
    struct request request;

    (void)state;
    t.moves_wait = true;
    request_start(&request, USER, 10);
    assert_int_equal(sem_wait(&t.started), 0);
    t.covered_by_job = true;
    (void)sem_post(&t.go);
    wait_for_answer(&request);
    assert_non_null(strstr(request.error, "this is a step of job 7"));
    assert_int_equal(runs_count(t.runs), 0);
    assert_null(fake_probe_step(rig.probe, 10));
}

/* jobiod ends while the thread has work. The next one continues to count. */
static void test_end_with_open_requests(void **state)
{
    struct request counted, moving, queued;

    (void)state;
    request_start(&counted, USER, 10);
    wait_for_answer(&counted);
    t.moves_wait = true;
    request_start(&moving, USER, 11);
    request_start(&queued, USER, 12);
    (void)sem_post(&t.go);
    (void)sem_post(&t.go);
    stop_runs();
    assert_int_equal(moving.answers, 1);
    assert_int_equal(queued.answers, 1);
    assert_non_null(fake_probe_step(rig.probe, 10));
    start_runs();
    assert_string_equal(counted.error, "");
    end_run(&counted);
    end_run(&moving);
    end_run(&queued);
    assert_int_equal(runs_count(t.runs), 0);
    stop_runs();
    for (uint32_t step = 10; step < 13; step++)
        assert_null(fake_probe_step(rig.probe, step));
}

/* Only its user, or root, gets the account. The number is not used again. */
static void test_next_process_continues(void **state)
{
    struct request request, other;
    uint64_t number;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    number = request.run;
    stop_runs();
    start_runs();
    assert_int_equal(runs_count(t.runs), 1);
    request_start(&other, USER + 1, 11);
    wait_for_answer(&other);
    assert_true(other.run > number);
    other.run = number;
    request_end(&other);
    assert_non_null(strstr(other.error, "there is no run"));
    end_run(&request);
    assert_int_equal(runs_count(t.runs), 1);
}

/* Its process has ended, so nobody can ask for the account any more. */
static void test_next_process_after_the_end(void **state)
{
    struct request request;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    stop_runs();
    strcpy(t.paths[10 % MOVES], "/user/elsewhere");
    start_runs();
    assert_int_equal(runs_count(t.runs), 0);
}

/* The counters are gone, as after a restart with maps of another layout. */
static void test_next_process_without_counters(void **state)
{
    struct request request;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    stop_runs();
    assert_int_equal(probe_drop(rig.probe, 10, 2, NULL), 0);
    start_runs();
    assert_int_equal(runs_count(t.runs), 0);
    request_end(&request);
    assert_non_null(strstr(request.error, "there is no run"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_loop_does_not_wait_for_moves),
        TEST(test_loop_does_not_wait_for_removals),
        TEST(test_users_take_turns),
        TEST(test_users_have_a_limit_of_moves),
        TEST(test_uid_has_a_limit_of_runs),
        TEST(test_number_is_checked_before_the_move),
        TEST(test_process_of_a_step_is_not_counted_twice),
        TEST(test_end_with_open_requests),
        TEST(test_next_process_continues),
        TEST(test_next_process_after_the_end),
        TEST(test_next_process_without_counters),
    };

    return cmocka_run_group_tests(tests, rig_make_proc, rig_remove_proc);
}
