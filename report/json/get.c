/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Get members of a document by name and type. */
#include "report/json/json_impl.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"

int json_get(struct json_object *from, const char *key, enum json_type type,
             struct json_object **ret, struct error *error)
{
    struct json_object *child = NULL;

    *ret = NULL;
    if (!json_object_object_get_ex(from, key, &child) || !child)
        return 0;
    if (!json_object_is_type(child, type))
        return error_set(error, -EBADMSG, "\"%s\" is not of type %s", key, json_type_to_name(type));
    *ret = child;
    return 1;
}

int json_number(struct json_object *value, const char *what, uint64_t max, uint64_t *ret,
                struct error *error)
{
    uint64_t n;

    if (!json_object_is_type(value, json_type_int))
        return error_set(error, -EBADMSG, "\"%s\" is not an integer", what);
    n = json_object_get_uint64(value);
    /* json-c turns negative numbers into 0. */
    if (n > max || (n == 0 && json_object_get_int64(value) < 0))
        return error_set(error, -EBADMSG, "\"%s\" is out of range", what);
    *ret = n;
    return 0;
}

int json_get_u64(struct json_object *from, const char *key, uint64_t *ret, struct error *error)
{
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(from, key, &value) || !value)
        return 0;
    return json_number(value, key, UINT64_MAX, ret, error);
}

int json_get_u32(struct json_object *from, const char *key, uint32_t *ret, struct error *error)
{
    struct json_object *value = NULL;
    uint64_t n;
    int r;

    if (!json_object_object_get_ex(from, key, &value) || !value)
        return 0;
    r = json_number(value, key, UINT32_MAX, &n, error);
    if (r == 0)
        *ret = (uint32_t)n;
    return r;
}

int json_get_bool(struct json_object *from, const char *key, bool *ret, struct error *error)
{
    struct json_object *value;
    int r = json_get(from, key, json_type_boolean, &value, error);

    if (r > 0)
        *ret = json_object_get_boolean(value);
    return r < 0 ? r : 0;
}

int json_copy_string(struct json_object *value, char **ret, struct error *error)
{
    char *copy = utf8_clean(json_object_get_string(value)); /* json-c accepts invalid UTF-8 */

    if (!copy)
        return error_set(error, -ENOMEM, "out of memory");
    *ret = copy;
    return 0;
}

int json_get_string(struct json_object *from, const char *key, char **ret, struct error *error)
{
    struct json_object *value;
    int r = json_get(from, key, json_type_string, &value, error);

    return r > 0 ? json_copy_string(value, ret, error) : r;
}

/* "12.5" to nanoseconds; false for other notations, for example with an exponent. */
static bool parse_decimal(const char *text, uint64_t *ret)
{
    uint64_t ns = 0;
    const char *p = text;
    int places = -1;

    for (; (*p >= '0' && *p <= '9') || (*p == '.' && places < 0); p++) {
        if (*p == '.') {
            places = 0;
            continue;
        }
        if (places >= 9)
            continue;
        if (__builtin_mul_overflow(ns, 10, &ns) ||
            __builtin_add_overflow(ns, (uint64_t)(*p - '0'), &ns))
            return false;
        places += places >= 0;
    }
    for (places = places < 0 ? 0 : places; places < 9; places++)
        if (__builtin_mul_overflow(ns, 10, &ns))
            return false;
    *ret = ns;
    return p != text && !*p;
}

/* json-c keeps the text of a parsed number, so no precision is lost. */
int json_get_seconds(struct json_object *from, const char *key, uint64_t *ret, struct error *error)
{
    struct json_object *value = NULL;
    const char *text;
    double seconds;

    if (!json_object_object_get_ex(from, key, &value) || !value)
        return 0;
    if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double))
        return error_set(error, -EBADMSG, "\"%s\" is not a number", key);
    text = json_object_get_string(value); /* a copy, if it is not a string */
    if (!text)
        return error_set(error, -ENOMEM, "out of memory");
    if (parse_decimal(text, ret))
        return 0;
    seconds = json_object_get_double(value);
    if (!(seconds >= 0 && seconds < (double)UINT64_MAX / (double)NS_PER_S))
        return error_set(error, -EBADMSG, "\"%s\" is out of range", key);
    *ret = (uint64_t)(seconds * (double)NS_PER_S);
    return 0;
}
