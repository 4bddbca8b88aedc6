/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The block requests of a job or step, both ways. */
#include "report/json/json_impl.h"

#include <stdlib.h>

#include "common/cleanup.h"

#define DEVICES_MAX 1024

static struct json_object *counter(struct tree *t, const struct block_counter *c)
{
    struct json_object *o = tree_object(t);

#define PUT_SUM(member) tree_put_u64(t, o, #member, c->member);
    BLOCK_SUMS(PUT_SUM)
#undef PUT_SUM
    tree_put(t, o, "latency_log2", json_histogram(t, c->latency_log2));
    return o;
}

/* Adds the member only if there is a request, unless `always`. */
static void put_classes(struct tree *t, struct json_object *to, const char *key, bool always,
                        const struct block_counter *of)
{
    struct json_object *o = tree_object(t);
    bool any = always;

    for (int i = 0; i < BLOCK_CLASS_COUNT; i++) {
        if (!of[i].requests)
            continue;
        tree_put(t, o, block_class_name(i), counter(t, &of[i]));
        any = true;
    }
    if (any)
        tree_put(t, to, key, o);
    else
        json_object_put(o);
}

struct json_object *json_block(struct tree *t, const struct block_account *account)
{
    struct json_object *o = tree_object(t), *devices = tree_array(t);

    tree_put_bool(t, o, "complete", !account->incomplete);
    tree_put_bool(t, o, "shared_at_most", account->shared_at_most);
    for (size_t i = 0; i < account->n; i++) {
        struct json_object *device = tree_object(t);

        tree_put_text(t, device, "device", account->items[i].name);
        put_classes(t, device, "ops", true, account->items[i].own);
        put_classes(t, device, "shared", false, account->items[i].shared);
        tree_add(t, devices, device);
    }
    tree_put(t, o, "devices", devices);
    return o;
}

static int get_counter(struct json_object *from, struct block_counter *ret, struct error *error)
{
    int r = 0;

#define GET_SUM(member) \
    if (r == 0)         \
        r = json_get_u64(from, #member, &ret->member, error);
    BLOCK_SUMS(GET_SUM)
#undef GET_SUM
    return r == 0 ? json_get_histogram(from, "latency_log2", ret->latency_log2, error) : r;
}

static int get_classes(struct json_object *from, const char *key, struct block_counter *ret,
                       struct error *error)
{
    struct json_object *classes, *class;
    int r = json_get(from, key, json_type_object, &classes, error);

    if (r <= 0)
        return r;
    r = 0;
    for (int i = 0; i < BLOCK_CLASS_COUNT && r >= 0; i++) {
        r = json_get(classes, block_class_name(i), json_type_object, &class, error);
        if (r > 0)
            r = get_counter(class, &ret[i], error);
        if (r < 0)
            return error_prefix(error, r, "%s.%s", key, block_class_name(i));
    }
    return 0;
}

static int get_device(struct json_object *from, struct block_account *ret, struct error *error)
{
    _free_ char *name = NULL;
    struct block_device *device;
    int r;

    if (!json_object_is_type(from, json_type_object))
        return error_set(error, -EBADMSG, "it is not an object");
    r = json_get_string(from, "device", &name, error);
    if (r == 0 && !name)
        r = error_set(error, -EBADMSG, "\"device\" is missing");
    if (r < 0)
        return r;
    device = block_account_get(ret, name);
    if (!device)
        return error_set(error, -ENOMEM, "out of memory");
    r = get_classes(from, "ops", device->own, error);
    return r == 0 ? get_classes(from, "shared", device->shared, error) : r;
}

static int get_devices(struct json_object *from, struct block_account *ret, struct error *error)
{
    struct json_object *list;
    int r = json_get(from, "devices", json_type_array, &list, error);

    if (r <= 0)
        return r;
    if (json_object_array_length(list) > DEVICES_MAX) /* another node may have written it */
        return error_set(error, -EBADMSG, "\"devices\" has more than %d", DEVICES_MAX);
    r = 0;
    for (size_t i = 0; i < json_object_array_length(list) && r == 0; i++) {
        r = get_device(json_object_array_get_idx(list, i), ret, error);
        if (r < 0)
            return error_prefix(error, r, "devices[%zu]", i);
    }
    return r;
}

DEFINE_CLEANUP(struct block_account, block_account_destroy)

int json_get_block(struct json_object *document, struct block_account **ret, struct error *error)
{
    CLEANUP(block_account_destroyp) struct block_account *account = NULL;
    struct json_object *from;
    bool complete = false;
    int r = json_get(document, "block", json_type_object, &from, error);

    if (r <= 0)
        return r;
    account = calloc(1, sizeof(*account));
    if (!account)
        return error_set(error, -ENOMEM, "out of memory");
    r = json_get_bool(from, "complete", &complete, error);
    account->incomplete = !complete;
    if (r == 0)
        r = json_get_bool(from, "shared_at_most", &account->shared_at_most, error);
    if (r == 0)
        r = get_devices(from, account, error);
    if (r < 0)
        return error_prefix(error, r, "block");
    *ret = TAKE_PTR(account);
    return 0;
}
