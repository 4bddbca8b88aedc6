/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/track/tracker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/cgroup/users.h"
#include "collector/mpi/watcher.h"
#include "collector/probe/block.h"
#include "collector/probe/probe.h"
#include "collector/track/accounts.h"
#include "collector/track/end.h"
#include "collector/track/job_files.h"
#include "collector/track/late_tag.h"
#include "collector/track/missed_record.h"
#include "collector/track/records.h"
#include "collector/track/start.h"
#include "collector/track/tracker_state.h"
#include "collector/track/step_files.h"
#include "collector/track/step_block.h"
#include "collector/track/step_mpi.h"
#include "collector/track/step_stacks.h"
#include "collector/track/step_trace.h"
#include "collector/stacks/watcher.h"
#include "collector/trace/tracer.h"
#include "collector/track/stored_steps.h"
#include "collector/track/untagged.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

/* How long the programs stay attached to MPI for the next job that wants it. */
#define MPI_LINGER_NS (10 * NS_PER_MINUTE)
/* How long a job without steps waits for its epilog: after its extern or batch step, whose end is
 * that of the job, and without one, when the next step may come after a long pause. */
#define IDLE_AFTER_LAST_STEP NS_PER_MINUTE
#define IDLE NS_PER_HOUR
/* Ticks between two sweeps of the maps while there are jobs. */
#define SWEEP_TICKS 60

/* --- start and stop --------------------------------------------------------------------------- */

static int open_dir(const char *parent, const char *name, struct error *error)
{
    _close_ int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd;

    if (dir < 0)
        return error_errno(error, -errno, "cannot open %s", parent);
    if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "cannot make %s/%s", parent, name);
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? error_errno(error, -errno, "cannot open %s/%s", parent, name) : fd;
}

void tracker_destroy(struct tracker *tracker)
{
    if (!tracker)
        return;
    while (tracker->jobs.n)
        jobs_remove(&tracker->jobs, tracker->jobs.items[0]);
    free(tracker->jobs.items);
    mpi_watcher_destroy(tracker->mpi);
    block_probe_destroy(tracker->block);
    tracer_destroy(tracker->tracer);
    steps_stacks_destroy(tracker);
    free((char *)tracker->traces.path);
    free(tracker->cluster);
    free(tracker->node);
    free(tracker->missed);
    stored_steps_clear(tracker);
    users_destroy(tracker->users);
    io_mounts_clear(&tracker->totals);
    cleanup_close(&tracker->steps_fd);
    cleanup_close(&tracker->jobs_fd);
    free(tracker);
}
DEFINE_CLEANUP(struct tracker, tracker_destroy)

static int create_tracer(struct tracker *tracker, const struct tracker_options *options,
                         struct error *error)
{
    if (!options->state_dir)
        return 0;
    tracker->traces = options->trace_directory;
    tracker->traces.path = text_format("%s/traces", options->state_dir);
    if (!tracker->traces.path)
        return error_set(error, -ENOMEM, "no memory for the tracker");
    if (!options->traces) /* those of earlier steps are swept */
        return 0;
    return tracer_create(&tracker->tracer, options->probe, &options->trace_limits, error);
}

int tracker_create(struct tracker **ret, const struct tracker_options *options,
                   const struct tracker_hooks *hooks, struct error *error)
{
    CLEANUP(tracker_destroyp) struct tracker *tracker = calloc(1, sizeof(*tracker));
    int r;

    if (!tracker)
        return error_set(error, -ENOMEM, "no memory for the tracker");
    tracker->steps_fd = tracker->jobs_fd = -1;
    tracker->cluster = strdup(options->cluster);
    tracker->node = strdup(options->node);
    if (!tracker->cluster || !tracker->node)
        return error_set(error, -ENOMEM, "no memory for the tracker");
    tracker->interval_ns = options->interval_ns;
    tracker->rows_ns = options->rows_ns;
    tracker->drop_gap_ns = options->drop_gap_ns;
    tracker->sinks = options->sinks;
    tracker->peers = options->peers;
    tracker->probe = options->probe;
    tracker->sampler = options->sampler;
    tracker->hierarchy = options->hierarchy;
    tracker->all_mpi = options->all_mpi;
    tracker->hooks = *hooks;
    if (options->mpi || options->all_mpi) {
        tracker->mpi = mpi_watcher_create(options->probe,
                                          options->all_mpi ? MPI_WATCHER_ALWAYS : MPI_LINGER_NS);
        if (!tracker->mpi)
            return error_set(error, -ENOMEM, "no memory for the tracker");
    }
    if (options->block)
        steps_block_create(tracker);
    r = create_tracer(tracker, options, error);
    if (r == 0)
        r = steps_stacks_create(tracker, options, error);
    if (r == 0)
        r = users_create(&tracker->users, NULL, error);
    if (r < 0)
        return r;
    tracker->steps_fd = open_dir(options->runtime_dir, "steps", error);
    if (tracker->steps_fd < 0)
        return tracker->steps_fd;
    tracker->jobs_fd = open_dir(options->runtime_dir, "jobs", error);
    if (tracker->jobs_fd < 0)
        return tracker->jobs_fd;
    *ret = TAKE_PTR(tracker);
    return 0;
}

void tracker_attach(struct tracker *tracker, struct writer *writer)
{
    if (!writer)
        steps_stacks_stop(tracker);
    tracker->writer = writer;
    for (size_t i = 0; writer && i < tracker->jobs.n; i++)
        job_save(tracker->jobs.items[i]);
}

/* --- messages --------------------------------------------------------------------------------- */

/* The next jobiod would not find the step, or would not know that it was tagged late. */
static bool needs_row(const struct step *step)
{
    char name[TAG_FILE_SIZE];

    tag_file_name(name, step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step);
    return !step->has_row &&
           (step->unconfirmed || faccessat(step->job->tracker->steps_fd, name, F_OK, 0) < 0);
}

int tracker_tag(struct tracker *tracker, const struct tag *tag, struct error *error)
{
    const struct step_ids ids = {tag->jobid, tag->restart, tag->het, tag->step};
    struct step *step;
    int r;

    if (tag->node && strcmp(tag->node, tracker->node) != 0 && log_allowed("node", 3600, NULL))
        tracker_log(tracker, LOG_LEVEL_WARNING,
                    "Slurm calls this node %s, and jobiod calls it %s: set \"node = %s\" in "
                    "jobio.conf",
                    tag->node, tracker->node, tag->node);
    /* Not from step files: a step may have started before the plugin was upgraded. */
    memcpy(tracker->plugin, tag->plugin, sizeof(tracker->plugin));
    r = step_start(tracker, tag, error);
    step = r < 0 ? NULL : jobs_find_step(&tracker->jobs, &ids);
    if (step && needs_row(step))
        job_save_provisional(step->job);
    return r;
}

int tracker_end(struct tracker *tracker, uint32_t jobid, uint32_t restart, uint32_t het,
                uint32_t step_id, uint64_t ended_boot_ns, struct error *error)
{
    const struct step_ids ids = {jobid, restart, het, step_id};
    struct step *step = jobs_find_step(&tracker->jobs, &ids);
    char name[TAG_FILE_SIZE], text[16];

    if (!step || step->phase != PHASE_RUNNING) {
        tag_file_name(name, jobid, restart, het, step_id);
        step_file_track(tracker, name);
        step = jobs_find_step(&tracker->jobs, &ids);
    }
    if (!step && recent_steps_has(&tracker->recent, &ids, 0))
        return 0;
    if (!step)
        return error_set(error, -ENOENT, "step %u.%s was never tagged", jobid,
                         step_format(step_id, text));
    if (ended_boot_ns > clock_ns(CLOCK_BOOTTIME))
        ended_boot_ns = 0;
    step_end(step, STEP_ENDED, ended_boot_ns);
    return steps_close(tracker, error);
}

void tracker_task_exit(struct tracker *tracker, const struct job_key *key, uint32_t het,
                       uint32_t step)
{
    const struct step_ids ids = {key->jobid, key->restart, het, step};
    struct step *found = jobs_find_step(&tracker->jobs, &ids);

    if (!found)
        return;
    found->tasks_ended = true;
    late_tag_check(found, true);
}

enum tracker_progress tracker_progress(struct tracker *tracker, const struct job_key *key,
                                       uint32_t het, uint32_t step)
{
    const struct step_ids ids = {key->jobid, key->restart, het, step};
    const struct step *found = jobs_find_step(&tracker->jobs, &ids);

    if (!found)
        return recent_steps_has(&tracker->recent, &ids, 0) ? TRACKER_DONE : TRACKER_UNKNOWN;
    return found->phase == PHASE_RUNNING && !found->tasks_ended ? TRACKER_BUSY : TRACKER_DONE;
}

void tracker_describe(struct tracker *tracker, uint32_t jobid, const char *user,
                      const char *account, const char *partition)
{
    job_files_describe(tracker, jobid, user, account, partition);
}

void tracker_file(struct tracker *tracker, const char *name)
{
    step_file_track(tracker, name);
}

static bool is_of_job(const struct job *job, uint32_t jobid)
{
    return !job->over && job->sum->key.jobid == jobid;
}

int tracker_job_end(struct tracker *tracker, uint32_t jobid, struct error *error)
{
    int r;

    /* The plugin may not have reached jobiod. */
    step_files_scan(tracker);
    for (size_t i = 0; i < tracker->jobs.n; i++)
        if (is_of_job(tracker->jobs.items[i], jobid)) {
            tracker->jobs.items[i]->epilog_ran = true;
            job_end_gone_steps(tracker->jobs.items[i]);
        }
    r = steps_close(tracker, error);
    for (size_t i = 0; i < tracker->jobs.n; i++)
        if (is_of_job(tracker->jobs.items[i], jobid))
            job_finish(tracker->jobs.items[i]);
    /* For a job without steps here. If the same end is reported again after the prolog of the next
     * run, the file of that run must stay. */
    job_file_remove(tracker, jobid, recent_steps_last_run(&tracker->recent, jobid));
    return r;
}

/* --- the tick --------------------------------------------------------------------------------- */

static void finish_idle(struct job *job, uint64_t now)
{
    uint64_t limit = job->epilog_ran ? 0 : job->had_last_step ? IDLE_AFTER_LAST_STEP : IDLE;
    uint64_t since = job->last_end_boot_ns;

    if (now > since && now - since >= limit)
        job_finish(job);
}

static void tick_job(struct job *job, uint64_t now)
{
    (void)job_update_meter(job, now, true);
    for (size_t i = 0; i < job->n_steps; i++)
        late_tag_check(job->steps[i], false);
    job_file_read(job);
    finish_idle(job, now);
    job_save(job);
    job_save_provisional(job);
}

/* Sweep the maps rarely, and not in the tick in which steps are dropped. */
static void sweep(struct tracker *tracker)
{
    struct error error;
    int r;

    tracker->ticks_since_sweep++;
    if (!tracker->sweep_due || tracker->dropping ||
        (tracker->jobs.n && tracker->ticks_since_sweep < SWEEP_TICKS))
        return;
    r = probe_sweep(tracker->probe, &error);
    if (r < 0 && r != -EAGAIN)
        tracker_log(tracker, LOG_LEVEL_WARNING, "leftovers of ended steps stay in the kernel: %s",
                    error.text);
    tracker->sweep_due = r == -EAGAIN; /* otherwise after the end of the next step */
    tracker->ticks_since_sweep = 0;
}

/* The rows of all jobs are due at once: so they share a transaction, and the record of missed
 * events can follow them. */
static void schedule_rows(struct tracker *tracker)
{
    uint64_t age = tracker->read_at_ns - tracker->rows_due_ns;

    if (!tracker->rows_due_ns || age + tracker->interval_ns / 2 >= tracker->rows_ns)
        tracker->rows_due_ns = tracker->read_at_ns;
}

void tracker_make_rows_due(struct tracker *tracker)
{
    tracker->rows_due_ns = 0;
}

static void look_for_untagged(struct tracker *tracker)
{
    const struct untagged *untagged = &tracker->untagged;

    if (untagged_tick(&tracker->untagged, tracker->hierarchy, &tracker->jobs, &tracker->recent))
        tracker_log(tracker, LOG_LEVEL_WARNING,
                    "%zu steps run here that jobio's plugin has not tagged (%s): they are not "
                    "counted. Is jobio.so in the plugstack.conf of this node?",
                    untagged->n, untagged->example);
}

/* Log it once each time that it begins. */
static void note_growth(struct tracker *tracker)
{
    int growth = probe_growth(tracker->probe);

    if (growth < 0 && tracker->growth == 0)
        tracker_log(tracker, LOG_LEVEL_WARNING,
                    "cannot make room for more counters: %s; calls that find none are lost",
                    strerror(-growth));
    tracker->growth = growth;
}

int tracker_tick(struct tracker *tracker, struct error *error)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    int r;

    sweep(tracker);
    (void)stored_steps_drop(tracker, true);
    /* Find the steps that have ended before the reading, so that it is the last one for all. */
    step_files_scan(tracker);
    job_files_sweep(tracker);
    step_traces_sweep(tracker);
    steps_stacks_save(tracker);
    for (size_t i = 0; i < tracker->jobs.n; i++)
        if (!tracker->jobs.items[i]->over)
            job_end_gone_steps(tracker->jobs.items[i]);
    steps_mpi_scan(tracker);
    steps_block_sweep(tracker);
    r = tracker_read(tracker, true, error);
    note_growth(tracker);
    schedule_rows(tracker);
    if (!r)
        r = steps_close(tracker, error);
    for (size_t i = 0; i < tracker->jobs.n; i++)
        if (!tracker->jobs.items[i]->over)
            tick_job(tracker->jobs.items[i], now);
        else
            job_save(tracker->jobs.items[i]);
    if (!r)
        missed_record_save(tracker);
    look_for_untagged(tracker);
    return r;
}

int tracker_traces_fd(const struct tracker *tracker)
{
    return tracer_fd(tracker->tracer);
}

uint64_t tracker_traces_due(const struct tracker *tracker)
{
    return tracer_due(tracker->tracer);
}

int tracker_traces_read(struct tracker *tracker, struct error *error)
{
    return tracer_read(tracker->tracer, error);
}

int tracker_stacks_fd(const struct tracker *tracker)
{
    return stack_watcher_fd(tracker->stacks);
}

int tracker_stacks_work(struct tracker *tracker, struct error *error)
{
    return stack_watcher_work(tracker->stacks, error);
}

uint64_t tracker_settle(struct tracker *tracker)
{
    struct error error;

    if (steps_close(tracker, &error) < 0 && log_allowed("settle", 60, NULL))
        tracker_log(tracker, LOG_LEVEL_ERROR, "cannot close steps that have ended: %s", error.text);
    return stored_steps_drop(tracker, false);
}
