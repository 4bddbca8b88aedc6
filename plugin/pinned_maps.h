/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tags a cgroup without jobiod: writes it to the maps that jobiod has pinned. */
#ifndef JOBIO_PLUGIN_PINNED_MAPS_H
#define JOBIO_PLUGIN_PINNED_MAPS_H

#include "plugin/cgroup.h"

/* `runtime` is the directory of the file `probe`. 0 also if the cgroup was tagged before. */
int pinned_maps_tag(const char *runtime, const struct cgroup *cgroup, struct error *error);

#endif
