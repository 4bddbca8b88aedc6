/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf, tdestroy */
#include "cli/base/labels_impl.h"

#include <errno.h>
#include <json-c/json.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/utf8.h"

#define FROM_NS (315532800ull * NS_PER_S) /* 1980-01-01 */

static const char *const kind_names[KINDS] = {
    [KIND_USER] = "user",   [KIND_ACCOUNT] = "account", [KIND_PARTITION] = "partition",
    [KIND_NAME] = "name",   [KIND_CLUSTER] = "cluster", [KIND_NODE] = "node",
    [KIND_MOUNT] = "mount", [KIND_SOURCE] = "source",   [KIND_PATH] = "path",
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->text, ((const struct label *)b)->text);
}

static void label_free(void *arg)
{
    struct label *label = arg;

    free(label->text);
    free(label->shown);
    free(label->name);
    free(label);
}

static void set_start(struct labels *a, uint64_t ns)
{
    uint64_t back = ns > FROM_NS ? ns - FROM_NS : 0;

    a->back_ns = back - back % a->grain_ns;
    a->known = true;
}

struct labels *labels_create(uint64_t from_ns)
{
    struct labels *anonymous = calloc(1, sizeof(*anonymous));

    if (!anonymous)
        return NULL;
    anonymous->grain_ns = NS_PER_S; /* whole seconds stay whole */
    if (from_ns)
        set_start(anonymous, from_ns);
    return anonymous;
}

void labels_destroy(struct labels *anonymous)
{
    if (!anonymous)
        return;
    for (size_t i = 0; i < KINDS; i++)
        tdestroy(anonymous->trees[i], label_free);
    free(anonymous);
}

static struct label *label_make(struct labels *a, enum kind kind, const char *text)
{
    struct label *label = calloc(1, sizeof(*label));
    const char *name = kind_names[kind] ? kind_names[kind] : "";

    if (!label)
        return NULL;
    label->text = strdup(text);
    label->shown = utf8_sanitize(text);
    label->number = a->n[kind] + 1;
    if (asprintf(&label->name, "%s%u", name, label->number) < 0)
        label->name = NULL;
    if (!label->text || !label->shown || !label->name ||
        !tsearch(label, &a->trees[kind], compare)) {
        label_free(label);
        return NULL;
    }
    a->n[kind]++;
    return label;
}

const struct label *labels_find(struct labels *a, enum kind kind, const char *text)
{
    const struct label wanted = {.text = (char *)text};
    struct label *const *found = tfind(&wanted, &a->trees[kind], compare);

    return found ? *found : label_make(a, kind, text);
}

static int rename_text(struct labels *a, enum kind kind, const char **text)
{
    const struct label *label = *text ? labels_find(a, kind, *text) : NULL;

    if (*text && !label)
        return -ENOMEM;
    *text = label ? label->name : NULL;
    return 0;
}

static int renumber(struct labels *a, enum kind kind, uint32_t *number)
{
    char text[16];
    const struct label *label;

    (void)snprintf(text, sizeof(text), "%u", *number);
    label = labels_find(a, kind, text);
    if (!label)
        return -ENOMEM;
    *number = label->number;
    return 0;
}

/* 0 is "not yet". */
static uint64_t move_time(struct labels *a, uint64_t ns)
{
    if (!ns)
        return 0;
    if (!a->known)
        set_start(a, ns);
    return ns > a->back_ns ? ns - a->back_ns : 1;
}

/* "/scratch,/home": each by itself. */
static int rename_mounts(struct labels *a, const char **list)
{
    _free_ char *copy = *list ? strdup(*list) : NULL;
    char *save = NULL, *text = NULL;

    for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word;
         word = strtok_r(NULL, ",", &save)) {
        const struct label *label = labels_find(a, KIND_MOUNT, word);
        char *longer = NULL;

        if (!label ||
            asprintf(&longer, "%s%s%s", text ? text : "", text ? "," : "", label->name) < 0)
            longer = NULL;
        free(text);
        text = longer;
        if (!text)
            return -ENOMEM;
    }
    if (text) { /* kept as a label of its own name, so that somebody owns it */
        const struct label *label = labels_find(a, KIND_LIST, text);

        free(text);
        *list = label ? label->text : NULL;
        return label ? 0 : -ENOMEM;
    }
    return *list ? -ENOMEM : 0;
}

int labels_row(struct labels *a, struct history_row *row)
{
    if (rename_text(a, KIND_USER, &row->user) < 0 ||
        rename_text(a, KIND_ACCOUNT, &row->account) < 0 ||
        rename_text(a, KIND_PARTITION, &row->partition) < 0 ||
        rename_text(a, KIND_NAME, &row->name) < 0 ||
        rename_text(a, KIND_CLUSTER, &row->cluster) < 0 || rename_mounts(a, &row->mount) < 0)
        return -ENOMEM;
    if (row->jobs) /* a group is no job and, but for its name, nobody's */
        row->day = NULL;
    else if (renumber(a, KIND_UID, &row->uid) < 0 || renumber(a, KIND_JOB, &row->jobid) < 0)
        return -ENOMEM;
    if (row->array_job && renumber(a, KIND_JOB, &row->array_job) < 0)
        return -ENOMEM;
    row->start_ns = move_time(a, row->start_ns);
    row->end_ns = move_time(a, row->end_ns);
    return 0;
}

/* --- documents ---------------------------------------------------------------------------------
 */

enum rule { RULE_NAME, RULE_NUMBER, RULE_TIME, RULE_CAUSE };

/* Members that say who, where or when. */
static const struct {
    const char *member;
    enum rule rule;
    enum kind kind;
} rules[] = {
    {"user", RULE_NAME, KIND_USER},
    {"account", RULE_NAME, KIND_ACCOUNT},
    {"partition", RULE_NAME, KIND_PARTITION},
    {"name", RULE_NAME, KIND_NAME},
    {"cluster", RULE_NAME, KIND_CLUSTER},
    {"node", RULE_NAME, KIND_NODE},
    {"first_node", RULE_NAME, KIND_NODE},
    {"mount", RULE_NAME, KIND_MOUNT},
    {"source", RULE_NAME, KIND_SOURCE},
    {"uid", RULE_NUMBER, KIND_UID},
    {"jobid", RULE_NUMBER, KIND_JOB},
    {"array_jobid", RULE_NUMBER, KIND_JOB},
    {"start_s", RULE_TIME, KINDS},
    {"end_s", RULE_TIME, KINDS},
    {"tagged_at_s", RULE_TIME, KINDS},
    {"cause", RULE_CAUSE, KINDS},
};

/* Texts that are words of jobio's own or of the kernel's. */
static const char *const harmless[] = {"fstype", "state", "step", "ops", "unsupported"};

static bool is_harmless(const char *member)
{
    for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
        if (member && strcmp(member, harmless[i]) == 0)
            return true;
    return false;
}

static struct json_object *name_json(struct labels *a, enum kind kind, const char *text)
{
    const struct label *label = labels_find(a, kind, text);

    return label ? json_object_new_string(label->name) : NULL;
}

static struct json_object *number_json(struct labels *a, enum kind kind, uint64_t value)
{
    uint32_t number = (uint32_t)value;

    return renumber(a, kind, &number) < 0 ? NULL : json_object_new_uint64(number);
}

/* Seconds with up to nine digits behind the point. */
static struct json_object *time_json(struct labels *a, struct json_object *value)
{
    const char *text = json_object_get_string(value);
    char *end, buf[UNITS_SIZE];
    uint64_t ns = strtoull(text, &end, 10) * NS_PER_S, digit = 100000000;

    for (const char *p = end; *p == '.' || (*p >= '0' && *p <= '9' && digit); p++) {
        if (*p == '.')
            continue;
        ns += (uint64_t)(*p - '0') * digit;
        digit /= 10;
    }
    ns = move_time(a, ns);
    if (json_object_is_type(value, json_type_int))
        return json_object_new_uint64(ns / NS_PER_S);
    return json_object_new_double_s((double)ns / NS_PER_S, units_seconds(ns, buf));
}

/* The member in other words; NULL: no memory. */
static struct json_object *apply(struct labels *a, size_t rule, struct json_object *value)
{
    uint64_t number = json_object_get_uint64(value);
    const char *text;

    switch (rules[rule].rule) {
    case RULE_NAME:
        return name_json(a, rules[rule].kind, json_object_get_string(value));
    case RULE_NUMBER:
        return number_json(a, rules[rule].kind, number);
    case RULE_TIME:
        return time_json(a, value);
    case RULE_CAUSE:
        text = json_object_get_string(value);
        /* What stands behind the first ':' of a cause may be a name. */
        return json_object_new_string_len(text, (int)strcspn(text, ":"));
    }
    return NULL;
}

static int rewrite(struct labels *a, const char *member, struct json_object *value);

static const size_t no_rule = ARRAY_SIZE(rules);

static size_t rule_of(const char *member, struct json_object *value)
{
    bool text = json_object_is_type(value, json_type_string);

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        if (strcmp(rules[i].member, member) == 0)
            return (rules[i].rule == RULE_NAME || rules[i].rule == RULE_CAUSE) == text ? i
                                                                                       : no_rule;
    return no_rule;
}

/* A text under a name that nobody here knows may be anything, and so may the words of a command. */
static bool must_go(const char *member, struct json_object *value)
{
    if (strcmp(member, "command") == 0)
        return true;
    return json_object_is_type(value, json_type_string) && !is_harmless(member);
}

static int rewrite_members(struct labels *a, struct json_object *object)
{
    json_object_object_foreach(object, member, value)
    {
        size_t rule = rule_of(member, value);
        struct json_object *other;

        if (rule == no_rule && must_go(member, value)) {
            json_object_object_del(object, member);
            continue;
        }
        if (rule == no_rule) {
            if (rewrite(a, member, value) < 0)
                return -ENOMEM;
            continue;
        }
        other = apply(a, rule, value);
        if (!other || json_object_object_add(object, member, other) < 0) {
            json_object_put(other);
            return -ENOMEM;
        }
    }
    return 0;
}

static int rewrite_items(struct labels *a, const char *member, struct json_object *array)
{
    for (size_t i = json_object_array_length(array); i-- > 0;) {
        struct json_object *item = json_object_array_get_idx(array, i);

        if (json_object_is_type(item, json_type_string) && !is_harmless(member))
            (void)json_object_array_del_idx(array, i, 1);
    }
    for (size_t i = 0; i < json_object_array_length(array); i++)
        if (rewrite(a, member, json_object_array_get_idx(array, i)) < 0)
            return -ENOMEM;
    return 0;
}

static int rewrite(struct labels *a, const char *member, struct json_object *value)
{
    if (json_object_is_type(value, json_type_object))
        return rewrite_members(a, value);
    if (json_object_is_type(value, json_type_array))
        return rewrite_items(a, member, value);
    return 0;
}

/* The bins of time lines stand at multiples of their width, all of which are powers of two. */
static uint64_t widest_bin(struct json_object *value)
{
    struct json_object *width;
    uint64_t widest = 1;

    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            uint64_t other = widest_bin(json_object_array_get_idx(value, i));

            widest = other > widest ? other : widest;
        }
        return widest;
    }
    if (!json_object_is_type(value, json_type_object))
        return widest;
    if (json_object_object_get_ex(value, "width_s", &width))
        return json_object_get_uint64(width);
    json_object_object_foreach(value, member, inner)
    {
        uint64_t other = widest_bin(inner);

        (void)member;
        widest = other > widest ? other : widest;
    }
    return widest;
}

int labels_document(struct labels *a, struct json_object *document)
{
    return rewrite(a, NULL, document);
}

int labels_documents(struct labels *a, struct json_object *documents)
{
    uint64_t widest = widest_bin(documents);
    int r = 0;

    if (!a->known && widest)
        a->grain_ns *= widest;
    /* The oldest run comes last, and time begins with it. */
    for (size_t i = json_object_array_length(documents); r == 0 && i-- > 0;)
        r = rewrite(a, NULL, json_object_array_get_idx(documents, i));
    return r;
}
