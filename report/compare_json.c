/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "report/compare.h"

/* A writer that remembers that memory was out. */
struct writer {
    bool failed;
};

static void put(struct writer *w, struct json_object *to, const char *key, struct json_object *value)
{
    if (value && to && json_object_object_add(to, key, value) == 0)
        return;
    json_object_put(value);
    w->failed = true;
}

/* As few digits as say it exactly enough: seconds and shares to the sixth. */
static void put_number(struct writer *w, struct json_object *to, const char *key, double value)
{
    char text[64];

    if (value == floor(value) && fabs(value) < 1e15)
        (void)snprintf(text, sizeof(text), "%.0f", value);
    else
        (void)snprintf(text, sizeof(text), "%.6f", value);
    put(w, to, key, json_object_new_double_s(value, text));
}

static void put_text(struct writer *w, struct json_object *to, const char *key, const char *value)
{
    _free_ char *text = units_utf8(value);

    put(w, to, key, text ? json_object_new_string(text) : NULL);
}

static struct json_object *use_json(struct writer *w, const struct profile_use *use,
                                    enum profile_kind kind)
{
    struct json_object *o = json_object_new_object();

    put_number(w, o, "requests", use->calls);
    if (kind != PROFILE_META)
        put_number(w, o, "bytes", use->bytes);
    put_number(w, o, "errors", use->errors);
    if (use->size_bytes > 0)
        put_number(w, o, "median_bytes", use->size_bytes);
    put_number(w, o, "time_ns", floor(use->time_ns));
    put_number(w, o, "waiting", use->wait);
    return o;
}

static void put_uses(struct writer *w, struct json_object *to,
                     const struct profile_use uses[PROFILE_KINDS])
{
    for (int k = 0; k < PROFILE_KINDS; k++)
        if (uses[k].calls > 0)
            put(w, to, profile_kind_name((enum profile_kind)k),
                use_json(w, &uses[k], (enum profile_kind)k));
}

static struct json_object *mounts_json(struct writer *w, const struct profile *p)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; array && i < p->n; i++) {
        struct json_object *o = json_object_new_object();

        put_text(w, o, "mount", p->mounts[i].mount);
        put_text(w, o, "fstype", p->mounts[i].fstype);
        put_uses(w, o, p->mounts[i].uses);
        if (json_object_array_add(array, o) < 0) {
            json_object_put(o);
            w->failed = true;
        }
    }
    return array;
}

struct json_object *profile_json(const struct profile *p)
{
    struct writer w = {false};
    struct json_object *o = json_object_new_object(), *total = json_object_new_object();

    put(&w, o, "runs", json_object_new_uint64(p->runs));
    put(&w, o, "complete", json_object_new_boolean(p->complete));
    put_number(&w, o, "elapsed_s", p->elapsed_s);
    put_number(&w, o, "waiting", p->wait);
    put_uses(&w, total, p->total);
    put(&w, o, "total", total);
    put(&w, o, "mounts", mounts_json(&w, p));
    if (!w.failed)
        return o;
    json_object_put(o);
    return NULL;
}
