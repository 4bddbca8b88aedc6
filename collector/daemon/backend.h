/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel side of jobiod: loads it according to the settings, tests it, and announces it to the
 * plugin. */
#ifndef JOBIO_COLLECTOR_DAEMON_BACKEND_H
#define JOBIO_COLLECTOR_DAEMON_BACKEND_H

#include <stdbool.h>

#include "collector/probe/probe.h"
#include "collector/probe/selftest.h"
#include "settings/settings.h"

struct hierarchy;
struct sampler;
struct services;

struct backend_options {
    const char *runtime_dir, *pin_dir;
    const struct settings *settings;
};

/* A kernel that cannot count is not an error: the probe is blind then, and jobs are tracked without
 * being counted. The file `probe` in the runtime directory lets plugins tag steps while jobiod does
 * not run. */
int backend_create(struct probe **ret, const struct backend_options *options, struct error *error);
/* What counts reads: "fentry", "kprobe", "tp_btf" or "none". */
const char *backend_in_use(struct probe *probe);
/* Test what the probe counts. If the test cannot run, *ret is all 0 and the probe is assumed to
 * work.
 */
void backend_test(struct probe *probe, struct hierarchy *hierarchy, const char *runtime_dir,
                  struct selftest *ret);

struct backend_parts {
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
};
/* Count the services of the node, if it is wanted. If they are not counted, *why is the reason,
 * which is malloc'd. 0 or -ENOMEM. */
int backend_count_services(struct services **ret, char **why, bool wanted,
                           const struct backend_parts *parts, struct error *error);

#endif
