/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/missed_record.h"

#include <stdlib.h>
#include <string.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"

#define MISSED_KEY "missed"

struct missed {
    struct tracker *tracker;
    char *text;
};

static int missed_run(struct store *store, void *arg, struct error *error)
{
    return store_put_state(store, MISSED_KEY, ((struct missed *)arg)->text, error);
}

static void missed_done(int result, const struct error *error, void *arg)
{
    struct missed *m = arg;

    (void)error;
    if (result < 0)
        free(TAKE_PTR(m->tracker->missed)); /* the next tick tries again */
    free(m->text);
    free(m);
}

/* Every row that the last reading has changed is in the writer's queue. A record that precedes them
 * would hide missed events from the next process; a late record only reports them twice. */
static bool are_rows_handed(const struct tracker *tracker)
{
    for (size_t i = 0; i < tracker->jobs.n; i++) {
        const struct job *job = tracker->jobs.items[i];

        for (size_t j = 0; j < job->n_steps; j++) {
            const struct step *step = job->steps[j];

            if (step->phase == PHASE_ENDED || step->phase == PHASE_UNSAVED ||
                (step->phase == PHASE_RUNNING &&
                 (step->beyond_limit || job->rows_read_ns != tracker->read_at_ns)))
                return false;
        }
    }
    return true;
}

void missed_record_save(struct tracker *tracker)
{
    _free_ char *text = sampler_missed(tracker->sampler);
    struct missed *m;

    if (!text || !tracker->writer || (tracker->missed && !strcmp(tracker->missed, text)) ||
        !are_rows_handed(tracker))
        return;
    m = calloc(1, sizeof(*m));
    if (!m)
        return;
    *m = (struct missed){tracker, strdup(text)};
    if (!m->text || writer_submit(tracker->writer, true, missed_run, missed_done, m) < 0) {
        free(m->text);
        free(m);
        return;
    }
    free(tracker->missed);
    tracker->missed = TAKE_PTR(text);
}

int missed_record_resume(struct tracker *tracker, struct store *store, struct error *error)
{
    _free_ char *before = NULL;
    int r = store_get_state(store, MISSED_KEY, &before, error);

    if (r < 0)
        return r;
    if (before && probe_is_adopted(tracker->probe))
        return sampler_resume_missed(tracker->sampler, before) < 0
                   ? error_set(error, -ENOMEM, "no memory for what was missed")
                   : 0;
    tracker->missed = sampler_missed(tracker->sampler);
    return tracker->missed ? store_put_state(store, MISSED_KEY, tracker->missed, error)
                           : error_set(error, -ENOMEM, "no memory for what was missed");
}

int missed_record_remove(struct store *store, struct error *error)
{
    return store_put_state(store, MISSED_KEY, NULL, error);
}
