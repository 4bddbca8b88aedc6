/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "common/tree.h"
#include "report/compare/compare.h"

/* Few digits: six decimals of seconds and shares. */
static void put_number(struct tree *t, struct json_object *to, const char *key, double value)
{
    tree_put_number(t, to, key, value, TREE_FEW);
}

static struct json_object *use_json(struct tree *t, const struct profile_use *use,
                                    enum profile_kind kind)
{
    struct json_object *o = tree_object(t);

    put_number(t, o, "requests", use->calls);
    if (kind != PROFILE_META)
        put_number(t, o, "bytes", use->bytes);
    put_number(t, o, "errors", use->errors);
    if (use->size_bytes > 0)
        put_number(t, o, "median_bytes", use->size_bytes);
    put_number(t, o, "time_ns", floor(use->time_ns));
    put_number(t, o, "waiting", use->wait);
    return o;
}

static void put_uses(struct tree *t, struct json_object *to,
                     const struct profile_use uses[PROFILE_KINDS])
{
    for (int k = 0; k < PROFILE_KINDS; k++)
        if (uses[k].calls > 0)
            tree_put(t, to, profile_kind_name((enum profile_kind)k),
                     use_json(t, &uses[k], (enum profile_kind)k));
}

static struct json_object *mounts_json(struct tree *t, const struct profile *p)
{
    struct json_object *array = tree_array(t);

    for (size_t i = 0; i < p->n; i++) {
        struct json_object *o = tree_object(t);

        tree_put_text(t, o, "mount", p->mounts[i].mount);
        tree_put_text(t, o, "fstype", p->mounts[i].fstype);
        put_uses(t, o, p->mounts[i].uses);
        tree_add(t, array, o);
    }
    return array;
}

struct json_object *profile_json(const struct profile *p)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t), *total = tree_object(t);

    tree_put_u64(t, o, "runs", p->runs);
    tree_put_bool(t, o, "complete", p->complete);
    put_number(t, o, "elapsed_s", p->elapsed_s);
    put_number(t, o, "waiting", p->wait);
    put_uses(t, total, p->total);
    tree_put(t, o, "total", total);
    tree_put(t, o, "mounts", mounts_json(t, p));
    return tree_end(t, o);
}
