/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/recent_steps.h"

#include <string.h>

void recent_steps_add(struct recent_steps *recent, const struct step *step)
{
    recent->items[recent->n++ % RECENT_STEPS] = (struct recent_step){
        step_ids(step), step->tag.tagged_at_ns, step->tag.cgroup_id, step->tag.version};
}

bool recent_steps_has(const struct recent_steps *recent, const struct step_ids *ids,
                      uint64_t tagged_at_ns)
{
    for (size_t i = 0; i < RECENT_STEPS && i < recent->n; i++) {
        const struct recent_step *item = &recent->items[i];

        if (!memcmp(&item->ids, ids, sizeof(*ids)) &&
            (!tagged_at_ns || item->tagged_at_ns == tagged_at_ns))
            return true;
    }
    return false;
}

bool recent_steps_has_cgroup(const struct recent_steps *recent, int version, uint64_t id)
{
    for (size_t i = 0; i < RECENT_STEPS && i < recent->n; i++)
        if (recent->items[i].cgroup_id == id && recent->items[i].version == version)
            return true;
    return false;
}

uint32_t recent_steps_last_run(const struct recent_steps *recent, uint32_t jobid)
{
    uint32_t last = 0;
    bool found = false;

    for (size_t i = 0; i < RECENT_STEPS && i < recent->n; i++) {
        const struct step_ids *ids = &recent->items[i].ids;

        if (ids->jobid != jobid)
            continue;
        last = ids->restart > last ? ids->restart : last;
        found = true;
    }
    return found ? last : UINT32_MAX;
}
