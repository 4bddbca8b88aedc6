/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a JSON document, by its path. Include tests/unit/test.h first. */
#ifndef JOBIO_TESTS_JSON_AT_H
#define JOBIO_TESTS_JSON_AT_H

#include <json-c/json.h>

#include "common/cleanup.h"

static inline void json_free(struct json_object **o)
{
    json_object_put(*o);
}
#define _json_ CLEANUP(json_free) struct json_object

static inline struct json_object *at(struct json_object *o, const char *path)
{
    struct json_object *ret = NULL;

    if (json_pointer_get(o, path, &ret) != 0)
        fail_msg("no %s in the document", path);
    return ret;
}

/* Its text, without spaces. */
static inline void check_at(struct json_object *o, const char *path, const char *text)
{
    assert_string_equal(json_object_to_json_string_ext(at(o, path), JSON_C_TO_STRING_PLAIN), text);
}

#endif
