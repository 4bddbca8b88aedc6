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

/* A member of a document: a field of one of the structs below. */
struct member {
    const char *key;
    enum { TEXT, BOOL, U32, U64, SUM } type; /* SUM: U64 that is left out if it is 0 */
    size_t offset;
    const char *missing; /* of TEXT that a document lacks; NULL: stays NULL */
};

#define WHO(field, type)                                    \
    {                                                       \
#field, type, offsetof(struct top_who, field), NULL \
    }
#define READING(field, type)                                    \
    {                                                           \
#field, type, offsetof(struct top_reading, field), NULL \
    }
#define SUM(key, field)                                        \
    {                                                          \
        key, SUM, offsetof(struct top_mount, sums.field), NULL \
    }
static const struct member mount_members[] = {
    {"mount", TEXT, offsetof(struct top_mount, mount), "(unknown)"},
    {"fstype", TEXT, offsetof(struct top_mount, fstype), ""},
    {"source", TEXT, offsetof(struct top_mount, source), ""},
    {"labelled", BOOL, offsetof(struct top_mount, labelled), NULL},
    SUM("read_bytes", read_bytes),
    SUM("read_requests", read_requests),
    SUM("write_bytes", write_bytes),
    SUM("write_requests", write_requests),
    SUM("metadata_requests", meta_requests),
    SUM("errors", errors),
    SUM("wait_ns", wait_ns),
    SUM("mmap_read_bytes", mmap_read_bytes),
    SUM("mmap_write_bytes", mmap_write_bytes),
    SUM("events", events),
};

static const struct member who_members[] = {
    WHO(number, U64), WHO(restart, U32),  WHO(uid, U32),   WHO(user, TEXT),
    WHO(name, TEXT),  WHO(since_ns, U64), WHO(steps, U32),
};

static const struct member reading_members[] = {
    {"node", TEXT, offsetof(struct top_reading, node), ""},
    READING(at_ns, U64),
    READING(time_ns, U64),
    READING(took_ns, U64),
    READING(lost, U64),
    READING(ns_per_event, U64),
    READING(unsupported, U64),
    READING(not_counted, TEXT),
};

static const char *const kinds[TOP_KINDS_READ] = {
    [TOP_JOB] = "job", [TOP_RUN] = "run", [TOP_SERVICE] = "service"};

/* --- to JSON ---------------------------------------------------------------------------------- */

static void put_members(struct tree *t, struct json_object *o, const struct member *members,
                        size_t n, const void *from)
{
    for (size_t i = 0; i < n; i++) {
        const void *field = (const char *)from + members[i].offset;

        if (members[i].type == TEXT)
            tree_put_text(t, o, members[i].key, *(char *const *)field);
        else if (members[i].type == BOOL)
            tree_put_bool(t, o, members[i].key, *(const bool *)field);
        else if (members[i].type == U32)
            tree_put_u64(t, o, members[i].key, *(const uint32_t *)field);
        else if (members[i].type == U64 || *(const uint64_t *)field)
            tree_put_u64(t, o, members[i].key, *(const uint64_t *)field);
    }
}

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

    put_members(t, o, mount_members, ARRAY_SIZE(mount_members), m);
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
    put_members(t, o, who_members, ARRAY_SIZE(who_members), who);
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
    put_members(t, o, reading_members, ARRAY_SIZE(reading_members), r);
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

static bool get_bool(struct json_object *from, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(from, key, &value) && json_object_get_boolean(value);
}

static size_t get_array(struct json_object *from, const char *key, struct json_object **ret)
{
    if (!json_object_object_get_ex(from, key, ret) || !json_object_is_type(*ret, json_type_array))
        return 0;
    return json_object_array_length(*ret);
}

/* 0 or -ENOMEM. */
static int get_members(struct json_object *from, const struct member *members, size_t n, void *to)
{
    for (size_t i = 0; i < n; i++) {
        const struct member *m = &members[i];
        void *field = (char *)to + m->offset;
        const char *text = m->type == TEXT ? get_text(from, m->key) : NULL;

        if (m->type == TEXT && text_copy(field, text ? text : m->missing) < 0)
            return -ENOMEM;
        if (m->type == BOOL)
            *(bool *)field = get_bool(from, m->key);
        else if (m->type == U32)
            *(uint32_t *)field = (uint32_t)get_u64(from, m->key);
        else if (m->type == U64 || m->type == SUM)
            *(uint64_t *)field = get_u64(from, m->key);
    }
    return 0;
}

static int parse_mount(struct json_object *from, struct top_mount *m)
{
    struct json_object *array;
    size_t n = get_array(from, "size_log2", &array);

    for (size_t i = 0; i < n && i < IO_BUCKETS; i++)
        m->sums.sizes[i] = json_object_get_uint64(json_object_array_get_idx(array, i));
    return get_members(from, mount_members, ARRAY_SIZE(mount_members), m);
}

static int parse_mounts(struct json_object *from, const char *key, struct top_mount **mounts,
                        size_t *n_mounts)
{
    struct json_object *array;
    size_t n = get_array(from, key, &array);

    *mounts = calloc(n + 1, sizeof(**mounts));
    if (!*mounts)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (parse_mount(json_object_array_get_idx(array, i), &(*mounts)[(*n_mounts)++]) < 0)
            return -ENOMEM;
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
    who = top_add(reading, (enum top_kind)kind, 0, NULL, NULL);
    if (!who || get_members(from, who_members, ARRAY_SIZE(who_members), who) < 0)
        return -ENOMEM;
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
    r->hidden = (uint32_t)get_u64(document, "hidden");
    rc = get_members(document, reading_members, ARRAY_SIZE(reading_members), r);
    if (!rc)
        rc = text_copy(&r->no_services, get_text(document, "no_services"));
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
