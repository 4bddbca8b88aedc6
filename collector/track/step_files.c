/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/track/step_files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/probe/probe.h"
#include "collector/track/end.h"
#include "collector/track/start.h"
#include "common/cleanup.h"
#include "common/numbers.h"

/* A step that started and ended without a message to jobiod. It is counted if the plugin has put it
 * into the map itself. */
static int adopt_ended(struct tracker *tracker, struct tag *tag, enum step_state state,
                       uint64_t ended_boot, struct error *error)
{
    bool counted = probe_has(tracker->probe, tag->cgroup_id, tag->version);
    struct step *step;
    int r;

    if (step_is_tracked(tracker, tag))
        return 0;
    r = step_adopt(tracker, tag, NULL, counted, &step, error);
    if (r < 0)
        return r;
    step_end(step, state, ended_boot);
    return 0;
}

/* A step whose plugin did not reach jobiod, or found it busy. */
static int adopt_file(struct tracker *tracker, const char *name, struct error *error)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    uint64_t ended_boot;
    int r = tag_read_step(tracker->steps_fd, name, &tag, &ended_boot, error);

    if (r < 0)
        return r;
    if (ended_boot)
        return adopt_ended(tracker, &tag, STEP_ENDED, ended_boot, error);
    r = step_start(tracker, &tag, error);
    if (r != -ENOENT && r != -ESTALE)
        return r;
    return adopt_ended(tracker, &tag, STEP_VANISHED, 0, error);
}

static struct step *step_of_file(struct tracker *tracker, const char *name)
{
    uint32_t ids[4] = {0};
    const char *at = name;

    for (int i = 0; i < 4; i++) {
        uint64_t id = 0;

        (void)number_parse_prefix(&at, &id);
        ids[i] = (uint32_t)id;
        at += *at != '\0';
    }
    return jobs_find_step(&tracker->jobs, &(struct step_ids){ids[0], ids[1], ids[2], ids[3]});
}

/* The file is now that of another step with the same ids. */
static bool is_of_other_step(const struct step *step, const char *name)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    uint64_t ended_boot;

    return tag_read_step(step->job->tracker->steps_fd, name, &tag, &ended_boot, NULL) == 0 &&
           (tag.cgroup_id != step->tag.cgroup_id || tag.version != step->tag.version);
}

static void handle_file(struct tracker *tracker, const char *name, bool look_for_end)
{
    struct step *step = step_of_file(tracker, name);
    bool running = step && step->phase == PHASE_RUNNING;
    uint64_t ended_boot = 0;
    struct error error;
    int r = 0;

    if (running && look_for_end)
        r = tag_ended_boot(tracker->steps_fd, name, &ended_boot, &error);
    if (ended_boot)
        step_end(step, STEP_ENDED, ended_boot);
    else if (!step || (!running && is_of_other_step(step, name)))
        r = adopt_file(tracker, name, &error);
    if (r < 0)
        tracker_log(tracker, LOG_LEVEL_WARNING, "step file %s: %s", name, error.text);
    if (r == -EBADMSG || r == -EINVAL)
        tag_reject_file(tracker->steps_fd, name);
}

void step_file_track(struct tracker *tracker, const char *name)
{
    /* The file may have been removed since. */
    if (tag_is_file_name(name) && faccessat(tracker->steps_fd, name, F_OK, 0) == 0)
        handle_file(tracker, name, false);
}

/* Remove an .end file without a step file: the plugin wrote it after the step was stored. */
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

void step_files_scan(struct tracker *tracker)
{
    _closedir_ DIR *dir = tag_open_dir(tracker->steps_fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (tag_is_file_name(entry->d_name))
            handle_file(tracker, entry->d_name, true);
        else
            sweep_end(tracker, entry->d_name);
}
