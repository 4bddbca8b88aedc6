/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/completeness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

int completeness_add(struct completeness *c, const char *cause, uint64_t count, uint64_t ops)
{
    struct incomplete *grown;
    char *name;

    for (size_t i = 0; i < c->n; i++) {
        struct incomplete *have = &c->items[i];

        if (strcmp(have->cause, cause))
            continue;
        add_saturating(&have->count, count);
        /* 0 means all operations, and so does a union with it. */
        have->ops = have->ops && ops ? have->ops | ops : 0;
        return 0;
    }
    grown = reallocarray(c->items, c->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    c->items = grown;
    name = strdup(cause);
    if (!name)
        return -ENOMEM;
    grown[c->n++] = (struct incomplete){.cause = name, .count = count, .ops = ops};
    return 0;
}

/* *ret = a + b, a copy. */
int completeness_union(const struct completeness *a, const struct completeness *b,
                       struct completeness *ret)
{
    const struct completeness *parts[] = {a, b};
    CLEANUP(completeness_clear) struct completeness sum = {0};

    for (size_t p = 0; p < ARRAY_SIZE(parts); p++) {
        add_saturating(&sum.lost, parts[p]->lost);
        for (size_t i = 0; i < parts[p]->n; i++) {
            const struct incomplete *item = &parts[p]->items[i];
            int r = completeness_add(&sum, item->cause, item->count, item->ops);

            if (r < 0)
                return r;
        }
    }
    *ret = sum;
    sum = (struct completeness){0};
    return 0;
}

int completeness_merge(struct completeness *to, const struct completeness *from)
{
    struct completeness sum;
    int r = completeness_union(to, from, &sum);

    if (r < 0)
        return r;
    completeness_clear(to);
    *to = sum;
    return 0;
}

void completeness_clear(struct completeness *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        free(c->items[i].cause);
    free(c->items);
    *c = (struct completeness){0};
}
