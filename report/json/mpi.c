/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI-IO of a job or step, both ways. */
#include "report/json/json_impl.h"

#include <stdlib.h>

#include "common/cleanup.h"

static struct json_object *counter(struct tree *t, const struct mpi_counter *c)
{
    struct json_object *o = tree_object(t);

#define PUT_SUM(member) tree_put_u64(t, o, #member, c->member);
    MPI_SUMS(PUT_SUM)
    tree_put(t, o, "size_log2", json_histogram(t, c->size_log2));
    tree_put(t, o, "latency_log2", json_histogram(t, c->latency_log2));
    return o;
}

static struct json_object *causes(struct tree *t, const struct completeness *c)
{
    struct json_object *list = tree_array(t);

    for (size_t i = 0; i < c->n; i++) {
        struct json_object *o = tree_object(t);

        tree_put_text(t, o, "cause", c->items[i].cause);
        tree_put_u64(t, o, "count", c->items[i].count);
        tree_add(t, list, o);
    }
    return list;
}

struct json_object *json_mpi(struct tree *t, const struct mpi_account *account, bool complete)
{
    struct json_object *o = tree_object(t), *calls = tree_object(t);

    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        if (account->classes[i].calls)
            tree_put(t, calls, mpi_class_name(i), counter(t, &account->classes[i]));
    tree_put_bool(t, o, "complete", complete);
    tree_put(t, o, "incomplete", causes(t, &account->completeness));
    tree_put(t, o, "calls", calls);
    return o;
}

static int get_counter(struct json_object *calls, enum mpi_class class, struct mpi_counter *ret,
                       struct error *error)
{
    struct json_object *from;
    int r = json_get(calls, mpi_class_name(class), json_type_object, &from, error);

    if (r <= 0)
        return r;
    r = 0;
#define GET_SUM(member) \
    if (r == 0)         \
        r = json_get_u64(from, #member, &ret->member, error);
    MPI_SUMS(GET_SUM)
    if (r == 0)
        r = json_get_histogram(from, "size_log2", ret->size_log2, error);
    if (r == 0)
        r = json_get_histogram(from, "latency_log2", ret->latency_log2, error);
    return r < 0 ? error_prefix(error, r, "%s", mpi_class_name(class)) : 0;
}

static int get_cause(struct json_object *from, struct completeness *ret, struct error *error)
{
    _free_ char *cause = NULL;
    uint64_t count = 0;
    int r = json_get_string(from, "cause", &cause, error);

    if (r == 0)
        r = json_get_u64(from, "count", &count, error);
    if (r == 0 && !cause)
        r = error_set(error, -EBADMSG, "\"cause\" is missing");
    if (r < 0)
        return r;
    r = completeness_add(ret, cause, count, 0);
    return r < 0 ? error_set(error, r, "out of memory") : 0;
}

static int get_causes(struct json_object *from, struct completeness *ret, struct error *error)
{
    struct json_object *list;
    int r = json_get(from, "incomplete", json_type_array, &list, error);

    if (r <= 0)
        return r;
    r = 0;
    for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);

        if (!json_object_is_type(item, json_type_object))
            return error_set(error, -EBADMSG, "\"incomplete\" has an item of another type");
        r = get_cause(item, ret, error);
    }
    return r;
}

DEFINE_CLEANUP(struct mpi_account, mpi_account_destroy)

int json_get_mpi(struct json_object *document, struct mpi_account **ret, struct error *error)
{
    CLEANUP(mpi_account_destroyp) struct mpi_account *account = NULL;
    struct json_object *from, *calls = NULL;
    int r = json_get(document, "mpi", json_type_object, &from, error);

    if (r <= 0)
        return r;
    account = calloc(1, sizeof(*account));
    if (!account)
        return error_set(error, -ENOMEM, "out of memory");
    r = get_causes(from, &account->completeness, error);
    if (r == 0)
        r = json_get(from, "calls", json_type_object, &calls, error);
    for (int i = 0; r >= 0 && calls && i < MPI_CLASS_COUNT; i++)
        r = get_counter(calls, i, &account->classes[i], error);
    if (r < 0)
        return error_prefix(error, r, "mpi");
    *ret = TAKE_PTR(account);
    return 0;
}
