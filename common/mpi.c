/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

#define CLASS_NAME(number, name) [number] = (name),
static const char *const class_names[MPI_CLASS_COUNT] = {MPI_CLASSES(CLASS_NAME)};

const char *mpi_class_name(enum mpi_class class)
{
    return (unsigned)class < MPI_CLASS_COUNT ? class_names[class] : "unknown";
}

bool mpi_account_is_empty(const struct mpi_account *account)
{
    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        if (account->classes[i].calls)
            return false;
    return true;
}

int mpi_class_parse(const char *name)
{
    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        if (!strcmp(class_names[i], name))
            return i;
    return -EINVAL;
}

uint64_t mpi_account_time_ns(const struct mpi_account *account)
{
    uint64_t sum = 0;

    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        add_saturating(&sum, account->classes[i].time_ns);
    return sum;
}

static void counter_add(struct mpi_counter *to, const struct mpi_counter *from)
{
#define ADD_SUM(member) add_saturating(&to->member, from->member);
    MPI_SUMS(ADD_SUM)
#undef ADD_SUM
    for (int i = 0; i < IO_BUCKETS; i++) {
        add_saturating(&to->size_log2[i], from->size_log2[i]);
        add_saturating(&to->latency_log2[i], from->latency_log2[i]);
    }
}

static int add_to(struct mpi_account *to, const struct mpi_account *from)
{
    struct completeness sum;
    int r = completeness_union(&to->completeness, &from->completeness, &sum);

    if (r < 0)
        return r;
    completeness_clear(&to->completeness);
    to->completeness = sum;
    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        counter_add(&to->classes[i], &from->classes[i]);
    return 0;
}

DEFINE_CLEANUP(struct mpi_account, mpi_account_destroy)

int mpi_account_add(struct mpi_account **to, const struct mpi_account *from)
{
    CLEANUP(mpi_account_destroyp) struct mpi_account *made = NULL;
    int r;

    if (!from)
        return 0;
    if (*to)
        return add_to(*to, from);
    made = calloc(1, sizeof(*made));
    r = made ? add_to(made, from) : -ENOMEM;
    if (r == 0)
        *to = TAKE_PTR(made);
    return r;
}

void mpi_account_destroy(struct mpi_account *account)
{
    if (account)
        completeness_clear(&account->completeness);
    free(account);
}
