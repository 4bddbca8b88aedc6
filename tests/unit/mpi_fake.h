/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instead of collector/probe/mpi.c: programs that count nothing, for tests of what uses them. */
#ifndef JOBIO_TESTS_UNIT_MPI_FAKE_H
#define JOBIO_TESTS_UNIT_MPI_FAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "collector/probe/mpi.h"

struct mpi_probe {
    int fd;
};

/* Initialised statically, and by fake_mpi_reset(). */
extern struct fake_mpi {
    atomic_int added, removed; /* steps */
    atomic_int attempts;       /* to load the programs */
    atomic_int loaded, links;  /* there are */
    atomic_bool fails;         /* the programs cannot be loaded */
    atomic_bool full;          /* there is no room for another step */
    atomic_bool knows;         /* the programs have seen all processes start MPI */
    /* Held to load the programs, and to read what was executed. */
    pthread_mutex_t gate;
    /* The processes that the programs remember, and for how many they have room. */
    struct mpi_process seen[4];
    size_t n_seen, room;
} fake_mpi;

/* A set-up of cmocka. */
int fake_mpi_reset(void **state);

#endif
