/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/runs_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/cgroup/peer.h"
#include "collector/track/tracker.h"
#include "common/clock.h"
#include "common/message.h"
#include "tests/unit/sampler_rig.h"

struct fakes fakes;

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
    const char *field;

    (void)cut;
    request->answers++;
    request->is_incomplete = strstr(text, "still-running") || strstr(text, "recursion-missed");
    field = strstr(text, "\"elapsed_s\":");
    assert_non_null(field);
    request->elapsed_s = strtod(field + strlen("\"elapsed_s\":"), NULL);
    free(text);
}

int tracker_covers(struct tracker *tracker, pid_t pid, const char *path, uint32_t *jobid,
                   struct error *error)
{
    (void)tracker, (void)pid, (void)path, (void)error;
    *jobid = fakes.covered_by_job ? 7 : 0;
    return 0;
}

int peer_open(pid_t pid, uid_t uid, struct error *error)
{
    int fds[2];

    (void)pid, (void)uid, (void)error;
    if (fakes.peers_are_others || fakes.peers_are_gone)
        return fakes.peers_are_gone ? -ESRCH : -EPERM;
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
    fakes.checked = pid;
    return fakes.checks_fail ? error_set(error, -EAGAIN, "an older process") : 0;
}

struct peer_owners peer_owners(pid_t pid)
{
    (void)pid;
    return (struct peer_owners){PEER_NO_OWNER, fakes.namespace_owner};
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
    return fakes.cgroups_are_gone ? error_set(error, -ENOENT, "there is no such cgroup") : 0;
}

int hierarchy_of(pid_t pid, char buf[512], struct error *error)
{
    (void)error;
    strcpy(buf, fakes.paths_are_new ? fakes.paths[pid % MOVES] : "/user");
    return 0;
}

size_t hierarchy_processes(struct hierarchy *hierarchy, const char *path)
{
    (void)hierarchy, (void)path;
    return ++fakes.checks > fakes.ended_by && fakes.ended_by ? 0 : fakes.processes;
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
    (void)sem_post(&fakes.started);
    if (sem_timedwait(&fakes.go, &at) < 0)
        fakes.fault = "waited too long";
}

int hierarchy_enclose(struct hierarchy *hierarchy, pid_t pid, const char *name,
                      struct hierarchy_leaf *ret, struct error *error)
{
    (void)hierarchy, (void)error;
    if (pthread_equal(pthread_self(), fakes.thread))
        fakes.fault = "the loop moved a process";
    if (fakes.checked != pid)
        fakes.fault = "the number was not checked right before the move";
    fakes.checked = 0;
    if (fakes.moves_wait)
        wait_for_go();
    fakes.moved[fakes.n_moved++ % MOVES] = pid;
    (void)snprintf(ret->path, sizeof(ret->path), "/user/%s", name);
    (void)snprintf(fakes.paths[pid % MOVES], sizeof(fakes.paths[pid % MOVES]), "/user/%s/below",
                   name);
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
    fakes.drops++;
    if (fakes.drops_wait)
        wait_for_go();
}

/* --- helpers ---------------------------------------------------------------------------------- */

void start_runs(void)
{
    const struct runs_options options = {.cluster = "c",
                                         .runtime_dir = fakes.directory,
                                         .is_backend_forced = fakes.backend_is_forced,
                                         .probe = rig.probe,
                                         .sampler = rig.sampler};

    rig_must(runs_create(&fakes.runs, fakes.loop, &options, &rig.error));
    fakes.paths_are_new = true;
    runs_adopt(fakes.runs);
    fakes.paths_are_new = false;
}

void stop_runs(void)
{
    runs_destroy(fakes.runs);
    fakes.runs = NULL;
}

int runs_rig_setup(void **state)
{
    memset(&fakes, 0, sizeof(fakes));
    fakes.namespace_owner = PEER_NO_OWNER;
    fakes.thread = pthread_self();
    (void)sem_init(&fakes.started, 0, 0);
    (void)sem_init(&fakes.go, 0, 0);
    strcpy(fakes.directory, "/tmp/jobio-test-runs-XXXXXX");
    assert_non_null(mkdtemp(fakes.directory));
    assert_int_equal(rig_setup(state), 0);
    fake_probe_set_wait(rig.probe, wait_for_programs, NULL);
    assert_true(sd_event_new(&fakes.loop) >= 0);
    start_runs();
    return 0;
}

int runs_rig_teardown(void **state)
{
    char name[64];

    stop_runs();
    fakes.cgroups_are_gone = true;
    start_runs();
    assert_int_equal(runs_count(fakes.runs), 0);
    stop_runs();
    sd_event_unref(fakes.loop);
    if (fakes.fault)
        fail_msg("%s", fakes.fault);
    (void)snprintf(name, sizeof(name), "%s/runs", fakes.directory);
    assert_int_equal(rmdir(name), 0); /* no file of a run is left */
    assert_int_equal(rmdir(fakes.directory), 0);
    return rig_teardown(state);
}

void request_run(struct request *request, uid_t uid, pid_t pid, bool strict)
{
    struct message *m = malloc(sizeof(*m));

    assert_non_null(m);
    message_init(m, "run-begin");
    if (strict)
        assert_int_equal(message_put_u64(m, "STRICT", 1), 0);
    *request = (struct request){.uid = uid, .pid = pid};
    runs_start(fakes.runs, request, m);
    free(m);
}

void request_start(struct request *request, uid_t uid, pid_t pid)
{
    request_run(request, uid, pid, false);
}

void request_end(struct request *request)
{
    struct message *m = malloc(sizeof(*m));

    assert_non_null(m);
    message_init(m, "run-end");
    assert_int_equal(message_put_u64(m, "RUN", request->run), 0);
    assert_int_equal(message_put_u64(m, "ENDED_AGO", request->ago_ns), 0);
    request->answers = 0;
    runs_end(fakes.runs, request, m);
    free(m);
}

void end_run(struct request *request)
{
    if (*request->error)
        return;
    request_end(request);
    assert_string_equal(request->error, "");
    assert_int_equal(request->answers, 1);
}

void wait_for_answer(const struct request *request)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);

    while (!request->answers && clock_ns(CLOCK_MONOTONIC) - start < 10 * NS_PER_S)
        assert_true(sd_event_run(fakes.loop, 100000) >= 0);
    assert_int_equal(request->answers, 1);
}
