/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reading as JSON, and back. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/tree.h"
#include "report/top/top.h"

#define VERSION 1

static const struct {
    const char *key;
    size_t offset;
} sums[] = {
    {"read_bytes", offsetof(struct top_sums, read_bytes)},
    {"read_requests", offsetof(struct top_sums, read_requests)},
    {"write_bytes", offsetof(struct top_sums, write_bytes)},
    {"write_requests", offsetof(struct top_sums, write_requests)},
    {"metadata_requests", offsetof(struct top_sums, meta_requests)},
    {"errors", offsetof(struct top_sums, errors)},
    {"wait_ns", offsetof(struct top_sums, wait_ns)},
    {"mmap_read_bytes", offsetof(struct top_sums, mmap_read_bytes)},
    {"mmap_write_bytes", offsetof(struct top_sums, mmap_write_bytes)},
    {"events", offsetof(struct top_sums, events)},
};

static const char *const kinds[TOP_KINDS_READ] = {
    [TOP_JOB] = "job", [TOP_RUN] = "run", [TOP_SERVICE] = "service"};

/* --- to JSON ---------------------------------------------------------------------------------- */

static struct json_object *sizes_json(struct tree *t, const struct top_sums *s)
{
    struct json_object *array = tree_array(t);
    int n = IO_BUCKETS;

    while (n > 0 && !s->sizes[n - 1])
        n--;
    for (int i = 0; i < n; i++)
        tree_add_u64(t, array, s->sizes[i]);
    return array;
}

static struct json_object *mount_json(struct tree *t, const struct top_mount *m)
{
    struct json_object *o = tree_object(t);

    tree_put_text(t, o, "mount", m->mount);
    tree_put_text(t, o, "fstype", m->fstype);
    tree_put_text(t, o, "source", m->source);
    tree_put_bool(t, o, "labelled", m->labelled);
    for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
        uint64_t value;

        memcpy(&value, (const char *)&m->sums + sums[i].offset, sizeof(value));
        if (value)
            tree_put_u64(t, o, sums[i].key, value);
    }
    tree_put(t, o, "size_log2", sizes_json(t, &m->sums));
    return o;
}

static struct json_object *mounts_json(struct tree *t, const struct top_mount *mounts, size_t n)
{
    struct json_object *array = tree_array(t);

    for (size_t i = 0; i < n; i++)
        tree_add(t, array, mount_json(t, &mounts[i]));
    return array;
}

static struct json_object *who_json(struct tree *t, const struct top_who *who)
{
    struct json_object *o = tree_object(t);

    tree_put_text(t, o, "kind", kinds[who->kind]);
    tree_put_u64(t, o, "number", who->number);
    tree_put_u64(t, o, "restart", who->restart);
    tree_put_u64(t, o, "uid", who->uid);
    tree_put_text(t, o, "user", who->user);
    tree_put_text(t, o, "name", who->name);
    tree_put_u64(t, o, "since_ns", who->since_ns);
    tree_put_u64(t, o, "steps", who->steps);
    tree_put(t, o, "mounts", mounts_json(t, who->mounts, who->n));
    return o;
}

static bool may_see(const struct top_who *who, uint32_t uid, bool services)
{
    if (who->kind == TOP_SERVICE)
        return uid == UINT32_MAX && services;
    return uid == UINT32_MAX || who->uid == uid;
}

struct json_object *top_json(const struct top_reading *r, uint32_t uid, bool services)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t);
    struct json_object *all = tree_array(t);
    uint64_t hidden = r->hidden;

    tree_put_u64(t, o, "version", VERSION);
    tree_put_text(t, o, "node", r->node);
    tree_put_u64(t, o, "at_ns", r->at_ns);
    tree_put_u64(t, o, "time_ns", r->time_ns);
    tree_put_u64(t, o, "took_ns", r->took_ns);
    tree_put_u64(t, o, "lost", r->lost);
    tree_put_u64(t, o, "ns_per_event", r->ns_per_event);
    tree_put_u64(t, o, "unsupported", r->unsupported);
    tree_put_text(t, o, "not_counted", r->not_counted);
    if (services)
        tree_put_text(t, o, "no_services",
                      uid == UINT32_MAX ? r->no_services
                                        : "only root and members of the group jobio may see them");
    for (size_t i = 0; i < r->n; i++) {
        if (may_see(&r->all[i], uid, services))
            tree_add(t, all, who_json(t, &r->all[i]));
        else
            hidden += r->all[i].kind == TOP_JOB;
    }
    tree_put_u64(t, o, "hidden", hidden);
    tree_put(t, o, "all", all);
    tree_put(t, o, "totals", mounts_json(t, r->totals, r->n_totals));
    return tree_end(t, o);
}

/* --- from JSON -------------------------------------------------------------------------------- */

/* A missing member, or one of another type, is 0: older versions of jobiod lack some. */
static uint64_t get_u64(struct json_object *from, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(from, key, &value) ? json_object_get_uint64(value) : 0;
}

static const char *get_text(struct json_object *from, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(from, key, &value) && value ? json_object_get_string(value)
                                                                 : NULL;
}

static size_t get_array(struct json_object *from, const char *key, struct json_object **ret)
{
    if (!json_object_object_get_ex(from, key, ret) || !json_object_is_type(*ret, json_type_array))
        return 0;
    return json_object_array_length(*ret);
}

static int copy(char **to, const char *from, const char *fallback)
{
    return text_copy(to, from ? from : fallback);
}

static void parse_sums(struct json_object *from, struct top_sums *to)
{
    struct json_object *array;
    size_t n = get_array(from, "size_log2", &array);

    for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
        uint64_t value = get_u64(from, sums[i].key);

        memcpy((char *)to + sums[i].offset, &value, sizeof(value));
    }
    for (size_t i = 0; i < n && i < IO_BUCKETS; i++)
        to->sizes[i] = json_object_get_uint64(json_object_array_get_idx(array, i));
}

static int parse_mounts(struct json_object *from, const char *key, struct top_mount **mounts,
                        size_t *n_mounts)
{
    struct json_object *array, *labelled;
    size_t n = get_array(from, key, &array);

    *mounts = calloc(n + 1, sizeof(**mounts));
    if (!*mounts)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(array, i);
        struct top_mount *m = &(*mounts)[(*n_mounts)++];

        if (copy(&m->mount, get_text(item, "mount"), "(unknown)") < 0 ||
            copy(&m->fstype, get_text(item, "fstype"), "") < 0 ||
            copy(&m->source, get_text(item, "source"), "") < 0)
            return -ENOMEM;
        m->labelled = json_object_object_get_ex(item, "labelled", &labelled) &&
                      json_object_get_boolean(labelled);
        parse_sums(item, &m->sums);
    }
    return 0;
}

static int parse_kind(const char *name)
{
    for (int kind = 0; name && kind < TOP_KINDS_READ; kind++)
        if (!strcmp(name, kinds[kind]))
            return kind;
    return -EINVAL;
}

static int parse_who(struct json_object *from, struct top_reading *reading)
{
    int kind = parse_kind(get_text(from, "kind"));
    struct top_who *who;

    if (kind < 0)
        return 0; /* from a newer jobiod */
    who = top_add(reading, (enum top_kind)kind, get_u64(from, "number"), get_text(from, "user"),
                  get_text(from, "name"));
    if (!who)
        return -ENOMEM;
    who->restart = (uint32_t)get_u64(from, "restart");
    who->uid = (uint32_t)get_u64(from, "uid");
    who->since_ns = get_u64(from, "since_ns");
    who->steps = (uint32_t)get_u64(from, "steps");
    return parse_mounts(from, "mounts", &who->mounts, &who->n);
}

DEFINE_CLEANUP(struct top_reading, top_reading_destroy)

int top_parse(struct json_object *document, struct top_reading **ret, struct error *error)
{
    CLEANUP(top_reading_destroyp) struct top_reading *r = calloc(1, sizeof(*r));
    struct json_object *all = NULL;
    size_t n;
    int rc;

    if (!r)
        return error_set(error, -ENOMEM, "out of memory for a reading");
    if (!json_object_is_type(document, json_type_object) || !get_u64(document, "at_ns"))
        return error_set(error, -EBADMSG, "the answer of jobiod is not a reading");
    r->at_ns = get_u64(document, "at_ns");
    r->time_ns = get_u64(document, "time_ns");
    r->took_ns = get_u64(document, "took_ns");
    r->lost = get_u64(document, "lost");
    r->ns_per_event = get_u64(document, "ns_per_event");
    r->unsupported = get_u64(document, "unsupported");
    r->hidden = (uint32_t)get_u64(document, "hidden");
    rc = copy(&r->node, get_text(document, "node"), "");
    if (!rc)
        rc = copy(&r->not_counted, get_text(document, "not_counted"), NULL);
    if (!rc)
        rc = copy(&r->no_services, get_text(document, "no_services"), NULL);
    n = get_array(document, "all", &all);
    for (size_t i = 0; i < n && !rc; i++)
        rc = parse_who(json_object_array_get_idx(all, i), r);
    if (!rc)
        rc = parse_mounts(document, "totals", &r->totals, &r->n_totals);
    if (rc < 0)
        return error_set(error, rc, "out of memory for a reading");
    *ret = TAKE_PTR(r);
    return 0;
}
