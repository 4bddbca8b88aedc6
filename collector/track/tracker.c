/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/track/tracker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/records.h"
#include "collector/cgroup/hierarchy.h"
#include "collector/cgroup/users.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/store/store.h"
#include "collector/track/tracker_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define SECOND 1000000000ull

/* How long a job without steps waits for its epilog: with an extern step, whose end is that of the
 * job, and without one, when the next step may come after a long pause. */
#define IDLE_WITH_EXTERN (60 * SECOND)
#define IDLE (3600 * SECOND)
/* Ticks between two sweeps of the maps while there are jobs. */
#define SWEEP_TICKS 60

/* --- life ------------------------------------------------------------------------------------- */

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
    while (tracker->n_jobs)
        tracked_remove_job(tracker->jobs[0]);
    free(tracker->jobs);
    free(tracker->cluster);
    free(tracker->node);
    free(tracker->missed);
    tracked_free_marks(tracker);
    names_destroy(tracker->names);
    io_mounts_clear(&tracker->totals);
    cleanup_close(&tracker->steps_fd);
    cleanup_close(&tracker->jobs_fd);
    free(tracker);
}
DEFINE_CLEANUP(struct tracker, tracker_destroy)

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
    tracker->hooks = *hooks;
    r = names_create(&tracker->names, NULL, error);
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
    tracker->writer = writer;
    for (size_t i = 0; writer && i < tracker->n_jobs; i++)
        tracked_save(tracker->jobs[i]);
}

/* --- tags ------------------------------------------------------------------------------------- */

/* Put the cgroup into the map. If the user's code may have begun before, and the plugin did not do
 * it itself, say so. */
static int begin_counting(struct tracker *tracker, const struct tag *tag, uint32_t *number,
                          bool *untracked, struct error *error)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    bool late = now > tracked_deadline(tag);
    int r;

    *number = step_number(tag->cgroup_id, tag->version);
    *untracked = late && !probe_has(tracker->probe, tag->cgroup_id, tag->version);
    r = hierarchy_check(tracker->hierarchy, tag->version, tag->cgroup, tag->cgroup_id, error);
    if (r < 0)
        return r;
    return probe_add(tracker->probe, tag->cgroup_id, tag->level, tag->version, NULL, error);
}

int tracked_follow(struct tracker *tracker, struct tag *tag, uint32_t number,
                   const struct step_account *before, struct tracked_step **ret,
                   struct error *error)
{
    struct tracked_job *job;
    struct tracked_step *step;
    /* First, because it may refuse: no job is left behind without a step. */
    int r = sampler_add(tracker->sampler, number, tag->tagged_boot_ns, tag->tagged_at_ns, before,
                        error);

    if (r < 0)
        return r;
    job = tracked_get_job(tracker, tag);
    step = job ? tracked_add_step(job, tag) : NULL;
    if (!step) {
        sampler_forget(tracker->sampler, number);
        return error_set(error, -ENOMEM, "no memory for a step");
    }
    step->number = number;
    *ret = step;
    return 0;
}

static int copy_tag(const struct tag *from, struct tag *ret)
{
    *ret = *from;
    ret->cgroup = strdup(from->cgroup);
    ret->node = from->node ? strdup(from->node) : NULL;
    ret->name = from->name ? strdup(from->name) : NULL;
    if (ret->cgroup && (ret->node || !from->node) && (ret->name || !from->name))
        return 0;
    tag_clear(ret);
    return -ENOMEM;
}

/* A step of a job that is over waits here, with its files, until the store has taken it. */
static bool waits_for_store(struct tracker *tracker, const struct tag *tag)
{
    for (size_t i = 0; i < tracker->n_jobs; i++) {
        struct tracked_job *job = tracker->jobs[i];
        const struct tracked_step *step = NULL;

        if (job->over && job->sum->key.jobid == tag->jobid && job->sum->key.restart == tag->restart)
            step = tracked_find_step(job, tag->het, tag->step);
        if (step && step->tag.cgroup_id == tag->cgroup_id && step->tag.version == tag->version &&
            step->tag.tagged_at_ns == tag->tagged_at_ns)
            return true;
    }
    return false;
}

/* tagged_at_ns 0: whenever it was tagged. */
static bool is_recent(const struct tracker *tracker, const struct step_ids *ids,
                      uint64_t tagged_at_ns)
{
    for (size_t i = 0; i < RECENT_STEPS && i < tracker->n_recent; i++) {
        const struct recent_step *recent = &tracker->recent[i];

        if (!memcmp(&recent->ids, ids, sizeof(*ids)) &&
            (!tagged_at_ns || recent->tagged_at_ns == tagged_at_ns))
            return true;
    }
    return false;
}

/* A TAG that was read after its END: counted again, it would replace the row that is final. */
static bool is_over(const struct tracker *tracker, const struct tag *tag)
{
    const struct step_ids ids = {tag->jobid, tag->restart, tag->het, tag->step};

    return tag->tagged_at_ns && is_recent(tracker, &ids, tag->tagged_at_ns);
}

bool tracked_is_tagged(struct tracker *tracker, const struct tag *tag)
{
    struct tracked_job *job = tracked_find_job(tracker, tag->jobid, tag->restart);
    struct tracked_step *step = job ? tracked_find_step(job, tag->het, tag->step) : NULL;

    if (waits_for_store(tracker, tag) || is_over(tracker, tag))
        return true;
    if (!step)
        return false;
    if (step->tag.cgroup_id == tag->cgroup_id && step->tag.version == tag->version)
        return true;
    tracked_end(step, STEP_VANISHED, 0);
    return false;
}

int tracker_tag(struct tracker *tracker, const struct tag *tag, struct error *error)
{
    CLEANUP(tag_clear) struct tag copy = {0};
    struct tracked_step *step;
    uint32_t number;
    bool untracked;
    int r;

    if (tag->node && strcmp(tag->node, tracker->node) != 0 && log_allowed("node", 3600, NULL))
        tracker_say(tracker, LOG_LEVEL_WARNING,
                    "Slurm calls this node %s, and we %s: set \"node = %s\" in jobio.conf",
                    tag->node, tracker->node, tag->node);
    if (tracked_is_tagged(tracker, tag))
        return 0;
    r = begin_counting(tracker, tag, &number, &untracked, error);
    if (r < 0)
        return r;
    r = copy_tag(tag, &copy);
    if (r < 0)
        return error_set(error, r, "no memory for a step");
    r = tracked_follow(tracker, &copy, number, NULL, &step, error);
    if (r < 0)
        return r;
    if (untracked)
        tracked_doubt(step);
    return 0;
}

/* --- ends ------------------------------------------------------------------------------------- */

int tracker_end(struct tracker *tracker, uint32_t jobid, uint32_t restart, uint32_t het,
                uint32_t step_id, uint64_t ended_boot_ns, struct error *error)
{
    const struct step_ids ids = {jobid, restart, het, step_id};
    struct tracked_step *step = tracked_find_any(tracker, &ids);
    char name[TAG_FILE_SIZE], text[16];

    if (!step || step->state != TRACKED_RUNNING) {
        tag_file_name(name, jobid, restart, het, step_id);
        tracker_file(tracker, name);
        step = tracked_find_any(tracker, &ids);
    }
    if (!step && is_recent(tracker, &ids, 0))
        return 0;
    if (!step)
        return error_set(error, -ENOENT, "step %u.%s was never tagged", jobid,
                         step_format(step_id, text));
    if (ended_boot_ns > clock_ns(CLOCK_BOOTTIME))
        ended_boot_ns = 0;
    tracked_end(step, STEP_ENDED, ended_boot_ns);
    return tracked_close(tracker, error);
}

static struct tracked_step *find_step(struct tracker *tracker, const struct job_key *key,
                                      uint32_t het, uint32_t step)
{
    const struct step_ids ids = {key->jobid, key->restart, het, step};

    return tracked_find_any(tracker, &ids);
}

void tracker_task_exit(struct tracker *tracker, const struct job_key *key, uint32_t het,
                       uint32_t step)
{
    struct tracked_step *found = find_step(tracker, key, het, step);

    if (found)
        found->tasks_ended = true;
}

enum tracker_progress tracker_progress(struct tracker *tracker, const struct job_key *key,
                                       uint32_t het, uint32_t step)
{
    const struct step_ids ids = {key->jobid, key->restart, het, step};
    const struct tracked_step *found = tracked_find_any(tracker, &ids);

    if (!found)
        return is_recent(tracker, &ids, 0) ? TRACKER_DONE : TRACKER_UNKNOWN;
    return found->state == TRACKED_RUNNING && !found->tasks_ended ? TRACKER_BUSY : TRACKER_DONE;
}

static void set_text(char **field, const char *value)
{
    char *copy = value && *value ? strdup(value) : NULL;

    if (!copy)
        return;
    free(*field);
    *field = copy;
}

int tracker_describe(struct tracker *tracker, uint32_t jobid, const char *user, const char *account,
                     const char *partition, struct error *error)
{
    (void)error;
    for (size_t i = 0; i < tracker->n_jobs; i++) {
        struct job_account *sum = tracker->jobs[i]->sum;

        if (sum->key.jobid != jobid)
            continue;
        tracker->jobs[i]->described = true;
        tracked_learn_nodes(tracker->jobs[i]);
        set_text(&sum->user, user);
        set_text(&sum->account, account);
        set_text(&sum->partition, partition);
    }
    return 0;
}

/* Ticks without a process before a step counts as vanished: two, and five seconds. */
static unsigned patience(const struct tracker *tracker)
{
    uint64_t ticks = 5 * SECOND / tracker->interval_ns;

    return ticks < 2 ? 2 : (unsigned)ticks;
}

/* Is there anybody left who could do I/O or say that the step has ended? */
static bool is_gone(struct tracker *tracker, struct tracked_step *step)
{
    const struct tag *tag = &step->tag;
    int r = hierarchy_check(tracker->hierarchy, tag->version, tag->cgroup, tag->cgroup_id, NULL);

    if (r == -ENOENT || r == -ESTALE)
        return true;
    if (!hierarchy_is_deserted(tracker->hierarchy, tag->version, tag->cgroup)) {
        step->deserted = 0;
        return false;
    }
    step->deserted++;
    return step->job->ending || step->deserted >= patience(tracker);
}

static void end_gone_steps(struct tracked_job *job)
{
    struct tracker *tracker = job->tracker;
    char name[TAG_FILE_SIZE], text[16];

    for (size_t i = 0; i < job->n_steps; i++) {
        struct tracked_step *step = job->steps[i];
        uint64_t ended_boot;

        if (step->state != TRACKED_RUNNING || !is_gone(tracker, step))
            continue;
        tag_file_name(name, step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step);
        ended_boot = tag_ended_boot(tracker->steps_fd, name);
        if (!ended_boot)
            tracker_say(tracker, LOG_LEVEL_WARNING, "step %u.%s vanished without an end",
                        step->tag.jobid, step_format(step->tag.step, text));
        tracked_end(step, ended_boot ? STEP_ENDED : STEP_VANISHED, ended_boot);
    }
}

/* The run of the job that ended here a short while ago; UINT32_MAX: none did. */
static uint32_t last_run(const struct tracker *tracker, uint32_t jobid)
{
    uint32_t last = 0;
    bool found = false;

    for (size_t i = 0; i < RECENT_STEPS && i < tracker->n_recent; i++) {
        const struct step_ids *ids = &tracker->recent[i].ids;

        if (ids->jobid != jobid)
            continue;
        last = ids->restart > last ? ids->restart : last;
        found = true;
    }
    return found ? last : UINT32_MAX;
}

static bool is_of_job(const struct tracked_job *job, uint32_t jobid)
{
    return !job->over && job->sum->key.jobid == jobid;
}

int tracker_job_end(struct tracker *tracker, uint32_t jobid, struct error *error)
{
    int r;

    /* Its plugin may have spoken through files only. */
    tracked_scan_files(tracker);
    for (size_t i = 0; i < tracker->n_jobs; i++)
        if (is_of_job(tracker->jobs[i], jobid)) {
            tracker->jobs[i]->ending = true;
            end_gone_steps(tracker->jobs[i]);
        }
    r = tracked_close(tracker, error);
    for (size_t i = 0; i < tracker->n_jobs; i++)
        if (is_of_job(tracker->jobs[i], jobid))
            tracked_finish_job(tracker->jobs[i]);
    /* One that did nothing here. Should an end be said twice, and the second time after the prolog
     * of the next run, that one's file stays. */
    tracked_forget_file(tracker, jobid, last_run(tracker, jobid));
    return r;
}

/* --- the tick --------------------------------------------------------------------------------- */

static void finish_idle(struct tracked_job *job, uint64_t now)
{
    uint64_t limit = job->ending ? 0 : job->had_extern ? IDLE_WITH_EXTERN : IDLE;
    uint64_t since = job->last_end_boot_ns;

    if (now > since && now - since >= limit)
        tracked_finish_job(job);
}

static void tick_job(struct tracked_job *job, uint64_t now)
{
    (void)tracked_meter(job, now, true);
    for (size_t i = 0; i < job->n_steps; i++)
        tracked_resolve_doubt(job->steps[i], false);
    tracked_describe(job);
    finish_idle(job, now);
    tracked_save(job);
    tracked_save_provisional(job);
}

int tracker_pass(struct tracker *tracker, bool tick, struct error *error)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    int r = tick ? sampler_read(tracker->sampler, now, error)
                 : sampler_peek(tracker->sampler, 0, now, error);

    if (!r) {
        tracker->pass_at_ns = now;
        tracker->pass_cost_ns = clock_ns(CLOCK_BOOTTIME) - now;
    }
    return r;
}

/* Now and then, and not in the moment in which steps are dropped. */
static void sweep(struct tracker *tracker)
{
    tracker->unswept++;
    if (!tracker->littered || (tracker->n_jobs && tracker->unswept < SWEEP_TICKS))
        return;
    (void)probe_sweep(tracker->probe, NULL);
    tracker->littered = false;
    tracker->unswept = 0;
}

/* All at once: they share a transaction, and what was missed can be saved with them. */
static void see_whether_rows_are_due(struct tracker *tracker)
{
    uint64_t age = tracker->pass_at_ns - tracker->rows_at_ns;

    if (!tracker->rows_at_ns || age + tracker->interval_ns / 2 >= tracker->rows_ns)
        tracker->rows_at_ns = tracker->pass_at_ns;
}

void tracker_hurry(struct tracker *tracker)
{
    tracker->rows_at_ns = 0;
}

int tracker_tick(struct tracker *tracker, struct error *error)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    int r;

    sweep(tracker);
    (void)tracked_drop_saved(tracker, true);
    /* Who has ended is looked for before the reading: so it is the last one of all of them. */
    tracked_scan_files(tracker);
    tracked_sweep_jobs(tracker);
    for (size_t i = 0; i < tracker->n_jobs; i++)
        if (!tracker->jobs[i]->over)
            end_gone_steps(tracker->jobs[i]);
    r = tracker_pass(tracker, true, error);
    see_whether_rows_are_due(tracker);
    if (!r)
        r = tracked_close(tracker, error);
    for (size_t i = 0; i < tracker->n_jobs; i++)
        if (!tracker->jobs[i]->over)
            tick_job(tracker->jobs[i], now);
        else
            tracked_save(tracker->jobs[i]);
    if (!r)
        tracked_save_missed(tracker);
    return r;
}

uint64_t tracker_settle(struct tracker *tracker)
{
    struct error error;

    if (tracked_close(tracker, &error) < 0 && log_allowed("settle", 60, NULL))
        tracker_say(tracker, LOG_LEVEL_ERROR, "steps that have ended: %s", error.text);
    return tracked_drop_saved(tracker, false);
}
