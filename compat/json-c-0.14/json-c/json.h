/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What json.h has since json-c 0.14, for 0.13. Its numbers end at INT64_MAX: a larger one is
 * printed exactly, but read as INT64_MAX. No counter of jobio reaches that (8 EiB, 292 years). */
#ifndef JOBIO_COMPAT_JSON_H
#define JOBIO_COMPAT_JSON_H

#include_next <json-c/json.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define json_object_new_uint64 compat_new_uint64
#define json_object_get_uint64 compat_get_uint64
#define json_tokener_get_parse_end compat_get_parse_end

static inline struct json_object *compat_new_uint64(uint64_t value)
{
    char text[24];

    if (value <= INT64_MAX)
        return json_object_new_int64((int64_t)value);
    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    return json_object_new_double_s((double)value, text);
}

static inline uint64_t compat_get_uint64(const struct json_object *object)
{
    int64_t value;

    if (json_object_is_type(object, json_type_double) && json_object_get_double(object) >= 0x1p63)
        return INT64_MAX;
    value = json_object_get_int64(object);
    return value < 0 ? 0 : (uint64_t)value;
}

static inline size_t compat_get_parse_end(const struct json_tokener *tokener)
{
    return (size_t)tokener->char_offset;
}

#endif
