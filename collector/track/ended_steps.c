/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums of a job's ended steps, for the summary at its end: their rows are in the store by then,
 * and the summary does not wait for a disk. */
#include <stdlib.h>
#include <string.h>

#include "collector/track/tracker_impl.h"
#include "common/cleanup.h"

/* About 5 KiB each. Of what is beyond them the summary says how many there are. */
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

void tracked_remember(const struct tracked_step *step)
{
    struct tracked_job *job = step->job;
    struct step_account *grown;

    if (step->folds || job->n_ended >= ENDED_MAX)
        return;
    grown = realloc(job->ended, (job->n_ended + 1) * sizeof(*grown));
    if (!grown)
        return;
    job->ended = grown;
    if (sum_of(&step->account, &grown[job->n_ended]) == 0)
        job->n_ended++;
}

void tracked_forget_ended(struct tracked_job *job)
{
    for (size_t i = 0; i < job->n_ended; i++)
        step_account_clear(&job->ended[i]);
    free(job->ended);
    job->ended = NULL;
    job->n_ended = 0;
}

static int by_tag(const void *a, const void *b)
{
    const struct step_account *x = a, *y = b;

    if (!x->folded != !y->folded)
        return x->folded ? 1 : -1;
    return (x->tagged_at_ns > y->tagged_at_ns) - (x->tagged_at_ns < y->tagged_at_ns);
}

/* Of the steps that have rows of their own, those that nobody remembers: they are beyond ENDED_MAX,
 * or ended under an earlier jobiod. */
static uint32_t count_forgotten(const struct tracked_job *job)
{
    size_t listed = job->n_ended;

    for (size_t i = 0; i < job->n_steps; i++)
        listed += !job->steps[i]->folds && job->steps[i]->state != TRACKED_SAVED;
    return listed < job->n_rows ? job->n_rows - (uint32_t)listed : 0;
}

int tracked_list_ended(const struct tracked_job *job, struct job_account *account)
{
    size_t n = account->n_steps;
    struct step_account *grown = realloc(account->steps, (n + job->n_ended + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    account->steps = grown;
    account->more_steps = count_forgotten(job);
    for (size_t i = 0; i < job->n_ended; i++) {
        if (sum_of(&job->ended[i], &grown[account->n_steps]) < 0)
            return -ENOMEM;
        account->n_steps++;
    }
    qsort(grown, account->n_steps, sizeof(*grown), by_tag);
    return 0;
}
