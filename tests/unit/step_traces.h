/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces of steps that differ in what the step is, for the tests of their files. */
#ifndef JOBIO_TESTS_STEP_TRACES_H
#define JOBIO_TESTS_STEP_TRACES_H

#include "common/trace.h"

/* It has three spans of two processes; the path of the last one is "a/b". Nothing is owned. */
struct step_trace step_of(uint32_t jobid, uint32_t restart, uint32_t step, uint32_t uid,
                          uint64_t start_ns);
/* Returns the content of its file, which the caller frees. */
char *written(const struct step_trace *step, size_t *size);

#endif
