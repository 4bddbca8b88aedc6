/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

struct step *step_create(struct tag *tag)
{
    struct step *step = calloc(1, sizeof(*step));

    if (!step)
        return NULL;
    step->tag = *tag;
    memset(tag, 0, sizeof(*tag));
    return step;
}

void step_destroy(struct step *step)
{
    tag_clear(&step->tag);
    step_account_clear(&step->account);
    mpi_account_destroy(step->mpi_before);
    block_account_destroy(step->block_before);
    free(step);
}

struct step_ids step_ids(const struct step *step)
{
    const struct tag *tag = &step->tag;

    return (struct step_ids){tag->jobid, tag->restart, tag->het, tag->step};
}

static int copy_counts(const struct step_account *from, struct step_account *to)
{
    int r = io_mounts_copy(&from->mounts, &to->mounts);

    if (!r)
        r = completeness_merge(&to->completeness, &from->completeness);
    if (!r)
        r = mpi_account_add(&to->mpi, from->mpi);
    if (!r)
        r = block_account_add(&to->block, false, from->block, false);
    to->elapsed_ns = from->elapsed_ns;
    to->longest_wait_ns = from->longest_wait_ns;
    to->folded = from->folded;
    to->state = from->state;
    return r;
}

int step_account_copy(const struct step_account *from, struct step_account *ret)
{
    CLEANUP(step_account_clear)
    struct step_account copy = {
        .het = from->het, .step = from->step, .tagged_at_ns = from->tagged_at_ns};

    copy.node = from->node ? strdup(from->node) : NULL;
    if ((from->node && !copy.node) || copy_counts(from, &copy) < 0)
        return -ENOMEM;
    *ret = copy;
    memset(&copy, 0, sizeof(copy));
    return 0;
}
