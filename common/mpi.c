/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mpi.h"

#include <stdlib.h>

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

void mpi_account_destroy(struct mpi_account *account)
{
    if (account)
        completeness_clear(&account->completeness);
    free(account);
}
