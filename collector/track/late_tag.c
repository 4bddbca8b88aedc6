/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/late_tag.h"

#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Time after the deadline in which a plugin without an answer puts the step into the map itself and
 * notes that in the step file. */
#define DIRECT_TIME (3 * NS_PER_S)

#define CAUSE "began-untracked"

uint64_t tag_deadline(const struct tag *tag)
{
    return tag->tagged_boot_ns + tag->within_ms * (NS_PER_S / 1000);
}

static bool is_direct(const struct step *step)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    char name[TAG_FILE_SIZE];
    uint64_t ended_boot;

    tag_file_name(name, step->tag.jobid, step->tag.restart, step->tag.het, step->tag.step);
    return tag_read_step(step->job->tracker->steps_fd, name, &tag, &ended_boot, NULL) == 0 &&
           tag.direct;
}

static void mark_untracked(struct step *step)
{
    struct tracker *tracker = step->job->tracker;

    step->unconfirmed = false;
    step->has_row = false; /* write a row with this cause now */
    tracker->untracked++;
    (void)sampler_mark_incomplete(tracker->sampler, step->number, CAUSE, 1, 0);
}

void late_tag_mark(struct step *step)
{
    /* If the plugin did put it into a map, that map is gone. */
    if (step->tag.direct)
        mark_untracked(step);
    else
        step->unconfirmed = true;
}

void late_tag_check(struct step *step, bool at_end)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (!step->unconfirmed)
        return;
    if (is_direct(step)) {
        step->unconfirmed = false;
        step->has_row = false; /* write a row without this cause now */
    } else if (at_end || now > tag_deadline(&step->tag) + DIRECT_TIME) {
        mark_untracked(step);
    }
}

int late_tag_mark_row(const struct step *step, struct step_account *row)
{
    return step->unconfirmed ? completeness_add(&row->completeness, CAUSE, 1, 0) : 0;
}
