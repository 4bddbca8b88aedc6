/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code of a job or step waited, both ways. */
#include "report/json/json_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/stack_text.h"
#include "common/text_buffer.h"

/* The weights of a profile, by the names of their members. */
static const struct {
    const char *name;
    size_t offset;
} weights[] = {
    {"all", offsetof(struct stack_profile, counts.all)},
    {"not_sampled", offsetof(struct stack_profile, counts.unsampled)},
    {"lost", offsetof(struct stack_profile, counts.lost)},
    {"not_unwound", offsetof(struct stack_profile, failed)},
    {"other", offsetof(struct stack_profile, other)},
    {"truncated", offsetof(struct stack_profile, truncated)},
    {"process_ended", offsetof(struct stack_profile, unread)},
};

static void put_weight(struct tree *t, struct json_object *to, const struct stack_weight *weight)
{
    tree_put_u64(t, to, "calls", weight->calls);
    tree_put_u64(t, to, "time_ns", weight->time_ns);
}

/* What follows the tab of a function, by the start of its text. */
static const char *detail_name(const char *text)
{
    return *text == '[' ? "build_id" : "file";
}

/* "NAME", "NAME<tab>FILE" or "[FILE+0xADDRESS]<tab>BUILD_ID" */
static struct json_object *function(struct tree *t, const char *text, size_t n)
{
    const char *tab = memchr(text, '\t', n);
    struct json_object *o = tree_object(t);
    size_t name = tab ? (size_t)(tab - text) : n;
    _free_ char *copy = strndup(text, name), *detail = tab ? strndup(tab + 1, n - name - 1) : NULL;

    t->failed |= !copy || (tab && !detail);
    if (copy)
        tree_put_text(t, o, "function", copy);
    if (detail)
        tree_put_text(t, o, detail_name(text), detail);
    return o;
}

static struct json_object *stack(struct tree *t, const struct stack *s)
{
    struct json_object *o = tree_object(t), *functions = tree_array(t);
    size_t n = strcspn(s->text, ";");
    _free_ char *thread = strndup(s->text, n);

    t->failed |= !thread;
    if (thread)
        tree_put_text(t, o, "thread", thread);
    for (const char *at = s->text + n; *at; at += n) {
        n = strcspn(++at, ";");
        tree_add(t, functions, function(t, at, n));
    }
    tree_put(t, o, "functions", functions);
    put_weight(t, o, &s->weight);
    return o;
}

struct json_object *json_stacks(struct tree *t, const struct stack_profile *profile)
{
    struct json_object *o = tree_object(t), *list = tree_array(t);

    tree_put_u64(t, o, "least_ns", profile->least_ns);
    for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
        struct json_object *weight = tree_object(t);

        put_weight(t, weight, (const void *)((const char *)profile + weights[i].offset));
        tree_put(t, o, weights[i].name, weight);
    }
    for (size_t i = 0; i < profile->n; i++)
        tree_add(t, list, stack(t, &profile->stacks[i]));
    tree_put(t, o, "stacks", list);
    return o;
}

static int get_weight(struct json_object *from, struct stack_weight *ret, struct error *error)
{
    int r = json_get_u64(from, "calls", &ret->calls, error);

    return r == 0 ? json_get_u64(from, "time_ns", &ret->time_ns, error) : r;
}

static int get_weights(struct json_object *from, struct stack_profile *ret, struct error *error)
{
    int r = json_get_u64(from, "least_ns", &ret->least_ns, error);

    for (size_t i = 0; i < ARRAY_SIZE(weights) && r >= 0; i++) {
        struct json_object *weight;

        r = json_get(from, weights[i].name, json_type_object, &weight, error);
        if (r > 0)
            r = get_weight(weight, (void *)((char *)ret + weights[i].offset), error);
    }
    return r < 0 ? r : 0;
}

/* Write a function as in struct stack. */
static int write_function(struct json_object *from, FILE *out, struct error *error)
{
    _free_ char *name = NULL, *detail = NULL;
    int r;

    if (!json_object_is_type(from, json_type_object))
        return error_set(error, -EBADMSG, "a function is not an object");
    r = json_get_string(from, "function", &name, error);
    if (r == 0)
        r = json_get_string(from, detail_name(name ? name : ""), &detail, error);
    if (r < 0)
        return r;
    (void)fprintf(out, ";%s%s%s", name ? name : "", detail ? "\t" : "", detail ? detail : "");
    return 0;
}

static int write_stack(struct json_object *from, FILE *out, struct error *error)
{
    _free_ char *thread = NULL;
    struct json_object *functions;
    int r = json_get_string(from, "thread", &thread, error);

    if (r < 0)
        return r;
    (void)fputs(thread ? thread : "", out);
    r = json_get(from, "functions", json_type_array, &functions, error);
    for (size_t i = 0; r > 0 && i < json_object_array_length(functions); i++) {
        int failed = write_function(json_object_array_get_idx(functions, i), out, error);

        if (failed < 0)
            return failed;
    }
    return r < 0 ? r : 0;
}

/* Takes over the text. */
static int check_text(char *text, struct stack *ret, struct error *error)
{
    int r = text ? stack_text_check(text, error) : error_set(error, -ENOMEM, "out of memory");

    if (r == 0 && strlen(text) > STACK_PROFILE_BYTES)
        r = error_set(error, -EBADMSG, "a stack is too long");
    if (r < 0)
        free(text);
    else
        ret->text = text;
    return r;
}

static int get_stack(struct json_object *from, struct stack *ret, struct error *error)
{
    struct text_buffer text;
    int r;

    if (!json_object_is_type(from, json_type_object))
        return error_set(error, -EBADMSG, "a stack is not an object");
    r = get_weight(from, &ret->weight, error);
    if (r < 0)
        return r;
    if (!text_buffer_open(&text))
        return error_set(error, -ENOMEM, "out of memory");
    r = write_stack(from, text.out, error);
    if (r == 0)
        return check_text(text_buffer_take(&text), ret, error);
    free(text_buffer_take(&text));
    return r;
}

static int get_list(struct json_object *from, struct stack_profile *ret, struct error *error)
{
    struct json_object *list;
    int r = json_get(from, "stacks", json_type_array, &list, error);

    if (r <= 0)
        return r;
    if (json_object_array_length(list) > STACK_PROFILE_MAX) /* another node may have written it */
        return error_set(error, -EBADMSG, "there are more than %d stacks", STACK_PROFILE_MAX);
    ret->stacks = calloc(STACK_PROFILE_MAX, sizeof(*ret->stacks));
    if (!ret->stacks)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        r = get_stack(json_object_array_get_idx(list, i), &ret->stacks[i], error);
        if (r < 0)
            return r;
        ret->n++;
    }
    return 0;
}

DEFINE_CLEANUP(struct stack_profile, stack_profile_destroy)

int json_get_stacks(struct json_object *document, struct stack_profile **ret, struct error *error)
{
    CLEANUP(stack_profile_destroyp) struct stack_profile *profile = NULL;
    struct json_object *from;
    int r = json_get(document, "waiting_code", json_type_object, &from, error);

    if (r <= 0)
        return r;
    profile = calloc(1, sizeof(*profile));
    if (!profile)
        return error_set(error, -ENOMEM, "out of memory");
    r = get_weights(from, profile, error);
    if (r == 0)
        r = get_list(from, profile, error);
    if (r < 0)
        return error_prefix(error, r, "waiting_code");
    *ret = TAKE_PTR(profile);
    return 0;
}
