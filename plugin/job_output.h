/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_PLUGIN_JOB_OUTPUT_H
#define JOBIO_PLUGIN_JOB_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Write to `fd` in a child process, because the file system of `fd` may hang. Waits for the child
 * until `deadline_ns` (CLOCK_MONOTONIC), then abandons it (-ETIMEDOUT). The child keeps no socket
 * or pipe of the caller except `fd`. An abandoned child leaves the cgroups of the caller, or is
 * killed if it cannot, and dies 30 s after the deadline. */
int job_output_write(int fd, const char *text, size_t size, uint64_t deadline_ns,
                     struct error *error);

#endif
