/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/step_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/probe/stacks.h"
#include "collector/stacks/watcher.h"
#include "collector/store/writer.h"
#include "collector/track/tracker_state.h"
#include "common/cleanup.h"
#include "common/text.h"

/* Intervals in which the row of the step is not stored, and profiles that wait for it. */
#define TRIES 100
#define WAITING_MAX 256

/* An ended step, on its way to the store. */
struct stacks_ended {
    LIST_ENTRY(stacks_ended) link;
    struct tracker *tracker;
    struct job_key key;       /* owned */
    struct step_account step; /* owned; only what identifies it */
    struct stack_profile profile;
    bool known, writing;
    unsigned tries;
};

static void log_failure(struct tracker *tracker, uint32_t jobid, uint32_t step, const char *why)
{
    char text[16];

    if (log_allowed("stacks", 10, NULL))
        tracker_log(tracker, LOG_LEVEL_WARNING, "step %u.%s: its waiting code is incomplete: %s",
                    jobid, step_format(step, text), why);
}

static void lose(struct tracker *tracker, uint32_t jobid, uint32_t step, const char *why)
{
    tracker->stacks_failed++;
    log_failure(tracker, jobid, step, why);
}

static void ended_destroy(struct stacks_ended *ended)
{
    if (!ended)
        return;
    free(ended->key.cluster);
    step_account_clear(&ended->step);
    stack_profile_clear(&ended->profile);
    free(ended);
}
DEFINE_CLEANUP(struct stacks_ended, ended_destroy)

static void remove_ended(struct stacks_ended *ended)
{
    LIST_REMOVE(ended, link);
    ended_destroy(ended);
}

/* --- the store -------------------------------------------------------------------------------- */

static int run_put(struct store *store, void *arg, struct error *error)
{
    const struct stacks_ended *ended = arg;

    return store_put_stacks(store, &ended->key, &ended->step, &ended->profile, error);
}

/* The row of the step may be waiting itself. */
static void on_put(int result, const struct error *error, void *arg)
{
    struct stacks_ended *ended = arg;
    struct tracker *tracker = ended->tracker;

    ended->writing = false;
    if (result < 0 && ended->tries < TRIES)
        return;
    tracker->stacks_kept += result == 0;
    if (result < 0)
        lose(tracker, ended->key.jobid, ended->step.step, error->text);
    remove_ended(ended);
}

static void put(struct stacks_ended *ended)
{
    struct tracker *tracker = ended->tracker;

    if (!ended->known || ended->writing || !tracker->writer)
        return;
    ended->tries++;
    ended->writing = writer_submit(tracker->writer, false, run_put, on_put, ended) == 0;
    if (ended->writing || ended->tries < TRIES)
        return;
    lose(tracker, ended->key.jobid, ended->step.step, "the store has no time for it");
    remove_ended(ended);
}

void steps_stacks_save(struct tracker *tracker)
{
    struct stacks_ended *ended = LIST_FIRST(&tracker->stacks_ended), *next;

    for (; ended; ended = next) {
        next = LIST_NEXT(ended, link);
        put(ended);
    }
}

void steps_stacks_stop(struct tracker *tracker)
{
    stack_watcher_stop(tracker->stacks);
    steps_stacks_save(tracker);
}

static void on_profile(struct stack_profile *profile, const char *why, void *arg)
{
    struct stacks_ended *ended = arg;

    ended->profile = *profile;
    ended->known = true;
    /* It is stored at the next interval: the row of the step comes first. */
    if (why)
        lose(ended->tracker, ended->key.jobid, ended->step.step, why);
}

/* --- start and stop --------------------------------------------------------------------------- */

int steps_stacks_create(struct tracker *tracker, const struct tracker_options *options,
                        struct error *error)
{
    LIST_INIT(&tracker->stacks_ended);
    tracker->all_stacks = options->all_stacks;
    if (!options->stacks)
        return 0;
    return stack_watcher_create(&tracker->stacks, options->probe, &options->stack_limits,
                                on_profile, error);
}

void steps_stacks_destroy(struct tracker *tracker)
{
    stack_watcher_destroy(tracker->stacks);
    while (!LIST_EMPTY(&tracker->stacks_ended))
        remove_ended(LIST_FIRST(&tracker->stacks_ended));
}

void step_stacks_start(struct step *step)
{
    struct tracker *tracker = step->job->tracker;
    struct error error;
    int r = 0;

    if (!step->tag.stacks && (!tracker->all_stacks || step->tag.step == STEP_EXTERN)) {
        if (tracker->stacks) /* an earlier jobiod may have recorded it */
            probe_stacks_end(tracker->probe, step->number);
        return;
    }
    if (!tracker->stacks)
        r = error_set(&error, -ENOTSUP, "\"sample\" is \"no\" in [stacks] of jobio.conf");
    else if (step->tag.uid == 0) /* the process that unwinds has fewer capabilities */
        r = error_set(&error, -EPERM, "only root can read the stacks of root");
    else if (step->beyond_limit)
        r = error_set(&error, -ENOSPC, "the job has too many steps");
    else
        r = stack_watcher_start(tracker->stacks, step->number, step->tag.uid, &error);
    if (r == 0)
        return;
    if (tracker->stacks)
        probe_stacks_end(tracker->probe, step->number);
    lose(tracker, step->tag.jobid, step->tag.step, error.text);
}

static struct stacks_ended *ended_create(const struct step *step)
{
    CLEANUP(ended_destroyp) struct stacks_ended *ended = calloc(1, sizeof(*ended));

    if (!ended)
        return NULL;
    ended->tracker = step->job->tracker;
    ended->key.jobid = step->tag.jobid;
    ended->key.restart = step->tag.restart;
    ended->step.het = step->tag.het;
    ended->step.step = step->tag.step;
    ended->step.tagged_at_ns = step->tag.tagged_at_ns;
    return text_copy(&ended->key.cluster, ended->tracker->cluster) == 0 &&
                   text_copy(&ended->step.node, ended->tracker->node) == 0
               ? TAKE_PTR(ended)
               : NULL;
}

static size_t count_ended(const struct tracker *tracker)
{
    const struct stacks_ended *ended;
    size_t n = 0;

    LIST_FOREACH (ended, &tracker->stacks_ended, link) {
        n++;
    }
    return n;
}

void step_stacks_end(struct step *step)
{
    struct tracker *tracker = step->job->tracker;
    struct stacks_ended *ended;

    if (!stack_watcher_has(tracker->stacks, step->number))
        return;
    ended = count_ended(tracker) < WAITING_MAX ? ended_create(step) : NULL;
    if (!ended) {
        stack_watcher_forget(tracker->stacks, step->number);
        lose(tracker, step->tag.jobid, step->tag.step, "too many profiles wait for the store");
        return;
    }
    LIST_INSERT_HEAD(&tracker->stacks_ended, ended, link);
    stack_watcher_end(tracker->stacks, step->number, ended);
}
