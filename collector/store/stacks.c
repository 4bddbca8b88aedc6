/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables stack_profile and stack. */
#include "collector/store/store_impl.h"

#include <stdlib.h>
#include <string.h>

static int counts_put(struct store *store, int64_t step, const struct stack_profile *p,
                      struct error *error)
{
#define WEIGHT(w) U64((w).calls), U64((w).time_ns)
    return store_run(store, SQL_STACK_PROFILE_PUT,
                     VALUES(U64((uint64_t)step), U64(p->least_ns), WEIGHT(p->counts.all),
                            WEIGHT(p->counts.unsampled), WEIGHT(p->counts.lost), WEIGHT(p->failed),
                            WEIGHT(p->other), WEIGHT(p->truncated), WEIGHT(p->unread)),
                     error);
#undef WEIGHT
}

int store_replace_stacks(struct store *store, int64_t step, const struct stack_profile *p,
                         bool summed_up, struct error *error)
{
    int r = store_run(store, SQL_STACK_PROFILE_DROP, VALUES(U64((uint64_t)step)), error);
    struct stack_profile counts = *p;

    if (summed_up)
        counts.other = stack_profile_sum(p);
    if (r == 0)
        r = counts_put(store, step, &counts, error);
    for (size_t i = 0; i < p->n && r == 0 && !summed_up; i++)
        r = store_run(store, SQL_STACK_PUT,
                      VALUES(U64((uint64_t)step), U64(i), TEXT(p->stacks[i].text),
                             U64(p->stacks[i].weight.calls), U64(p->stacks[i].weight.time_ns)),
                      error);
    return r;
}

static void counts_read(sqlite3_stmt *row, struct stack_profile *p)
{
    struct stack_weight *const weights[] = {
        &p->counts.all, &p->counts.unsampled, &p->counts.lost, &p->failed,
        &p->other,      &p->truncated,        &p->unread};
    int column = 0;

    p->least_ns = column_u64(row, column++);
    for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
        weights[i]->calls = column_u64(row, column++);
        weights[i]->time_ns = column_u64(row, column++);
    }
}

static int stack_read(sqlite3_stmt *row, struct stack_profile *p)
{
    const char *text = column_text(row, 0);

    p->stacks[p->n] =
        (struct stack){text ? strdup(text) : NULL, {column_u64(row, 1), column_u64(row, 2)}};
    return p->stacks[p->n].text ? (p->n++, 0) : -ENOMEM;
}

static int stacks_read(struct store *store, int64_t step, struct stack_profile *p,
                       struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_STACK_LIST, VALUES(U64((uint64_t)step)), &row, error);

    p->stacks = calloc(STACK_PROFILE_MAX, sizeof(*p->stacks));
    if (!p->stacks)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    while (r >= 0 && p->n < STACK_PROFILE_MAX && (r = store_next(store, row, error)) > 0)
        if (stack_read(row, p) < 0)
            return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    return r < 0 ? r : 0;
}

DEFINE_CLEANUP(struct stack_profile, stack_profile_destroy)

int store_get_stacks(struct store *store, int64_t step, struct stack_profile **ret,
                     struct error *error)
{
    CLEANUP(stack_profile_destroyp) struct stack_profile *profile = NULL;
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_STACK_PROFILE_GET, VALUES(U64((uint64_t)step)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r <= 0)
        return r;
    profile = calloc(1, sizeof(*profile));
    if (!profile)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    counts_read(row, profile);
    r = stacks_read(store, step, profile, error);
    if (r == 0)
        *ret = TAKE_PTR(profile);
    return r;
}
