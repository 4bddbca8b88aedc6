/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/block.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

#define CLASS_NAME(number, name) [number] = (name),
static const char *const class_names[BLOCK_CLASS_COUNT] = {BLOCK_CLASSES(CLASS_NAME)};

const char *block_class_name(enum block_class class)
{
    return (unsigned)class < BLOCK_CLASS_COUNT ? class_names[class] : "unknown";
}

int block_class_parse(const char *name)
{
    for (int i = 0; i < BLOCK_CLASS_COUNT; i++)
        if (!strcmp(class_names[i], name))
            return i;
    return -EINVAL;
}

uint64_t block_counter_timed(const struct block_counter *counter)
{
    uint64_t sum = 0;

    for (int i = 0; i < IO_BUCKETS; i++)
        add_saturating(&sum, counter->latency_log2[i]);
    return sum;
}

void block_counter_add(struct block_counter *to, const struct block_counter *from)
{
#define ADD_SUM(member) add_saturating(&to->member, from->member);
    BLOCK_SUMS(ADD_SUM)
#undef ADD_SUM
    for (int i = 0; i < IO_BUCKETS; i++)
        add_saturating(&to->latency_log2[i], from->latency_log2[i]);
}

void block_counter_subtract(struct block_counter *to, const struct block_counter *before)
{
#define SUBTRACT(member) to->member -= before->member;
    BLOCK_SUMS(SUBTRACT)
#undef SUBTRACT
    for (int i = 0; i < IO_BUCKETS; i++)
        to->latency_log2[i] -= before->latency_log2[i];
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct block_device *)a)->name, ((const struct block_device *)b)->name);
}

static void set_name(struct block_device *device, const char *name)
{
    (void)snprintf(device->name, sizeof(device->name), "%s", name);
}

const struct block_device *block_account_find(const struct block_account *account, const char *name)
{
    struct block_device wanted;

    set_name(&wanted, name);
    return account->n ? bsearch(&wanted, account->items, account->n, sizeof(wanted), compare_names)
                      : NULL;
}

struct block_device *block_account_get(struct block_account *account, const char *name)
{
    const struct block_device *found = block_account_find(account, name);
    struct block_device *items;

    if (found)
        return &account->items[found - account->items];
    items = reallocarray(account->items, account->n + 1, sizeof(*items));
    if (!items)
        return NULL;
    account->items = items;
    items[account->n] = (struct block_device){0};
    set_name(&items[account->n++], name);
    qsort(items, account->n, sizeof(*items), compare_names);
    found = block_account_find(account, name);
    return &items[found - items];
}

static bool has_shared(const struct block_account *account)
{
    for (size_t i = 0; i < account->n; i++)
        for (int class = 0; class < BLOCK_CLASS_COUNT; class ++)
            if (account->items[i].shared[class].requests)
                return true;
    return false;
}

static int add_device(struct block_account *to, const struct block_device *from)
{
    struct block_device *device = block_account_get(to, from->name);

    if (!device)
        return -ENOMEM;
    for (int class = 0; class < BLOCK_CLASS_COUNT; class ++) {
        block_counter_add(&device->own[class], &from->own[class]);
        block_counter_add(&device->shared[class], &from->shared[class]);
    }
    return 0;
}

int block_account_add(struct block_account **to, bool to_has_requests,
                      const struct block_account *from, bool from_has_requests)
{
    bool missing = (!*to && to_has_requests) || (!from && from_has_requests);
    int r = 0;

    if (!*to && !from)
        return 0;
    if (!*to)
        *to = calloc(1, sizeof(**to));
    if (!*to)
        return -ENOMEM;
    (*to)->incomplete |= missing || (from && from->incomplete);
    if (!from)
        return 0;
    (*to)->shared_at_most |= from->shared_at_most || (has_shared(*to) && has_shared(from));
    for (size_t i = 0; i < from->n && r == 0; i++)
        r = add_device(*to, &from->items[i]);
    return r;
}

void block_account_clear(struct block_account *account)
{
    free(account->items);
    *account = (struct block_account){0};
}

void block_account_destroy(struct block_account *account)
{
    if (account)
        block_account_clear(account);
    free(account);
}

int block_account_continue(struct block_account **to, const struct block_account *before)
{
    bool at_most = (*to && (*to)->shared_at_most) || (before && before->shared_at_most);
    int r = block_account_add(to, false, before, false);

    if (r == 0 && *to)
        (*to)->shared_at_most = at_most;
    return r;
}
