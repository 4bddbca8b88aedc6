/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_PLUGIN_JOB_OUTPUT_H
#define JOBIO_PLUGIN_JOB_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Write to `fd` from a child, which may hang on the file system of `fd` for as long as it likes:
 * it is waited for until `deadline_ns` (CLOCK_MONOTONIC) and then left alone (-ETIMEDOUT), with no
 * socket or pipe of the caller but `fd`. */
int output_write(int fd, const char *text, size_t size, uint64_t deadline_ns, struct error *error);

#endif
