/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traces of steps: which are traced, and what becomes of the trace at their end. */
#ifndef JOBIO_COLLECTOR_TRACK_STEP_TRACE_H
#define JOBIO_COLLECTOR_TRACK_STEP_TRACE_H

#include <stdbool.h>

#include "collector/track/step.h"

struct tracker;

/* Trace the step if its user wants it and this node allows it. partial: its programs may already
 * run. A failure is logged: the step is counted, but has no trace. */
void step_trace_start(struct step *step, bool partial);
/* At times, have the writer remove traces that are too old, also if no step is traced. */
void step_traces_sweep(struct tracker *tracker);
/* The step has ended, and its account is final: hand its trace to the writer, which puts it into
 * the directory. */
void step_trace_end(struct step *step);

#endif
