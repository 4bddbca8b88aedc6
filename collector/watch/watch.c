/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/watch/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/watch/cgroup.h"
#include "collector/watch/mpi.h"
#include "collector/cgroup/hierarchy.h"
#include "collector/mounts/mounts.h"
#include "collector/probe/block.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/probe/selftest.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* How long to wait for processes that end together with the command, as in a pipeline. */
#define GRACE_MS 100
/* On any counted file system. */
#define SELFTEST_DIRECTORY "/run"

struct watch {
    uint64_t interval_ns, due_ns;
    struct cgroup *cgroup;
    struct probe *probe;
    struct mounts *mounts;
    struct sampler *sampler;
    struct watch_mpi *mpi;     /* NULL: not counted */
    struct block_probe *block; /* the same */
    struct tracer *tracer;     /* NULL: there is no trace */
    enum trace_of trace_of;
    bool trace_paths;
    struct stack_recorder *stacks; /* NULL: no stacks are recorded */
    bool more_stacks;              /* there may be some that can be read */
    uint32_t step;
};

int watch_leave(struct watch *watch, struct error *error)
{
    return cgroup_remove(watch->cgroup, error);
}

static uint64_t boot_ns(void)
{
    return clock_ns(CLOCK_BOOTTIME);
}

void watch_destroy(struct watch *watch)
{
    if (!watch)
        return;
    sampler_destroy(watch->sampler);
    mounts_destroy(watch->mounts);
    if (watch->probe)
        probe_linger(watch->probe, cgroup_top(watch->cgroup));
    watch_mpi_destroy(watch->mpi);
    block_probe_destroy(watch->block);
    tracer_destroy(watch->tracer);
    stack_recorder_destroy(watch->stacks);
    probe_destroy(watch->probe);
    cgroup_destroy(watch->cgroup);
    free(watch);
}
DEFINE_CLEANUP(struct watch, watch_destroy)

/* As sampler_tasks_f. Includes this process: the command started in its mount namespace, which may
 * not be the host's nor have a live task of the command. */
static size_t list_tasks(uint32_t step, uint32_t *pids, size_t max, void *arg)
{
    const struct watch *watch = arg;
    size_t n = cgroup_tasks(watch->cgroup, pids, max - 1);

    (void)step;
    pids[n++] = (uint32_t)getpid();
    return n;
}

/* Test what is counted and what a counted call costs. The calls belong to a step of their own,
 * which is removed before the command starts. What cannot be tested is assumed to work. */
static void test_probe(struct probe *probe)
{
    struct hierarchy *hierarchy = NULL;
    struct selftest test;

    if (hierarchy_create(&hierarchy, "/proc/self/mountinfo", NULL) == 0 &&
        selftest_run(probe, hierarchy, SELFTEST_DIRECTORY, &test, NULL) == 0)
        probe_tested(probe, test.failed, test.ns_per_event);
    hierarchy_destroy(hierarchy);
}

int watch_create(struct watch **ret, const struct watch_options *options, struct error *error)
{
    const struct probe_options how = {.max_steps = 1,
                                      .spans = options->limits,
                                      .long_ns = options->stacks ? options->stacks->least_ns : 0};
    CLEANUP(watch_destroyp) struct watch *watch = calloc(1, sizeof(*watch));
    int rc;

    if (!watch)
        return error_errno(error, -ENOMEM, "count the command");
    watch->interval_ns = options->interval_ns;
    watch->trace_of = options->trace_of;
    watch->trace_paths = options->trace_paths;
    rc = cgroup_create(&watch->cgroup, error);
    if (rc == 0)
        rc = probe_create(&watch->probe, &how, error);
    if (rc == 0)
        test_probe(watch->probe);
    if (rc == 0)
        rc = mounts_create(&watch->mounts, "/proc", error);
    if (rc == 0)
        rc = sampler_create(&watch->sampler, watch->probe, watch->mounts, options->interval_ns,
                            error);
    if (rc == 0 && options->limits)
        rc = tracer_create(&watch->tracer, watch->probe, options->limits, error);
    if (rc == 0 && options->stacks)
        rc = stack_recorder_create(&watch->stacks, watch->probe, options->stacks, error);
    if (rc < 0)
        return rc;
    sampler_set_tasks(watch->sampler, list_tasks, watch);
    *ret = TAKE_PTR(watch);
    return 0;
}

int watch_add_mpi(struct watch *watch, struct error *error)
{
    return watch_mpi_create(&watch->mpi, watch->probe, watch->cgroup, error);
}

int watch_add_block(struct watch *watch, struct error *error)
{
    return block_probe_create(&watch->block, watch->probe, error);
}

static int start_trace(struct watch *watch, struct error *error)
{
    const struct tracer_step step = {.number = watch->step,
                                     .uid = getuid(),
                                     .cgroup_id = cgroup_id(watch->cgroup),
                                     .cgroup_version = 2,
                                     .of = watch->trace_of,
                                     .paths = watch->trace_paths};

    return tracer_start(watch->tracer, &step, error);
}

bool watch_is_detaching(uint64_t before_ns)
{
    return probe_is_lingering(before_ns);
}

int watch_start(struct watch *watch, pid_t pid, struct error *error)
{
    const struct cgroup *cgroup = watch->cgroup;
    uint64_t now;
    int rc =
        probe_add(watch->probe, cgroup_id(cgroup), cgroup_level(cgroup), 2, &watch->step, error);

    if (rc == 0)
        rc = watch_mpi_start(watch->mpi, watch->step, error);
    if (rc == 0 && watch->block)
        rc = block_probe_add(watch->block, watch->step, false, error);
    if (rc == 0 && watch->tracer)
        rc = start_trace(watch, error);
    if (rc == 0 && watch->stacks)
        rc = stack_recorder_start(watch->stacks, watch->step, error);
    if (rc == 0)
        rc = cgroup_enter(cgroup, pid, error);
    if (rc < 0)
        return rc;
    /* Last, because moving a process can take tens of milliseconds. */
    now = boot_ns();
    watch->due_ns = now + watch->interval_ns;
    return sampler_add(watch->sampler, watch->step, now, clock_ns(CLOCK_REALTIME), NULL, error);
}

/* Rounded up, so that a reading is never early. */
static int ms_until(uint64_t due_ns, uint64_t now)
{
    uint64_t ms = due_ns <= now ? 0 : (due_ns - now - 1) / NS_PER_MS + 1;

    return ms > 60000 ? 60000 : (int)ms;
}

static int ms_to_wait(const struct watch *watch)
{
    int reading = ms_until(watch->due_ns, boot_ns());
    uint64_t due = watch_mpi_due(watch->mpi), trace = tracer_due(watch->tracer);
    int look = ms_until(due < trace ? due : trace, clock_ns(CLOCK_MONOTONIC));

    if (watch->more_stacks)
        return 0;
    return reading < look ? reading : look;
}

static int read_stacks(struct watch *watch, struct error *error)
{
    int rc = stack_recorder_read(watch->stacks, error);

    watch->more_stacks = rc > 0;
    return rc < 0 ? rc : 0;
}

int watch_wait(struct watch *watch, int other_fd, struct error *error)
{
    struct pollfd polls[] = {
        {.fd = other_fd, .events = POLLIN},
        {.fd = probe_fd(watch->probe), .events = POLLIN},
        {.fd = mounts_fd(watch->mounts), .events = POLLPRI},
        {.fd = watch_mpi_fd(watch->mpi), .events = POLLIN},
        {.fd = tracer_fd(watch->tracer), .events = POLLIN},
        {.fd = stack_recorder_fd(watch->stacks), .events = POLLIN},
    };

    for (;;) {
        uint64_t now = boot_ns();
        int rc = 0;

        if (now >= watch->due_ns) {
            rc = sampler_read(watch->sampler, now, error);
            if (watch->mpi)
                watch_mpi_scan(watch->mpi, watch->step);
            watch->due_ns = now + watch->interval_ns;
        }
        if (rc < 0)
            return rc;
        if (poll(polls, ARRAY_SIZE(polls), ms_to_wait(watch)) < 0) {
            if (errno == EINTR)
                continue;
            return error_errno(error, -errno, "wait for the command");
        }
        rc = read_stacks(watch, error); /* first: see recorder.h */
        if (rc == 0 && polls[2].revents)
            rc = mounts_refresh(watch->mounts, error);
        if (rc == 0 && polls[1].revents)
            rc = sampler_name_new_mounts(watch->sampler, error);
        if (rc == 0 && watch->mpi)
            rc = watch_mpi_look(watch->mpi, error);
        if (rc == 0)
            rc = tracer_read(watch->tracer, error);
        if (rc < 0 || polls[0].revents)
            return rc;
    }
}

int watch_trace(struct watch *watch, struct trace *ret, struct error *error)
{
    int rc = tracer_finish(watch->tracer, watch->step, ret, error);

    for (size_t i = 0; rc == 0 && i < ret->n_spans; i++) {
        struct span *span = &ret->spans[i];

        if (span->kind != SPAN_REQUEST)
            continue;
        span->mount = trace_mount(ret, mounts_find(watch->mounts, watch->step, span->dev).mount);
        if (!span->mount)
            rc = error_errno(error, -ENOMEM, "trace the command");
    }
    return rc;
}

int watch_stacks(struct watch *watch, struct stack_profile *ret, struct error *error)
{
    return stack_recorder_finish(watch->stacks, ret, error);
}

static int read_block(const struct watch *watch, struct step_account *step, struct error *error)
{
    step->block = calloc(1, sizeof(*step->block));
    if (!step->block)
        return -ENOMEM;
    return block_probe_read(watch->block, watch->step, step->block, error);
}

int watch_end(struct watch *watch, struct job_account *job, struct error *error)
{
    struct step_account step = {.het = HET_NONE, .state = STEP_ENDED};
    uint64_t now = boot_ns();
    size_t survivors = cgroup_processes(watch->cgroup, GRACE_MS);
    int rc;

    /* The account shows mounts that have no name. */
    (void)sampler_name_new_mounts(watch->sampler, NULL);
    rc = sampler_finish(watch->sampler, watch->step, now, error);
    if (rc < 0)
        return error_prefix(error, rc, "the last reading");
    if (survivors)
        rc = sampler_mark_incomplete(watch->sampler, watch->step, "still-running", survivors, 0);
    if (rc == 0 && watch->block)
        rc = read_block(watch, &step, error);
    if (rc == 0 && survivors && step.block)
        step.block->incomplete = true;
    if (rc == 0 && watch->mpi)
        rc = watch_mpi_read(watch->mpi, watch->step, &job->mpi, error);
    if (rc == 0)
        rc = sampler_account(watch->sampler, watch->step, &step);
    if (rc == 0)
        rc = job_account_add_step(job, &step);
    if (rc == 0) {
        job->elapsed_ns = step.elapsed_ns;
        job->unsupported = probe_unsupported(watch->probe);
        job->ns_per_event = probe_ns_per_event(watch->probe);
    }
    step_account_clear(&step);
    return rc < 0 ? error_errno(error, rc, "read the account of the command") : 0;
}
