/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/step_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/stacks/watcher.h"
#include "collector/store/writer.h"
#include "collector/track/tracker_state.h"
#include "common/cleanup.h"
#include "common/text.h"

/* Intervals in which the row of the step is not stored. */
#define TRIES 100

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
    if (result < 0 && ++ended->tries < TRIES)
        return;
    tracker->stacks_kept += result == 0;
    if (result < 0)
        lose(tracker, ended->key.jobid, ended->step.step, error->text);
    remove_ended(ended);
}

static void put(struct stacks_ended *ended)
{
    struct writer *writer = ended->tracker->writer;

    if (ended->known && !ended->writing && writer)
        ended->writing = writer_submit(writer, false, run_put, on_put, ended) == 0;
}

void steps_stacks_save(struct tracker *tracker)
{
    struct stacks_ended *ended;

    LIST_FOREACH (ended, &tracker->stacks_ended, link) {
        put(ended);
    }
}

static void on_profile(struct stack_profile *profile, const char *why, void *arg)
{
    struct stacks_ended *ended = arg;

    ended->profile = *profile;
    ended->known = true;
    if (why)
        log_failure(ended->tracker, ended->key.jobid, ended->step.step, why);
    put(ended);
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

    if (!step->tag.stacks && !tracker->all_stacks)
        return;
    if (!tracker->stacks)
        r = error_set(&error, -ENOTSUP, "\"sample\" is \"no\" in [stacks] of jobio.conf");
    else if (step->tag.uid == 0) /* the process that unwinds has fewer capabilities */
        r = error_set(&error, -EPERM, "only root can read the stacks of root");
    else if (step->beyond_limit)
        r = error_set(&error, -ENOSPC, "the job has too many steps");
    else
        r = stack_watcher_start(tracker->stacks, step->number, step->tag.uid, &error);
    if (r < 0)
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

void step_stacks_end(struct step *step)
{
    struct tracker *tracker = step->job->tracker;
    struct stacks_ended *ended;

    if (!stack_watcher_has(tracker->stacks, step->number))
        return;
    ended = ended_create(step);
    if (!ended) {
        stack_watcher_forget(tracker->stacks, step->number);
        lose(tracker, step->tag.jobid, step->tag.step, "out of memory");
        return;
    }
    LIST_INSERT_HEAD(&tracker->stacks_ended, ended, link);
    stack_watcher_end(tracker->stacks, step->number, ended);
}
