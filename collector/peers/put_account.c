/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores the account that another node sent. */
#include "collector/peers/peers_impl.h"
#include "collector/store/store.h"

/* Counters of a step never decrease: if they do, keep the stored account. */
static int put_step(struct store *store, const struct job_key *key, const struct step_account *step,
                    bool *backwards, struct error *error)
{
    uint64_t before = 0;
    int r = store_step_requests(store, key, step, &before, error);

    if (r < 0)
        return r;
    if (io_mounts_requests(&step->mounts) < before) {
        *backwards = true;
        return 0;
    }
    return store_put_step(store, key, step, true, error);
}

int peers_put_account(struct store *store, const struct job_account *account, const char *from,
                      bool elsewhere, bool *backwards, struct error *error)
{
    int r = elsewhere ? store_put_elsewhere(store, account, error) : 0;

    for (size_t i = 0; i < account->n_steps && r == 0; i++)
        r = put_step(store, &account->key, &account->steps[i], backwards, error);
    if (r == 0 && account->unsupported)
        r = store_put_unsupported(store, &account->key, account->unsupported, error);
    if (r == 0 && account->ended)
        r = store_put_node(store, &account->key, from, error);
    return r;
}
