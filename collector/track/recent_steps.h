/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last steps whose rows are in the store. A late END of one of them does not name an unknown
 * step, and a late TAG of one of them does not start a new step.
 */
#ifndef JOBIO_COLLECTOR_TRACK_RECENT_STEPS_H
#define JOBIO_COLLECTOR_TRACK_RECENT_STEPS_H

#include "collector/track/step.h"

#define RECENT_STEPS 256

struct recent_step {
    struct step_ids ids;
    uint64_t tagged_at_ns;
    uint64_t cgroup_id;
    int version; /* of the cgroup hierarchy */
};

/* All 0: empty. */
struct recent_steps {
    struct recent_step items[RECENT_STEPS];
    size_t n; /* ever added */
};

void recent_steps_add(struct recent_steps *recent, const struct step *step);
/* tagged_at_ns 0: whenever it was tagged. */
bool recent_steps_has(const struct recent_steps *recent, const struct step_ids *ids,
                      uint64_t tagged_at_ns);
/* One of them had this cgroup. */
bool recent_steps_has_cgroup(const struct recent_steps *recent, int version, uint64_t id);
/* The last run of the job that is among them; UINT32_MAX: none is. */
uint32_t recent_steps_last_run(const struct recent_steps *recent, uint32_t jobid);

#endif
