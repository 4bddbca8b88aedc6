/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/degraded.h"

#include "common/log.h"
#include "common/tree.h"

static const char *const names[DEGRADED_PARTS] = {
    [DEGRADED_PEERS] = "peers", [DEGRADED_METRICS] = "metrics", [DEGRADED_PUSH] = "push"};

const char *degraded_name(enum degraded_part part)
{
    return names[part];
}

void degraded_set(struct degraded *degraded, enum degraded_part part, const struct error *why)
{
    if (why)
        log_error("[%s] does not work as configured, jobs are counted nevertheless: %s",
                  names[part], why->text);
    else
        log_info("[%s] works again", names[part]);
    degraded->why[part] = why ? *why : (struct error){""};
}

struct json_object *degraded_json(struct tree *tree, const struct degraded *degraded)
{
    struct json_object *object = NULL;

    for (int part = 0; part < DEGRADED_PARTS; part++) {
        if (!*degraded->why[part].text)
            continue;
        if (!object)
            object = tree_object(tree);
        tree_put_text(tree, object, names[part], degraded->why[part].text);
    }
    return object;
}
