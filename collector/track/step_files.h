/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files in steps/: steps whose plugin did not reach jobiod, and steps that have ended. */
#ifndef JOBIO_COLLECTOR_TRACK_STEP_FILES_H
#define JOBIO_COLLECTOR_TRACK_STEP_FILES_H

#include "collector/track/tracker_state.h"

/* A step file has appeared: track its step. Its .end file is left to step_files_scan(), since an
 * END message may be on its way. */
void step_file_track(struct tracker *tracker, const char *name);
/* Look at all files: track steps that are not tracked, end those with an .end file. */
void step_files_scan(struct tracker *tracker);

#endif
