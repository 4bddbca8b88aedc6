/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which parts of a job, each a step on a node, have MPI-IO that was counted. */
#ifndef JOBIO_COMMON_MPI_PARTS_H
#define JOBIO_COMMON_MPI_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The nodes of a step. */
struct mpi_part {
    uint32_t het, step;
    uint32_t counted, uncounted;
};

/* A zeroed struct is empty. */
struct mpi_parts {
    struct mpi_part *items; /* owned; ascending het and step */
    size_t n, room;
    uint32_t unknown; /* nodes whose steps are not known: their jobiod cannot count MPI-IO */
};

/* Add the nodes of a step. 0 or -ENOMEM (nothing is changed). */
int mpi_parts_add(struct mpi_parts *parts, const struct mpi_part *part);
/* to += from. 0 or -ENOMEM (some of `from` may be missing). */
int mpi_parts_merge(struct mpi_parts *to, const struct mpi_parts *from);
/* Make all parts that were added for a step one, which is counted if one of them was. */
void mpi_parts_unite(struct mpi_parts *parts, uint32_t het, uint32_t step);
/* How many times a node did not count a step that another node counted; at least. */
uint64_t mpi_parts_missing(const struct mpi_parts *parts);
void mpi_parts_clear(struct mpi_parts *parts);

#endif
