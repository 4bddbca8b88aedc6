/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The largest number that comes back from JSON. With json-c 0.13, and with the header of compat/
 * for it, it is INT64_MAX (doc/kernels.md). Include json.h first. */
#ifndef JOBIO_TESTS_JSON_MAX_H
#define JOBIO_TESTS_JSON_MAX_H

#include <stdint.h>

#ifdef json_object_get_uint64
#define JSON_MAX ((uint64_t)INT64_MAX)
#else
#define JSON_MAX UINT64_MAX
#endif

#endif
