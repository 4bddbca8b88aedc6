/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to try again: random times, so that the nodes of a cluster do not go in step. */
#ifndef JOBIO_COLLECTOR_HTTP_BACKOFF_H
#define JOBIO_COLLECTOR_HTTP_BACKOFF_H

#include <stdint.h>

#define PACE_RETRY_AFTER_MAX UINT64_C(3600) /* s: a server's word counts, but not for ever */

uint64_t pace_random_to(uint64_t top); /* 0 <= r <= top */
uint64_t pace_jittered(uint64_t ns);   /* +-10 % */
/* After so many failures in a row: anything up to step x 2^(failures - 1), at most up to top. */
uint64_t pace_backoff(uint64_t step_ns, uint64_t top_ns, uint64_t failures);

#endif
