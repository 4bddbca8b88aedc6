/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The NFS requests on a mount, both ways. */
#include "report/json/json_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"

static struct json_object *counter(struct tree *t, const struct rpc_counter *c)
{
    struct json_object *o = tree_object(t);

#define PUT_SUM(member) tree_put_u64(t, o, #member, c->member);
    RPC_SUMS(PUT_SUM)
#undef PUT_SUM
    return o;
}

static struct json_object *classes(struct tree *t, const struct rpc_counter *of)
{
    struct json_object *o = tree_object(t);

    for (int i = 0; i < RPC_CLASS_COUNT; i++)
        if (!rpc_counter_is_empty(&of[i]))
            tree_put(t, o, rpc_class_name(i), counter(t, &of[i]));
    return o;
}

struct json_object *json_rpc(struct tree *t, const struct rpc_account *account)
{
    const struct rpc_counter shared = rpc_classes_sum(account->shared);
    struct json_object *o = tree_object(t), *s;

    tree_put_bool(t, o, "complete", !account->incomplete);
    tree_put(t, o, "ops", classes(t, account->own));
    if (rpc_counter_is_empty(&shared))
        return o;
    s = tree_object(t);
    tree_put_bool(t, s, "at_most", account->shared_at_most);
    tree_put(t, s, "ops", classes(t, account->shared));
    tree_put(t, o, "shared", s);
    return o;
}

static int get_counter(struct json_object *from, struct rpc_counter *ret, struct error *error)
{
    int r = 0;

#define GET_SUM(member) \
    if (r == 0)         \
        r = json_get_u64(from, #member, &ret->member, error);
    RPC_SUMS(GET_SUM)
#undef GET_SUM
    return r;
}

/* A class of a later release is added to "other". */
static int get_class(const char *name, struct json_object *from, struct rpc_counter *ret,
                     struct error *error)
{
    struct rpc_counter counter = {0};
    int class = rpc_class_parse(name), r;

    if (!json_object_is_type(from, json_type_object))
        return error_set(error, -EBADMSG, "\"%s\" is not an object", name);
    r = get_counter(from, &counter, error);
    if (r < 0)
        return error_prefix(error, r, "%s", name);
    rpc_counter_add(&ret[class < 0 ? RPC_OTHER : class], &counter);
    return 0;
}

static int get_classes(struct json_object *from, struct rpc_counter *ret, struct error *error)
{
    struct json_object *ops;
    int r = json_get(from, "ops", json_type_object, &ops, error);

    if (r <= 0)
        return r;
    json_object_object_foreach(ops, name, value)
    {
        r = get_class(name, value, ret, error);
        if (r < 0)
            return r;
    }
    return 0;
}

static int get_account(struct json_object *from, struct rpc_account *ret, struct error *error)
{
    struct json_object *shared;
    bool complete = false;
    int r = json_get_bool(from, "complete", &complete, error);

    ret->known = true;
    ret->incomplete = !complete;
    if (r == 0)
        r = get_classes(from, ret->own, error);
    if (r == 0)
        r = json_get(from, "shared", json_type_object, &shared, error);
    if (r <= 0)
        return r;
    r = json_get_bool(shared, "at_most", &ret->shared_at_most, error);
    return r == 0 ? get_classes(shared, ret->shared, error) : r;
}

int json_get_rpc(struct json_object *mount, struct rpc_account **ret, struct error *error)
{
    _free_ struct rpc_account *account = NULL;
    struct json_object *from;
    int r = json_get(mount, "rpc", json_type_object, &from, error);

    if (r <= 0)
        return r;
    account = calloc(1, sizeof(*account));
    if (!account)
        return error_set(error, -ENOMEM, "out of memory");
    r = get_account(from, account, error);
    if (r < 0)
        return error_prefix(error, r, "rpc");
    *ret = TAKE_PTR(account);
    return 0;
}
