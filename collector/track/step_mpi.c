/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/step_mpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/mpi/watcher.h"
#include "collector/track/tracker_state.h"
#include "common/cleanup.h"

#define MAX_PROCESSES 16384

DEFINE_CLEANUP(struct mpi_account, mpi_account_destroy)

static bool is_wanted(const struct step *step)
{
    const struct tracker *tracker = step->job->tracker;

    return tracker->mpi && (tracker->all_mpi || step->tag.mpi);
}

static bool has_cause(const struct completeness *c, const char *cause)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->items[i].cause, cause))
            return true;
    return false;
}

/* What was counted so far is incomplete. */
static int mark_incomplete(struct step *step, const char *cause)
{
    if (!step->mpi_before)
        step->mpi_before = calloc(1, sizeof(*step->mpi_before));
    if (!step->mpi_before)
        return -ENOMEM;
    return has_cause(&step->mpi_before->completeness, cause)
               ? 0
               : completeness_add(&step->mpi_before->completeness, cause, 1, 0);
}

int step_mpi_start(struct step *step, bool late)
{
    if (!is_wanted(step) || (mpi_watcher_add(step->job->tracker->mpi, step->number) && !late))
        return 0;
    return mark_incomplete(step, MPI_CAUSE_EARLY);
}

int step_mpi_adopt(struct step *step, const struct mpi_account *before)
{
    int r = mpi_account_add(&step->mpi_before, before);

    if (is_wanted(step))
        (void)mpi_watcher_add(step->job->tracker->mpi, step->number);
    if (r < 0 || (!before && !is_wanted(step)))
        return r;
    return mark_incomplete(step, MPI_CAUSE_RESTART);
}

int step_mpi_vanish(struct step *step)
{
    return step->mpi_before || mpi_watcher_has(step->job->tracker->mpi, step->number)
               ? mark_incomplete(step, MPI_CAUSE_VANISHED)
               : 0;
}

int step_mpi_read(const struct step *step, struct mpi_account **ret)
{
    struct mpi_watcher *watcher = step->job->tracker->mpi;
    CLEANUP(mpi_account_destroyp) struct mpi_account *account = NULL;
    int r;

    if (mpi_watcher_has(watcher, step->number)) {
        account = mpi_watcher_read(watcher, step->number);
        if (!account)
            return -ENOMEM;
    }
    r = mpi_account_add(&account, step->mpi_before);
    if (r == 0)
        *ret = TAKE_PTR(account);
    return r;
}

void step_mpi_end(struct step *step)
{
    struct mpi_watcher *watcher = step->job->tracker->mpi;

    if (watcher)
        mpi_watcher_remove(watcher, step->number);
    mpi_account_destroy(step->mpi_before);
    step->mpi_before = NULL;
}

static void scan(struct tracker *tracker, const struct step *step)
{
    _free_ uint32_t *pids = calloc(MAX_PROCESSES, sizeof(*pids));
    size_t n;

    if (!pids)
        return; /* the next interval tries again */
    n = hierarchy_tasks(tracker->hierarchy, step->tag.version, step->tag.cgroup, pids,
                        MAX_PROCESSES);
    mpi_watcher_scan(tracker->mpi, step->number, TAKE_PTR(pids), n, n == MAX_PROCESSES);
}

/* Why nothing can be counted, if that has changed. */
static void log_failure(struct tracker *tracker)
{
    struct mpi_watcher_state state;

    mpi_watcher_get_state(tracker->mpi, &state);
    if (!strcmp(tracker->mpi_failure.text, state.why.text))
        return;
    if (*state.why.text)
        tracker_log(tracker, LOG_LEVEL_WARNING, "%s; the reports of jobs that want it say so",
                    state.why.text);
    else
        tracker_log(tracker, LOG_LEVEL_INFO, "MPI-IO can be counted now");
    tracker->mpi_failure = state.why;
}

void steps_mpi_scan(struct tracker *tracker)
{
    log_failure(tracker);
    for (size_t i = 0; i < tracker->jobs.n; i++) {
        const struct job *job = tracker->jobs.items[i];

        for (size_t j = 0; j < job->n_steps; j++)
            if (step_is_open(job->steps[j]) && mpi_watcher_has(tracker->mpi, job->steps[j]->number))
                scan(tracker, job->steps[j]);
    }
}
