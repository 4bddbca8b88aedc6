/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of MPI-IO: the calls of a step (or job, or command) by class of function. Sums
 * saturate at UINT64_MAX. */
#ifndef JOBIO_COMMON_MPI_H
#define JOBIO_COMMON_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "common/completeness.h"
#include "common/io_op.h"
#include "common/mpi_class.h"

#define MPI_SUM_MEMBER(member) uint64_t member;
struct mpi_counter {
    MPI_SUMS(MPI_SUM_MEMBER)
    uint64_t size_log2[IO_BUCKETS]; /* of calls in `bytes` and `requested_bytes` */
    uint64_t latency_log2[IO_BUCKETS];
};
#undef MPI_SUM_MEMBER

/* A zeroed struct is an empty account. */
struct mpi_account {
    struct mpi_counter classes[MPI_CLASS_COUNT];
    struct completeness completeness; /* of these counters alone; `ops` is not used */
};

/* Causes in mpi_account.completeness. Others are the names of libraries. */
#define MPI_CAUSE_LATE "started-before-probes" /* processes */
#define MPI_CAUSE_CALLS "map-full"             /* calls */
#define MPI_CAUSE_ENDS "return-not-seen"       /* calls */
#define MPI_CAUSE_RESTART "jobiod-restarted"   /* steps that ran at a start of jobiod */
#define MPI_CAUSE_EARLY "step-before-probes"   /* steps that started before jobiod was attached */
#define MPI_CAUSE_UNSEEN "programs-not-seen"   /* programs that were not looked at; at least */
#define MPI_CAUSE_VANISHED "step-vanished"     /* steps whose end was not reported */
#define MPI_CAUSE_NODE "not-counted-on-node"   /* of a job: nodes of steps; see job.h */
#define MPI_CAUSE_LIBRARY "not-covered: "      /* prefix of a library and the reason */

/* "read_all", ... */
const char *mpi_class_name(enum mpi_class class);
int mpi_class_parse(const char *name); /* the class or -EINVAL */
static inline bool mpi_class_is_data(enum mpi_class class)
{
    return class < MPI_CLASS_FIRST_META;
}
static inline bool mpi_class_is_write(enum mpi_class class)
{
    return class >= MPI_WRITE && class < MPI_CLASS_FIRST_META;
}

bool mpi_account_is_empty(const struct mpi_account *account);    /* no call */
uint64_t mpi_account_time_ns(const struct mpi_account *account); /* in all classes */
/* *to += from; *to is created if it is NULL. 0 or -ENOMEM (nothing is changed). `from` may be NULL.
 */
int mpi_account_add(struct mpi_account **to, const struct mpi_account *from);
/* Frees the struct; NULL is fine. */
void mpi_account_destroy(struct mpi_account *account);

#endif
