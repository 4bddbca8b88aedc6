/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and histograms in rows. */
#include <errno.h>
#include <json-c/json.h>

#include "report/rows/rows_impl.h"
#include "common/tree.h"

struct json_object *rows_number_json(uint64_t number)
{
    return json_object_new_int64(number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

struct json_object *rows_histogram_json(struct tree *tree, const uint64_t buckets[IO_BUCKETS])
{
    struct json_object *array = tree_array(tree);
    size_t n = IO_BUCKETS;

    while (n && !buckets[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        tree_add(tree, array, rows_number_json(buckets[i]));
    return array;
}

int rows_histogram_parse(struct json_object *value, uint64_t buckets[IO_BUCKETS])
{
    if (!json_object_is_type(value, json_type_array))
        return value ? -EBADMSG : 0;
    for (size_t i = 0; i < IO_BUCKETS && i < json_object_array_length(value); i++)
        buckets[i] = json_object_get_uint64(json_object_array_get_idx(value, i));
    return 0;
}
