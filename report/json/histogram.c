/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram as an array, both ways. */
#include "report/json/json_impl.h"

struct json_object *json_histogram(struct tree *t, const uint64_t buckets[IO_BUCKETS])
{
    struct json_object *list = tree_array(t);
    unsigned n = IO_BUCKETS;

    while (n && !buckets[n - 1])
        n--;
    for (unsigned i = 0; i < n; i++)
        tree_add_u64(t, list, buckets[i]);
    return list;
}

int json_get_histogram(struct json_object *from, const char *key, uint64_t buckets[IO_BUCKETS],
                       struct error *error)
{
    struct json_object *list;
    int r = json_get(from, key, json_type_array, &list, error);

    if (r <= 0)
        return r;
    if (json_object_array_length(list) > IO_BUCKETS)
        return error_set(error, -EBADMSG, "\"%s\" has more than %d buckets", key, IO_BUCKETS);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        r = json_number(json_object_array_get_idx(list, i), key, UINT64_MAX, &buckets[i], error);
        if (r < 0)
            return r;
    }
    return 0;
}
