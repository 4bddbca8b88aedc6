/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/folded_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/store.h"
#include "common/cleanup.h"

#define FOLDED_PREFIX "folded/"

int folded_steps_add(struct step_account *to, const struct step_account *account)
{
    bool has_requests = io_mounts_requests(&to->mounts) > 0;
    int r;

    if (!to->folded) {
        to->node = strdup(account->node);
        if (!to->node)
            return -ENOMEM;
        to->het = HET_NONE;
        to->step = STEP_FOLDED;
        to->tagged_at_ns = account->tagged_at_ns;
        to->state = STEP_ENDED;
    }
    r = io_mounts_add(&to->mounts, &account->mounts);
    if (!r)
        r = completeness_merge(&to->completeness, &account->completeness);
    if (!r)
        r = mpi_account_add(&to->mpi, account->mpi);
    if (!r)
        r = block_account_add(&to->block, has_requests, account->block,
                              io_mounts_requests(&account->mounts) > 0);
    if (r < 0)
        return r;
    to->folded++;
    if (account->longest_wait_ns > to->longest_wait_ns)
        to->longest_wait_ns = account->longest_wait_ns;
    if (account->tagged_at_ns + account->elapsed_ns > to->tagged_at_ns + to->elapsed_ns)
        to->elapsed_ns = account->tagged_at_ns + account->elapsed_ns - to->tagged_at_ns;
    return 0;
}

int step_add_to_sum(struct job_account *sum, const struct step *step,
                    const struct step_account *account)
{
    struct step_account as_stored = *account;
    int r;

    if (!step->beyond_limit)
        return job_account_add_step(sum, account);
    as_stored.het = HET_NONE;
    as_stored.step = STEP_FOLDED;
    r = job_account_add_step(sum, &as_stored);
    mpi_parts_unite(&sum->mpi_parts, HET_NONE, STEP_FOLDED);
    return r;
}

static void folded_key(char buf[FOLDED_KEY_SIZE], const struct tag *tag)
{
    (void)snprintf(buf, FOLDED_KEY_SIZE, FOLDED_PREFIX "%u.%u.%u.%u.%" PRIu64, tag->jobid,
                   tag->restart, tag->het, tag->step, tag->tagged_at_ns);
}

struct folded_marks *folded_marks_create(struct step *const *steps, size_t n)
{
    struct folded_marks *marks = calloc(1, sizeof(*marks) + n * sizeof(marks->keys[0]));

    for (size_t i = 0; marks && i < n; i++)
        folded_key(marks->keys[marks->n++], &steps[i]->tag);
    return marks;
}

int folded_marks_put(struct store *store, const struct folded_marks *marks, struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < marks->n && r >= 0; i++)
        r = store_put_state(store, marks->keys[i], "1", error);
    return r;
}

int folded_marks_remove(struct store *store, const struct folded_marks *marks, struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < marks->n && r >= 0; i++)
        r = store_put_state(store, marks->keys[i], NULL, error);
    return r;
}

bool folded_steps_has(struct store *store, const struct tag *tag)
{
    _free_ char *value = NULL;
    char key[FOLDED_KEY_SIZE];

    folded_key(key, tag);
    return store_get_state(store, key, &value, NULL) == 0 && value;
}

int folded_marks_sweep(struct store *store, struct error *error)
{
    return store_drop_states(store, FOLDED_PREFIX, error);
}
