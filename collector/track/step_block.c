/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/step_block.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/probe/block.h"
#include "collector/track/tracker_state.h"
#include "common/cleanup.h"

DEFINE_CLEANUP(struct block_account, block_account_destroy)

void steps_block_create(struct tracker *tracker)
{
    struct error error;

    if (block_probe_create(&tracker->block, tracker->probe, &error) == 0)
        return;
    tracker->block_failure = error;
    tracker_log(tracker, LOG_LEVEL_WARNING, "%s; the reports have no requests to disks",
                error.text);
}

/* What was counted so far is incomplete. */
static int mark_incomplete(struct step *step)
{
    if (!step->block_before)
        step->block_before = calloc(1, sizeof(*step->block_before));
    if (!step->block_before)
        return -ENOMEM;
    step->block_before->incomplete = true;
    return 0;
}

/* Returns whether the step is counted from now on. */
static bool add(struct step *step, bool late)
{
    struct tracker *tracker = step->job->tracker;
    struct error error;

    if (!tracker->block)
        return false;
    if (block_probe_add(tracker->block, step->number, late, &error) == 0)
        return true;
    tracker_log(tracker, LOG_LEVEL_WARNING, "step %u: %s", step->tag.jobid, error.text);
    return false;
}

int step_block_start(struct step *step, bool late)
{
    if (!step->job->tracker->block || (add(step, late) && !late))
        return 0;
    return mark_incomplete(step);
}

int step_block_adopt(struct step *step, const struct block_account *before)
{
    struct block_probe *block = step->job->tracker->block;
    int r;

    if (block && block_probe_continue(block, step->number))
        return 0;
    r = block_account_add(&step->block_before, false, before, false);
    if (r < 0 || (!before && !block))
        return r;
    (void)add(step, true);
    return mark_incomplete(step);
}

int step_block_vanish(struct step *step)
{
    return step->block_before || step->job->tracker->block ? mark_incomplete(step) : 0;
}

int step_block_read(const struct step *step, struct block_account **ret)
{
    const struct block_probe *block = step->job->tracker->block;
    CLEANUP(block_account_destroyp) struct block_account *account = NULL;
    int r;

    if (block) {
        account = calloc(1, sizeof(*account));
        if (!account)
            return -ENOMEM;
        if (block_probe_read(block, step->number, account, NULL) < 0)
            account->incomplete = true;
    }
    r = block_account_continue(&account, step->block_before);
    if (r == 0)
        *ret = TAKE_PTR(account);
    return r;
}

void step_block_forget(const struct step *step)
{
    struct block_probe *block = step->job->tracker->block;

    if (block)
        block_probe_remove(block, step->number);
}

void step_block_end(struct step *step)
{
    block_account_destroy(step->block_before);
    step->block_before = NULL;
}

void steps_block_sweep(struct tracker *tracker)
{
    if (tracker->block)
        block_probe_sweep(tracker->block);
}
