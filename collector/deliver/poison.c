/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/poison.h"

#include <stdio.h>
#include <string.h>

/* A request shrinks and grows by this factor: from 1,000 steps to one in five requests. */
#define FACTOR 4
/* A search that allows more steps than this is over. */
#define CAP_MAX 4096

static struct poison_suspect *find(struct poison_search *search, int64_t id)
{
    for (size_t i = 0; i < search->n_held; i++)
        if (search->held[i].id == id)
            return &search->held[i];
    return NULL;
}

static bool is_held(const struct poison_search *search, int64_t id)
{
    for (size_t i = 0; i < search->n_held; i++)
        if (search->held[i].id == id)
            return true;
    return false;
}

static void drop(struct poison_search *search, struct poison_suspect *held)
{
    size_t behind = (size_t)(&search->held[search->n_held] - (held + 1));

    memmove(held, held + 1, behind * sizeof(*held));
    search->n_held--;
}

/* NULL: no room. */
static struct poison_suspect *hold(struct poison_search *search, int64_t id, const char *why)
{
    struct poison_suspect *held = find(search, id);
    size_t at = search->n_held;

    if (!held && search->n_held == POISON_HELD)
        return NULL;
    if (!held) {
        for (; at > 0 && search->held[at - 1].id > id; at--)
            search->held[at] = search->held[at - 1];
        held = &search->held[at];
        *held = (struct poison_suspect){.id = id};
        search->n_held++;
    }
    (void)snprintf(held->why, sizeof(held->why), "fails while others are taken: %.220s", why);
    return held;
}

size_t poison_size(const struct poison_search *search, const struct step_item *items, size_t n)
{
    size_t most = search->cap && search->cap < n ? search->cap : n;

    if (is_held(search, items[0].id))
        return 1;
    for (size_t i = 1; i < most; i++)
        if (is_held(search, items[i].id))
            return i;
    return most;
}

int64_t poison_failed(struct poison_search *search, const struct step_item *items, size_t n,
                      const char *why, bool *smaller)
{
    bool known = n == 1 && is_held(search, items[0].id);
    struct poison_suspect *held;

    search->tries++;
    *smaller = false;
    if (!known && !search->cap && search->tries < POISON_TRIES)
        return items[0].id - 1;
    if (n > 1) {
        search->cap = n / FACTOR ? n / FACTOR : 1;
        *smaller = true;
        return items[0].id - 1;
    }
    if (!known)
        search->cap = 1;
    held = hold(search, items[0].id, why);
    if (!held) /* most likely the target is down: start again from the first */
        return search->held[0].id - 1;
    *smaller = search->n_held == 1;
    held->failed = true;
    return items[0].id;
}

void poison_passed(struct poison_search *search, const struct step_item *items, size_t n)
{
    for (size_t i = 0; i < n && search->n_held; i++) {
        struct poison_suspect *held = find(search, items[i].id);

        if (held)
            drop(search, held);
    }
    for (size_t i = 0; i < search->n_held; i++) {
        search->held[i].failures += search->held[i].failed;
        search->held[i].failed = false;
    }
    search->tries = 0;
    search->cap = search->cap * FACTOR > CAP_MAX ? 0 : search->cap * FACTOR;
}

void poison_count(struct poison_search *search, int64_t id, const char *why)
{
    struct poison_suspect *held = hold(search, id, why);

    if (held)
        held->failures++;
}

bool poison_next(struct poison_search *search, struct poison_suspect *ret)
{
    for (size_t i = 0; i < search->n_held; i++)
        if (search->held[i].failures >= POISON_FAILURES) {
            *ret = search->held[i];
            drop(search, &search->held[i]);
            return true;
        }
    return false;
}

void poison_looked(struct poison_search *search, int64_t after, const struct step_batch *batch)
{
    int64_t last = !batch->n || !batch->more ? INT64_MAX : batch->items[batch->n - 1].id;
    size_t at = 0;

    for (size_t i = 0; i < search->n_held;) {
        int64_t id = search->held[i].id;

        while (at < batch->n && batch->items[at].id < id)
            at++;
        if (id > after && id <= last && (at == batch->n || batch->items[at].id != id))
            drop(search, &search->held[i]);
        else
            i++;
    }
}
