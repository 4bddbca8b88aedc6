/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tag without jobiod: put the cgroup into the maps that jobiod has pinned. */
#ifndef JOBIO_PLUGIN_PINNED_MAPS_H
#define JOBIO_PLUGIN_PINNED_MAPS_H

#include "plugin/cgroup.h"

/* `runtime` is the directory of the file `probe`. 0 if the cgroup is tagged from now on, or was. */
int direct_tag(const char *runtime, const struct cgroup *cgroup, struct error *error);

#endif
