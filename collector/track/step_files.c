/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What step files tell: steps that nobody told us of, steps that have ended, and whether the plugin
 * put a step into the map itself. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/records.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/track/tracker_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define SECOND 1000000000ull

/* So long after its deadline a plugin that met no answer has tried to tag the step itself, and has
 * said so in the step's file. */
#define DIRECT_TIME (3 * SECOND)

/* So long, and longer, a slurmd may know a job that is over, and call no prolog for its next run:
 * as long as the credential of the last one is good (2 minutes, if the site has not changed it).
 * Then the plugin learns from the job's file which run it is. */
#define JOB_FILE_SECONDS (15 * 60)
#define JOB_SWEEP_INTERVAL (60 * SECOND)

/* --- doubts ----------------------------------------------------------------------------------- */

uint64_t tracked_deadline(const struct tag *tag)
{
    return tag->tagged_boot_ns + tag->within_ms * (SECOND / 1000);
}

static bool is_direct(const struct tracked_step *step)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    char name[TAG_FILE_SIZE];
    uint64_t ended_boot;

    tag_file_name(name, step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step);
    return tracked_read_file(step->job->tracker, name, &tag, &ended_boot, NULL) == 0 && tag.direct;
}

static void blame_untracked(struct tracked_step *step)
{
    struct tracker *tracker = step->job->tracker;

    step->doubtful = false;
    step->handed = false; /* its row is to say so, now */
    tracker->stats.untracked++;
    (void)sampler_blame(tracker->sampler, step->number, "began-untracked", 1, 0);
}

void tracked_doubt(struct tracked_step *step)
{
    /* Its plugin had done so: then that map is gone. */
    if (step->tag.direct)
        blame_untracked(step);
    else
        step->doubtful = true;
}

void tracked_resolve_doubt(struct tracked_step *step, bool at_end)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (!step->doubtful)
        return;
    if (is_direct(step))
        step->doubtful = false;
    else if (at_end || now > tracked_deadline(&step->tag) + DIRECT_TIME)
        blame_untracked(step);
}

/* --- files ------------------------------------------------------------------------------------ */

/* A step that has come and gone unheard. What the plugin put into the map itself is there. */
static int adopt_ended(struct tracker *tracker, struct tag *tag, enum step_state state,
                       uint64_t ended_boot, struct error *error)
{
    uint32_t number = step_number(tag->cgroup_id, tag->version);
    bool counted = probe_has(tracker->probe, tag->cgroup_id, tag->version);
    struct tracked_step *step;
    int r;

    if (tracked_is_tagged(tracker, tag))
        return 0;
    r = tracked_follow(tracker, tag, number, NULL, &step, error);
    if (r < 0)
        return r;
    if (!counted)
        tracked_doubt(step);
    tracked_end(step, state, ended_boot);
    return 0;
}

/* A step that nobody told us of: its plugin found no jobiod, or a busy one. */
static int adopt_file(struct tracker *tracker, const char *name, struct error *error)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    uint64_t ended_boot;
    int r = tracked_read_file(tracker, name, &tag, &ended_boot, error);

    if (r < 0)
        return r;
    if (ended_boot)
        return adopt_ended(tracker, &tag, STEP_ENDED, ended_boot, error);
    r = tracker_tag(tracker, &tag, error);
    if (r != -ENOENT && r != -ESTALE)
        return r;
    return adopt_ended(tracker, &tag, STEP_VANISHED, 0, error);
}

static struct tracked_step *step_of_file(struct tracker *tracker, const char *name)
{
    uint32_t ids[4] = {0};
    const char *at = name;

    for (int i = 0; i < 4; i++) {
        char *end;

        ids[i] = (uint32_t)strtoul(at, &end, 10);
        at = *end ? end + 1 : end;
    }
    return tracked_find_any(tracker, &(struct step_ids){ids[0], ids[1], ids[2], ids[3]});
}

/* The file of a step that has ended stays until its row is safe; by now it may be another's. */
static bool is_another(const struct tracked_step *step, const char *name)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    uint64_t ended_boot;

    return tracked_read_file(step->job->tracker, name, &tag, &ended_boot, NULL) == 0 &&
           (tag.cgroup_id != step->tag.cgroup_id || tag.version != step->tag.version);
}

static void look_at(struct tracker *tracker, const char *name, bool ends)
{
    struct tracked_step *step = step_of_file(tracker, name);
    bool running = step && step->state == TRACKED_RUNNING;
    uint64_t ended_boot = running && ends ? tag_ended_boot(tracker->steps_fd, name) : 0;
    struct error error;
    int r = 0;

    if (ended_boot)
        tracked_end(step, STEP_ENDED, ended_boot);
    else if (!step || (!running && is_another(step, name)))
        r = adopt_file(tracker, name, &error);
    if (r < 0)
        tracker_say(tracker, LOG_LEVEL_WARNING, "step file %s: %s", name, error.text);
    if (r == -EBADMSG || r == -EINVAL)
        tracked_reject_file(tracker, name);
}

void tracker_file(struct tracker *tracker, const char *name)
{
    /* It may be done with by now. */
    if (tag_is_file_name(name) && faccessat(tracker->steps_fd, name, F_OK, 0) == 0)
        look_at(tracker, name, false);
}

/* An end whose step file has gone: the plugin wrote it after we were done with the step. */
static void sweep_end(struct tracker *tracker, const char *name)
{
    char base[TAG_FILE_SIZE];
    size_t n = strlen(name);

    if (n <= 4 || n - 4 >= sizeof(base) || strcmp(name + n - 4, ".end") != 0)
        return;
    memcpy(base, name, n - 4);
    base[n - 4] = '\0';
    if (tag_is_file_name(base) && faccessat(tracker->steps_fd, base, F_OK, 0) < 0)
        (void)unlinkat(tracker->steps_fd, name, 0);
}

/* A folder to be read from its begin; NULL: it cannot be. */
static DIR *open_folder(int folder_fd)
{
    int fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 3);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        cleanup_close(&fd);
    else
        rewinddir(dir);
    return dir;
}

void tracked_scan_files(struct tracker *tracker)
{
    _closedir_ DIR *dir = open_folder(tracker->steps_fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (tag_is_file_name(entry->d_name))
            look_at(tracker, entry->d_name, true);
        else
            sweep_end(tracker, entry->d_name);
}

/* Long ago, whatever the clock was set to meanwhile. */
static bool is_old(int folder_fd, const char *name)
{
    time_t now = time(NULL);
    struct stat st;

    return fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (now - st.st_mtime > JOB_FILE_SECONDS || st.st_mtime - now > JOB_FILE_SECONDS);
}

static bool says_ended(int folder_fd, const char *name)
{
    _free_ struct message *m = malloc(sizeof(*m));

    return m && tag_read_file(folder_fd, name, "job", m, NULL) == 0 && message_get(m, "ENDED");
}

void tracked_sweep_jobs(struct tracker *tracker)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    _closedir_ DIR *dir = NULL;
    struct dirent *entry;

    if (tracker->jobs_swept_ns && now - tracker->jobs_swept_ns < JOB_SWEEP_INTERVAL)
        return;
    tracker->jobs_swept_ns = now;
    dir = open_folder(tracker->jobs_fd);
    while (dir && (entry = readdir(dir)))
        if (is_old(tracker->jobs_fd, entry->d_name) && says_ended(tracker->jobs_fd, entry->d_name))
            (void)unlinkat(tracker->jobs_fd, entry->d_name, 0);
}
