/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jobio run`: what waits for the kernel must not wait on the event loop. */
#define _GNU_SOURCE
#include "tests/unit/runs_rig.h"

#include "collector/cgroup/peer.h"
#include "collector/daemon/runs_impl.h"
#include "collector/sample/sampler.h"
#include "common/clock.h"
#include "tests/unit/sampler_rig.h"

#define PRIVATE 77u /* not mounted on the host */
#define A_USER 16   /* the limit of runs */

static void test_loop_does_not_wait_for_moves(void **state)
{
    struct request request;

    (void)state;
    fakes.moves_wait = true;
    request_start(&request, USER, 10); /* with a wait on this thread, this fails after 10 s */
    assert_int_equal(sem_wait(&fakes.started), 0);
    assert_int_equal(sd_event_run(fakes.loop, 0), 0);
    assert_int_equal(request.answers, 0); /* not before its process is counted */
    assert_int_equal(runs_count(fakes.runs), 0);
    (void)sem_post(&fakes.go);
    wait_for_answer(&request);
    assert_string_equal(request.error, "");
    assert_int_equal(runs_count(fakes.runs), 1);
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
    fakes.drops_wait = true;
    request_end(&requests[0]);
    wait_for_answer(&requests[0]);
    assert_string_equal(requests[0].error, "");
    assert_int_equal(sem_wait(&fakes.started), 0);
    /* The thread waits. Those that end meanwhile share the next wait. */
    for (size_t i = 1; i < 4; i++) {
        request_end(&requests[i]);
        wait_for_answer(&requests[i]);
    }
    assert_int_equal(runs_count(fakes.runs), 0);
    assert_non_null(fake_probe_step(rig.probe, 10));
    fakes.drops_wait = false;
    (void)sem_post(&fakes.go);
    for (int i = 0; i < 100 && fake_probe_step(rig.probe, 13); i++)
        assert_true(sd_event_run(fakes.loop, 100000) >= 0);
    for (uint32_t step = 10; step < 14; step++)
        assert_null(fake_probe_step(rig.probe, step));
    assert_int_equal(fakes.drops, 2);
}

/* Between two moves of a user, each other user gets one. */
static void test_users_take_turns(void **state)
{
    static const pid_t expected[] = {100, 200, 101, 201, 102, 103, 104};
    struct request first[5], second[2];

    (void)state;
    fakes.moves_wait = true;
    for (size_t i = 0; i < 5; i++)
        request_start(&first[i], USER, (pid_t)(100 + i));
    for (size_t i = 0; i < 2; i++)
        request_start(&second[i], USER + 1, (pid_t)(200 + i));
    for (size_t i = 0; i < 7; i++)
        (void)sem_post(&fakes.go);
    for (size_t i = 0; i < 5; i++)
        wait_for_answer(&first[i]);
    for (size_t i = 0; i < 2; i++)
        wait_for_answer(&second[i]);
    assert_int_equal(fakes.n_moved, 7);
    assert_memory_equal(fakes.moved, expected, sizeof(expected));
}

/* Of all uids in the user namespaces of a user, and with the one that the thread has. */
static void test_users_have_a_limit_of_moves(void **state)
{
    struct request requests[A_USER + 2], other, root;

    (void)state;
    fakes.moves_wait = true;
    fakes.namespace_owner = USER;
    request_start(&requests[0], 100000, 100);
    assert_int_equal(sem_wait(&fakes.started), 0);
    for (size_t i = 1; i < A_USER + 2; i++)
        request_start(&requests[i], (uid_t)(100000 + i), (pid_t)(100 + i));
    assert_int_equal(requests[A_USER + 1].answers, 1);
    assert_string_equal(requests[A_USER + 1].error, "too many runs start at once: try again later");
    assert_int_equal(requests[A_USER].answers, 0);
    fakes.namespace_owner = PEER_NO_OWNER;
    request_start(&other, USER + 1, 300);
    request_start(&root, 0, 400);
    for (size_t i = 0; i < A_USER + 3; i++)
        (void)sem_post(&fakes.go);
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
    fakes.moves_wait = true;
    for (size_t i = 0; i < A_USER; i++)
        request_start(&requests[i], USER, (pid_t)(100 + i));
    request_start(&more, USER, 200); /* those that are started count */
    assert_int_equal(more.answers, 1);
    assert_string_equal(more.error, "too many runs at once: user 1000 has 16 already: wait until "
                                    "one has ended");
    for (size_t i = 0; i < A_USER; i++)
        (void)sem_post(&fakes.go);
    for (size_t i = 0; i < A_USER; i++)
        wait_for_answer(&requests[i]);
    fakes.moves_wait = false;
    /* One that is being removed does not count. */
    fakes.drops_wait = true;
    request_end(&requests[0]);
    request_start(&other, USER, 300);
    assert_int_equal(other.answers, 0);
    (void)sem_post(&fakes.go);
    wait_for_answer(&other);
    assert_string_equal(other.error, "");
    fakes.drops_wait = false;
}

/* On the thread, right before the move: see hierarchy_enclose(). */
static void test_number_is_checked_before_the_move(void **state)
{
    struct request request;

    (void)state;
    fakes.checks_fail = true;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    assert_string_equal(request.error, "an older process");
    assert_int_equal(fakes.n_moved, 0);
    assert_int_equal(runs_count(fakes.runs), 0);
}

/* Its process got into a step while it was moved. */
static void test_process_of_a_step_is_not_counted_twice(void **state)
{
    struct request request;

    (void)state;
    fakes.moves_wait = true;
    request_start(&request, USER, 10);
    assert_int_equal(sem_wait(&fakes.started), 0);
    fakes.covered_by_job = true;
    (void)sem_post(&fakes.go);
    wait_for_answer(&request);
    assert_non_null(strstr(request.error, "this is a step of job 7"));
    assert_int_equal(runs_count(fakes.runs), 0);
    assert_null(fake_probe_step(rig.probe, 10));
}

/* jobiod ends while the thread has work. The next one continues to count. */
static void test_end_with_open_requests(void **state)
{
    struct request counted, moving, queued;

    (void)state;
    request_start(&counted, USER, 10);
    wait_for_answer(&counted);
    fakes.moves_wait = true;
    request_start(&moving, USER, 11);
    request_start(&queued, USER, 12);
    (void)sem_post(&fakes.go);
    (void)sem_post(&fakes.go);
    stop_runs();
    assert_int_equal(moving.answers, 1);
    assert_int_equal(queued.answers, 1);
    assert_non_null(fake_probe_step(rig.probe, 10));
    start_runs();
    assert_string_equal(counted.error, "");
    end_run(&counted);
    end_run(&moving);
    end_run(&queued);
    assert_int_equal(runs_count(fakes.runs), 0);
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
    assert_int_equal(runs_count(fakes.runs), 1);
    request_start(&other, USER + 1, 11);
    wait_for_answer(&other);
    assert_true(other.run > number);
    other.run = number;
    request_end(&other);
    assert_non_null(strstr(other.error, "there is no run"));
    end_run(&request);
    assert_int_equal(runs_count(fakes.runs), 1);
}

/* Its process ended meanwhile. Only its user, or root, gets the account. */
static void test_next_process_after_the_end(void **state)
{
    struct request request, other;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    stop_runs();
    fakes.peers_are_gone = true;
    start_runs();
    fakes.peers_are_gone = false;
    assert_int_equal(runs_count(fakes.runs), 1);
    other = request;
    other.uid = USER + 1;
    request_end(&other);
    assert_non_null(strstr(other.error, "there is no run"));
    end_run(&request);
    assert_int_equal(runs_count(fakes.runs), 0);
}

/* Another process has its number. */
static void test_next_process_after_a_reuse(void **state)
{
    struct request request;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    stop_runs();
    strcpy(fakes.paths[10 % MOVES], "/user/elsewhere");
    start_runs();
    assert_int_equal(runs_count(fakes.runs), 1);
    end_run(&request);
    assert_int_equal(runs_count(fakes.runs), 0);
}

static void test_next_process_after_two_restarts(void **state)
{
    struct request request;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    stop_runs();
    fakes.peers_are_gone = true;
    start_runs();
    stop_runs();
    start_runs();
    assert_int_equal(runs_count(fakes.runs), 1);
    end_run(&request);
}

/* What the programs missed while an earlier process counted. */
static void test_next_process_knows_what_was_missed(void **state)
{
    struct request request;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    fake_probe_hook(rig.probe, 0)->missed += 40;
    rig_must(sampler_read(rig.sampler, clock_ns(CLOCK_BOOTTIME), &rig.error));
    stop_runs();
    start_runs();
    end_run(&request);
    assert_true(request.is_incomplete);

    request_start(&request, USER, 11); /* nothing was missed since its start */
    wait_for_answer(&request);
    stop_runs();
    start_runs();
    end_run(&request);
    assert_false(request.is_incomplete);
}

/* Start a run, whose process has ended when the next one adopts it with two other processes.
 * Returns the time of the adoption, or a bit before. */
static uint64_t leave_an_orphan(struct request *request, pid_t pid)
{
    uint64_t now;

    request_start(request, USER, pid);
    wait_for_answer(request);
    stop_runs();
    now = clock_ns(CLOCK_BOOTTIME);
    fakes.peers_are_gone = true;
    fakes.processes = 2;
    start_runs();
    fakes.peers_are_gone = false;
    return now;
}

/* Processes that outlived the command have ended when the account is requested. */
static void test_next_process_knows_survivors(void **state)
{
    struct request request;
    uint64_t adopted = leave_an_orphan(&request, 10);

    (void)state;
    fakes.processes = 0;
    request.ago_ns = clock_ns(CLOCK_BOOTTIME) - adopted;
    end_run(&request);
    assert_true(request.is_incomplete);

    (void)leave_an_orphan(&request, 11); /* one of them was the command, as another user */
    fakes.processes = 0;
    end_run(&request);
    assert_false(request.is_incomplete);
}

static void end_grace(void)
{
    struct run *run = fakes.runs->list;

    assert_true(sd_event_source_set_time(run->timer, 0) >= 0);
    assert_true(sd_event_run(fakes.loop, 10 * US_PER_S) > 0);
}

static void test_orphan_is_counted_as_long_as_it_has_processes(void **state)
{
    struct request request;

    (void)state;
    (void)leave_an_orphan(&request, 10);
    end_grace();
    assert_int_equal(runs_count(fakes.runs), 1);
    fakes.processes = 0;
    end_grace();
    assert_int_equal(runs_count(fakes.runs), 0);
}

/* The elapsed time ends with the command, although a reading came later. */
static void test_end_of_the_command(void **state)
{
    struct request request;
    uint64_t start, end, now;

    (void)state;
    start = clock_ns(CLOCK_BOOTTIME);
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    end = clock_ns(CLOCK_BOOTTIME);
    now = end + 50 * NS_PER_MS;
    while (clock_ns(CLOCK_BOOTTIME) < now)
        assert_true(sd_event_run(fakes.loop, 1000) >= 0);
    rig_must(sampler_read(rig.sampler, clock_ns(CLOCK_BOOTTIME), &rig.error));
    /* rounded up, by the time until the request is read */
    request.ago_ns = clock_ns(CLOCK_BOOTTIME) - end;
    request_end(&request);
    now = clock_ns(CLOCK_BOOTTIME);
    assert_true(request.elapsed_s > 0);
    assert_true(request.elapsed_s <= (double)(now - request.ago_ns - start) / NS_PER_S);

    /* a lie: before the start */
    request_start(&request, USER, 11);
    wait_for_answer(&request);
    rig_must(sampler_read(rig.sampler, clock_ns(CLOCK_BOOTTIME), &rig.error));
    request.ago_ns = UINT64_MAX;
    end_run(&request);
    assert_true(request.elapsed_s == 0);
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
    assert_int_equal(runs_count(fakes.runs), 0);
    request_end(&request);
    assert_non_null(strstr(request.error, "there is no run"));
}

/* Those of a pipeline may end a moment after the last one. */
static void test_account_waits_for_processes_that_end(void **state)
{
    struct request request, again;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    fakes.processes = 2;
    fakes.ended_by = 3;
    again = request;
    request_end(&request);
    assert_int_equal(request.answers, 0);
    request_end(&again);
    assert_non_null(strstr(again.error, "there is no run"));
    wait_for_answer(&request);
    assert_string_equal(request.error, "");
    assert_false(request.is_incomplete);
    assert_int_equal(fakes.checks, 4);
    assert_int_equal(runs_count(fakes.runs), 0);
}

static void test_account_does_not_wait_for_ever(void **state)
{
    struct request request;
    uint64_t start = clock_ns(CLOCK_BOOTTIME), end;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    fakes.processes = 2;
    request_end(&request);
    end = clock_ns(CLOCK_BOOTTIME);
    wait_for_answer(&request);
    assert_string_equal(request.error, "");
    assert_true(request.is_incomplete);
    /* until the command ended */
    assert_true(request.elapsed_s <= (double)(end - start) / NS_PER_S);
    assert_int_equal(runs_count(fakes.runs), 0);
}

static void test_end_while_an_account_waits(void **state)
{
    struct request request;

    (void)state;
    request_start(&request, USER, 10);
    wait_for_answer(&request);
    fakes.processes = 1;
    request_end(&request);
    stop_runs();
    assert_int_equal(request.answers, 1);
    assert_string_equal(request.error, "the run is not counted any more");
    start_runs();
}

static size_t list_tasks(uint32_t step, uint32_t *pids, size_t max, void *arg)
{
    size_t n = runs_tasks(fakes.runs, step, pids, max);

    (void)arg;
    fakes.task = n ? pids[0] : 0;
    return n;
}

/* A mount that only the client sees, because the command has no task any more. Returns the process
 * whose mounts were read. */
static uint32_t end_with_private_mount(pid_t pid)
{
    struct request request;

    request_start(&request, USER, pid);
    wait_for_answer(&request);
    fake_probe_sight(rig.probe, (uint32_t)pid, PRIVATE, "tmpfs")->pid = 999999;
    fakes.task = 0;
    fakes.peers_are_others = fakes.client_is_other;
    request_end(&request);
    wait_for_answer(&request);
    assert_string_equal(request.error, "");
    return fakes.task;
}

static void test_client_knows_mounts(void **state)
{
    (void)state;
    sampler_set_tasks(rig.sampler, list_tasks, NULL);
    assert_int_equal(end_with_private_mount(10), 10);
    fakes.client_is_other = true;
    assert_int_equal(end_with_private_mount(11), 0);
}

/* A client that can count by itself. */
static void test_strict_client_is_refused(void **state)
{
    struct request request;

    (void)state;
    request_run(&request, 0, 10, true);
    wait_for_answer(&request);
    assert_string_equal(request.error, "");
    end_run(&request);
    stop_runs();
    fakes.backend_is_forced = true;
    start_runs();
    request_run(&request, 0, 11, true);
    assert_string_equal(request.error, "the backend is the one that jobio.conf names");
    request_start(&request, 0, 11);
    wait_for_answer(&request);
    assert_string_equal(request.error, "");
    end_run(&request);
    stop_runs();
    fakes.backend_is_forced = false;
    start_runs();
    fake_probe_go_blind(rig.probe, "no BTF");
    request_run(&request, 0, 12, true);
    assert_string_equal(request.error, "nothing is counted: no BTF");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, runs_rig_setup, runs_rig_teardown)

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
        TEST(test_next_process_after_a_reuse),
        TEST(test_next_process_after_two_restarts),
        TEST(test_next_process_knows_what_was_missed),
        TEST(test_next_process_knows_survivors),
        TEST(test_orphan_is_counted_as_long_as_it_has_processes),
        TEST(test_end_of_the_command),
        TEST(test_next_process_without_counters),
        TEST(test_account_waits_for_processes_that_end),
        TEST(test_account_does_not_wait_for_ever),
        TEST(test_end_while_an_account_waits),
        TEST(test_client_knows_mounts),
        TEST(test_strict_client_is_refused),
    };

    return cmocka_run_group_tests(tests, rig_make_proc, rig_remove_proc);
}
