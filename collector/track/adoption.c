/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The start of jobiod: jobs and steps are restored from the store, the runtime directory and the
 * pinned maps that the last process left. The maps have the counters, the step files name their
 * steps, the store has the steps that were finished.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "collector/cgroup/hierarchy.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/store/store.h"
#include "collector/track/accounts.h"
#include "collector/track/end.h"
#include "collector/track/folded_steps.h"
#include "collector/track/missed_record.h"
#include "collector/track/records.h"
#include "collector/track/start.h"
#include "collector/track/tracker_state.h"
#include "collector/track/stored_steps.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"

#define BOOT_ID_KEY "boot-id"

struct adoption {
    struct tracker *tracker;
    struct store *store;
    char boot_id[64];
    bool boot_stored; /* the store has this boot_id */
    bool rebooted;
    bool incomplete;             /* a step file could not be handled */
    struct job_account **stored; /* unfinished, as loaded */
    bool **has_file;             /* by job and step: it has a step file */
    struct probe_step *counted;
    size_t n_counted;
    bool *stored_counted; /* by counted: it is in the store */
};

static void adoption_clear(struct adoption *a)
{
    for (size_t i = 0; a->has_file && a->stored && a->stored[i]; i++)
        free(a->has_file[i]);
    free(a->has_file);
    store_jobs_free(a->stored);
    free(a->counted);
    free(a->stored_counted);
}

/* --- the store -------------------------------------------------------------------------------- */

static void read_boot_id(char buf[64])
{
    _fclose_ FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!file || !fgets(buf, 64, file))
        buf[0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
}

static int check_boot(struct adoption *a, struct error *error)
{
    _free_ char *before = NULL;
    int r = store_get_state(a->store, BOOT_ID_KEY, &before, error);

    if (r < 0)
        return r;
    read_boot_id(a->boot_id);
    a->boot_stored = before && strcmp(before, a->boot_id) == 0;
    a->rebooted = before && !a->boot_stored;
    /* The kernel counts from zero again. */
    return a->rebooted ? missed_record_remove(a->store, error) : 0;
}

/* Last: if the adoption fails, the next one still knows of the reboot. */
static int store_boot(struct adoption *a, struct error *error)
{
    return a->boot_stored ? 0 : store_put_state(a->store, BOOT_ID_KEY, a->boot_id, error);
}

static struct job_account *create_sum(const struct job_account *stored)
{
    struct job_account *sum = job_account_create();

    if (sum && job_copy_identity(stored, sum) == 0)
        return sum;
    job_account_destroy(sum);
    return NULL;
}

static int load_steps(struct job *job, const struct job_account *stored)
{
    int r = 0;

    for (size_t i = 0; i < stored->n_steps && !r; i++) {
        const struct step_account *step = &stored->steps[i];
        uint64_t end = step->tagged_at_ns + step->elapsed_ns;

        job_note_step(job, step->step);
        if (end > stored->start_ns &&
            job->start_boot_ns + (end - stored->start_ns) > job->last_end_boot_ns)
            job->last_end_boot_ns = job->start_boot_ns + (end - stored->start_ns);
        if (step->step == STEP_FOLDED)
            r = step_account_copy(step, &job->folded);
        else if (step->state != STEP_RUNNING)
            job->n_rows++;
        if (!r && step->state != STEP_RUNNING)
            r = job_account_add_step(job->sum, step);
    }
    return r;
}

static int load_job(struct adoption *a, size_t i)
{
    const struct job_account *stored = a->stored[i];
    struct job_account *sum = create_sum(stored);
    struct job *job = sum ? job_start(a->tracker, sum) : NULL;

    a->has_file[i] = calloc(stored->n_steps + 1, sizeof(bool));
    if (!job) {
        job_account_destroy(sum);
        return -ENOMEM;
    }
    if (a->rebooted)
        job->start_boot_ns = job->last_end_boot_ns = 0;
    /* The file of its prolog is lost at a reboot. */
    if (!job->first_node && stored->first_node && !(job->first_node = strdup(stored->first_node)))
        return -ENOMEM;
    if (!a->has_file[i] || load_steps(job, stored) < 0)
        return -ENOMEM;
    return meter_resume(job->meter, &stored->mounts, job->start_boot_ns + stored->elapsed_ns);
}

static int load_jobs(struct adoption *a, struct error *error)
{
    size_t n = 0;
    int r = store_unfinished(a->store, &a->stored, error);

    if (r < 0)
        return r;
    while (a->stored[n])
        n++;
    a->has_file = calloc(n + 1, sizeof(*a->has_file));
    for (size_t i = 0; i < n && a->has_file && !r; i++)
        r = load_job(a, i);
    return r < 0 || !a->has_file ? error_set(error, -ENOMEM, "no memory for unfinished jobs") : 0;
}

/* Queue its last row for all sinks, in the transaction of the row, as at the end of a step. */
static int store_lost_step(struct adoption *a, const struct job *job,
                           const struct step_account *step, struct error *error)
{
    const struct job_key *key = &job->sum->key;
    const char *const *sinks = a->tracker->sinks;
    _free_ char *peer = NULL;
    int r = job_peer_sink(job, &peer);

    if (r < 0)
        return error_set(error, r, "no memory for a lost step");
    r = store_begin(a->store, true, error);
    if (r < 0)
        return r;
    r = store_put_step(a->store, key, step, true, error);
    for (; sinks && *sinks && r >= 0; sinks++)
        r = store_outbox_put(a->store, key, step, *sinks, error);
    if (peer && r >= 0)
        r = store_outbox_put(a->store, key, step, peer, error);
    if (r >= 0)
        return store_commit(a->store, error);
    store_rollback(a->store);
    return r;
}

/* A step that is running as of the store, but has no step file any more. */
static int end_lost_step(struct adoption *a, const struct job_account *stored,
                         struct step_account *step, struct error *error)
{
    const char *cause = a->rebooted ? "node-restarted" : "step-vanished";
    struct job *job = jobs_find(&a->tracker->jobs, stored->key.jobid, stored->key.restart);

    step->state = STEP_VANISHED;
    if (!job || completeness_add(&step->completeness, cause, 1, 0) < 0 ||
        job_account_add_step(job->sum, step) < 0 ||
        totals_add(&a->tracker->totals, &step->mounts) < 0)
        return error_set(error, -ENOMEM, "no memory for a lost step");
    job->n_rows++;
    a->tracker->vanished++;
    return store_lost_step(a, job, step, error);
}

static int end_lost_steps(struct adoption *a, struct error *error)
{
    int r = 0;

    for (size_t i = 0; a->stored[i]; i++)
        for (size_t j = 0; j < a->stored[i]->n_steps && !r; j++)
            if (a->stored[i]->steps[j].state == STEP_RUNNING && !a->has_file[i][j])
                r = end_lost_step(a, a->stored[i], &a->stored[i]->steps[j], error);
    return r;
}

/* --- step files ------------------------------------------------------------------------------- */

static const struct step_account *find_step(const struct job_account *job, const struct tag *tag,
                                            size_t *index)
{
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step_account *step = &job->steps[i];

        if (step->het == tag->het && step->step == tag->step &&
            step->tagged_at_ns == tag->tagged_at_ns) {
            *index = i;
            return step;
        }
    }
    return NULL;
}

/* The row of the step in an unfinished job of the store; NULL: none. */
static const struct step_account *find_stored(struct adoption *a, const struct tag *tag)
{
    for (size_t i = 0; a->stored[i]; i++) {
        const struct job_account *job = a->stored[i];
        const struct step_account *step;
        size_t index;

        if (job->key.jobid != tag->jobid || job->key.restart != tag->restart)
            continue;
        step = find_step(job, tag, &index);
        if (step) {
            a->has_file[i][index] = true;
            return step;
        }
    }
    return NULL;
}

/* The last process died after it wrote the last row of the job and before it removed the step's
 * file.
 */
static bool is_final_in_ended_job(struct adoption *a, const struct tag *tag)
{
    const struct tracker *tracker = a->tracker;
    struct job_account **jobs = NULL;
    const struct step_account *step;
    bool found = false;
    size_t index;

    /* The name of the cluster may have changed meanwhile. */
    if (store_node_jobs(a->store, NULL, tag->jobid, tracker->node, &jobs, NULL) < 0)
        return false;
    for (size_t i = 0; jobs[i]; i++) {
        step = jobs[i]->key.restart == tag->restart ? find_step(jobs[i], tag, &index) : NULL;
        found |= step && step->state != STEP_RUNNING;
    }
    store_jobs_free(jobs);
    return found;
}

static int adopt_running(struct adoption *a, struct tag *tag, const struct step_account *before,
                         struct error *error)
{
    struct tracker *tracker = a->tracker;
    bool counted = probe_has(tracker->probe, tag->cgroup_id, tag->version);
    int r = hierarchy_check(tracker->hierarchy, tag->version, tag->cgroup, tag->cgroup_id, error);
    bool gone = r == -ENOENT || r == -ESTALE;
    struct step *step;

    if (r < 0 && !gone)
        return r;
    if (!gone)
        r = probe_add(tracker->probe, tag->cgroup_id, tag->level, tag->version, NULL, error);
    if (!gone && r < 0)
        return r;
    if (!gone && !counted)
        probe_began_late(tracker->probe, step_number(tag->cgroup_id, tag->version));
    r = step_adopt(tracker, tag, before, counted, &step, error);
    if (!r && gone)
        step_end(step, STEP_VANISHED, 0);
    return r;
}

static int adopt_ended(struct adoption *a, struct tag *tag, const struct step_account *before,
                       uint64_t ended_boot, struct error *error)
{
    bool counted = probe_has(a->tracker->probe, tag->cgroup_id, tag->version);
    struct step *step;
    int r = step_adopt(a->tracker, tag, before, counted, &step, error);

    if (!r)
        step_end(step, STEP_ENDED, ended_boot);
    return r;
}

static void mark_stored(struct adoption *a, uint32_t number)
{
    for (size_t i = 0; i < a->n_counted; i++)
        a->stored_counted[i] |= a->counted[i].step == number;
}

static int adopt_step(struct adoption *a, const char *name, struct error *error)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    const struct step_account *before;
    uint64_t ended_boot;
    int r = tag_read_step(a->tracker->steps_fd, name, &tag, &ended_boot, error);

    if (r < 0)
        return r;
    before = find_stored(a, &tag);
    if ((before && before->state != STEP_RUNNING) || folded_steps_has(a->store, &tag) ||
        (!before && is_final_in_ended_job(a, &tag))) {
        mark_stored(a, step_number(tag.cgroup_id, tag.version));
        tag_remove_files(a->tracker->steps_fd, name);
        return 0;
    }
    return ended_boot ? adopt_ended(a, &tag, before, ended_boot, error)
                      : adopt_running(a, &tag, before, error);
}

/* The file cannot be handled now, and the next tick tries again: its step has not vanished. */
static void keep_steps_of_file(struct adoption *a, const char *name)
{
    char of_step[TAG_FILE_SIZE];

    a->incomplete = true;
    for (size_t i = 0; a->stored[i]; i++)
        for (size_t j = 0; j < a->stored[i]->n_steps; j++) {
            const struct job_key *key = &a->stored[i]->key;
            const struct step_account *step = &a->stored[i]->steps[j];

            tag_file_name(of_step, key->jobid, key->restart, step->het, step->step);
            a->has_file[i][j] |= strcmp(of_step, name) == 0;
        }
}

static int adopt_files(struct adoption *a, struct error *error)
{
    struct tracker *tracker = a->tracker;
    _closedir_ DIR *dir = tag_open_dir(tracker->steps_fd);
    struct dirent *entry;

    if (!dir)
        return error_errno(error, -errno, "cannot list the step files");
    while ((entry = readdir(dir))) {
        struct error why;
        int r = tag_is_file_name(entry->d_name) ? adopt_step(a, entry->d_name, &why) : 0;

        if (r < 0)
            tracker_log(tracker, LOG_LEVEL_WARNING, "step file %s: %s", entry->d_name, why.text);
        if (r == -EBADMSG || r == -EINVAL)
            tag_reject_file(tracker->steps_fd, entry->d_name);
        else if (r < 0)
            keep_steps_of_file(a, entry->d_name);
    }
    (void)tracker_settle(tracker);
    return 0;
}

/* --- the maps --------------------------------------------------------------------------------- */

static bool is_tracked(const struct tracker *tracker, uint32_t number)
{
    return sampler_mounts(tracker->sampler, number) != NULL;
}

/* Drop the counters of steps that the store has, and of unknown cgroups: a run whose client is
 * gone, or a step whose file was removed. The maps were listed before the files, so a step that is
 * being tagged is not among them. */
static void drop_untracked(struct adoption *a)
{
    struct tracker *tracker = a->tracker;
    _free_ struct probe_cgroup *cgroups = malloc((a->n_counted + 1) * sizeof(*cgroups));
    size_t n = 0;

    for (size_t i = 0; cgroups && i < a->n_counted; i++) {
        const struct probe_step *step = &a->counted[i];

        if (is_tracked(tracker, step->step))
            continue;
        if (!a->stored_counted[i])
            tracker_log(tracker, LOG_LEVEL_WARNING,
                        "cgroup %llu is in the maps (%llu events), but no step file names it: its "
                        "counters are dropped",
                        (unsigned long long)step->cgroup_id, (unsigned long long)step->events);
        cgroups[n++] = (struct probe_cgroup){step->cgroup_id, step->cgroup_version};
    }
    if (n)
        (void)probe_drop_many(tracker->probe, cgroups, n, NULL);
}

static void finish_after_reboot(struct adoption *a)
{
    for (size_t i = 0; a->rebooted && i < a->tracker->jobs.n; i++)
        job_finish(a->tracker->jobs.items[i]);
}

int tracker_adopt(struct tracker *tracker, struct store *store, struct error *error)
{
    CLEANUP(adoption_clear) struct adoption a = {.tracker = tracker, .store = store};
    int r = probe_steps(tracker->probe, &a.counted, &a.n_counted, error);

    if (!r && !(a.stored_counted = calloc(a.n_counted + 1, sizeof(*a.stored_counted))))
        r = error_set(error, -ENOMEM, "no memory for the steps in the maps");
    if (!r)
        r = check_boot(&a, error);
    if (!r)
        r = store_node_totals(store, &tracker->totals, error);
    if (!r)
        r = load_jobs(&a, error);
    if (!r)
        r = missed_record_resume(tracker, store, error);
    if (!r)
        r = adopt_files(&a, error);
    if (!r && tracker->hooks.adopt)
        tracker->hooks.adopt(tracker->hooks.arg);
    (void)sampler_resume_missed(tracker->sampler, NULL);
    if (!r)
        r = end_lost_steps(&a, error);
    if (!r)
        r = store_boot(&a, error);
    if (r < 0)
        return r;
    if (!a.incomplete) { /* else the counters of a step may be needed */
        drop_untracked(&a);
        (void)folded_marks_sweep(store, NULL);
    }
    (void)probe_sweep(tracker->probe, NULL);
    finish_after_reboot(&a);
    return 0;
}
