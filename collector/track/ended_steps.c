/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/ended_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* About 5 KiB each. The summary reports how many more there are. */
#define ENDED_MAX 50

/* One mount without a name holds the sum of all. */
static int sum_of(const struct step_account *from, struct step_account *ret)
{
    CLEANUP(step_account_clear)
    struct step_account sum = {
        .het = from->het,
        .step = from->step,
        .tagged_at_ns = from->tagged_at_ns,
        .elapsed_ns = from->elapsed_ns,
        .state = from->state,
        .longest_wait_ns = from->longest_wait_ns,
    };
    struct io_mount *mount = io_mounts_get(&sum.mounts, "", "", "", false);
    int r = mount ? 0 : -ENOMEM;

    if (from->node && !(sum.node = strdup(from->node)))
        r = -ENOMEM;
    for (size_t i = 0; i < from->mounts.n && !r; i++)
        r = io_account_add(&mount->io, &from->mounts.items[i].io);
    if (r < 0)
        return r;
    *ret = sum;
    memset(&sum, 0, sizeof(sum));
    return 0;
}

void ended_steps_add(struct ended_steps *ended, const struct step_account *account)
{
    struct step_account *grown;

    if (ended->n >= ENDED_MAX)
        return;
    grown = realloc(ended->items, (ended->n + 1) * sizeof(*grown));
    if (!grown)
        return;
    ended->items = grown;
    if (sum_of(account, &grown[ended->n]) == 0)
        ended->n++;
}

void ended_steps_clear(struct ended_steps *ended)
{
    for (size_t i = 0; i < ended->n; i++)
        step_account_clear(&ended->items[i]);
    free(ended->items);
    *ended = (struct ended_steps){0};
}

static int by_tag(const void *a, const void *b)
{
    const struct step_account *x = a, *y = b;

    if (!x->folded != !y->folded)
        return x->folded ? 1 : -1;
    return (x->tagged_at_ns > y->tagged_at_ns) - (x->tagged_at_ns < y->tagged_at_ns);
}

int ended_steps_list(const struct ended_steps *ended, struct job_account *account)
{
    size_t n = account->n_steps;
    struct step_account *grown = realloc(account->steps, (n + ended->n + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    account->steps = grown;
    for (size_t i = 0; i < ended->n; i++) {
        if (sum_of(&ended->items[i], &grown[account->n_steps]) < 0)
            return -ENOMEM;
        account->n_steps++;
    }
    qsort(grown, account->n_steps, sizeof(*grown), by_tag);
    return 0;
}
