/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_impl.h"

#include <json-c/json.h>

#include "common/cleanup.h"
#include "common/tree.h"

static struct json_object *bins(struct tree *t, const struct timeline *timeline,
                                enum timeline_kind kind)
{
    unsigned n = timeline_length(timeline, kind);
    struct json_object *list = tree_array(t);

    for (unsigned i = 0; i < n; i++)
        tree_add_u64(t, list, *timeline_number(&timeline->bins[i], kind));
    return list;
}

static struct json_object *document(const struct timeline *timeline)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t);

    tree_put_u64(t, o, "start_s", timeline->start_s);
    tree_put_u64(t, o, "width_s", timeline->width_s);
    for (int kind = 0; kind < TIMELINE_NUMBERS; kind++)
        if (kind != TIMELINE_LONGEST || timeline_length(timeline, kind))
            tree_put(t, o, timeline_kind_name(kind), bins(t, timeline, kind));
    return tree_end(t, o);
}

struct json_object *json_timeline(const struct timeline *t, unsigned max)
{
    CLEANUP(timeline_clear) struct timeline wide = {0};

    if (t->n <= max)
        return document(t);
    if (timeline_copy(t, &wide) < 0)
        return NULL;
    timeline_limit(&wide, max);
    return document(&wide);
}

/* Raises *n to the number of bins read. Returns 1 if there is such an array, 0 if there is not. */
static int get_bins(struct json_object *from, enum timeline_kind kind,
                    struct timeline_bin to[TIMELINE_BINS], size_t *n, struct error *error)
{
    const char *key = timeline_kind_name(kind);
    struct json_object *list;
    size_t length;

    if (!json_object_object_get_ex(from, key, &list) || !list)
        return 0;
    if (!json_object_is_type(list, json_type_array))
        return error_set(error, -EBADMSG, "\"%s\" is not an array", key);
    length = json_object_array_length(list);
    if (length > TIMELINE_BINS)
        return error_set(error, -EBADMSG, "\"%s\" has more than %d bins", key, TIMELINE_BINS);
    for (size_t i = 0; i < length; i++) {
        int r = json_number(json_object_array_get_idx(list, i), key, UINT64_MAX,
                            timeline_number(&to[i], kind), error);

        if (r < 0)
            return r;
    }
    *n = length > *n ? length : *n;
    return 1;
}

static int parse(struct json_object *from, struct timeline *ret, struct error *error)
{
    struct timeline_bin to[TIMELINE_BINS] = {0};
    struct json_object *start = NULL, *width = NULL;
    uint64_t start_s = 0, width_s = 0;
    bool is_known;
    size_t n = 0;
    int r;

    (void)json_object_object_get_ex(from, "start_s", &start);
    (void)json_object_object_get_ex(from, "width_s", &width);
    r = json_number(start, "start_s", UINT64_MAX, &start_s, error);
    if (r == 0)
        r = json_number(width, "width_s", UINT64_MAX, &width_s, error);
    for (int kind = 0; kind < TIMELINE_NUMBERS && r >= 0; kind++)
        r = get_bins(from, kind, to, &n, error);
    if (r < 0)
        return r;
    is_known = r; /* the longest wait is the last array, and older releases do not have it */
    r = timeline_set(ret, start_s, width_s, to, n);
    if (r == 0 && !is_known)
        timeline_forget_longest(ret);
    if (r == -EINVAL)
        return error_set(error, -EBADMSG, "bins of %llu s from %llu s are not valid",
                         (unsigned long long)width_s, (unsigned long long)start_s);
    return r < 0 ? error_set(error, r, "out of memory") : 0;
}

int json_get_timeline(struct json_object *mount, struct timeline *ret, struct error *error)
{
    struct json_object *from;
    int r = json_get(mount, "timeline", json_type_object, &from, error);

    if (r <= 0)
        return r;
    r = parse(from, ret, error);
    return r == -EBADMSG ? error_prefix(error, r, "timeline") : r;
}
