/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random delays for retries, so that the nodes of a cluster do not act at the same moment. All
 * times are in ns. */
#ifndef JOBIO_COLLECTOR_HTTP_BACKOFF_H
#define JOBIO_COLLECTOR_HTTP_BACKOFF_H

#include <stdint.h>

#define BACKOFF_RETRY_AFTER_MAX UINT64_C(3600) /* s: a longer Retry-After is cut to this */

uint64_t backoff_random(uint64_t max);  /* 0 <= r <= max */
uint64_t backoff_jittered(uint64_t ns); /* +-10 % */
/* The delay after `failures` consecutive failures: exponential backoff with full jitter, a random
 * time between 0 and the smaller of step_ns x 2^(failures - 1) and max_ns. */
uint64_t backoff_wait(uint64_t step_ns, uint64_t max_ns, uint64_t failures);

#endif
