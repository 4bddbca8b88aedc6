/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classes of MPI-IO functions. Shared with the BPF programs: this header includes nothing. */
#ifndef JOBIO_COMMON_MPI_CLASS_H
#define JOBIO_COMMON_MPI_CLASS_H

/* X(number, name): the name is the one in JSON. "_all" is collective, as in the names of MPI;
 * "_split" is a pair of functions, begin and end. */
/* clang-format off */
#define MPI_CLASSES(X)                                  \
    /* Data: these have sizes. */                       \
    X(MPI_READ, "read")                                 \
    X(MPI_READ_NONBLOCKING, "read_nonblocking")         \
    X(MPI_READ_ALL, "read_all")                         \
    X(MPI_READ_ALL_SPLIT, "read_all_split")             \
    X(MPI_READ_ALL_NONBLOCKING, "read_all_nonblocking") \
    X(MPI_WRITE, "write")                               \
    X(MPI_WRITE_NONBLOCKING, "write_nonblocking")       \
    X(MPI_WRITE_ALL, "write_all")                       \
    X(MPI_WRITE_ALL_SPLIT, "write_all_split")           \
    X(MPI_WRITE_ALL_NONBLOCKING, "write_all_nonblocking") \
    /* Metadata. */                                     \
    X(MPI_OPEN, "open")                                 \
    X(MPI_CLOSE, "close")                               \
    X(MPI_SET_VIEW, "set_view")                         \
    X(MPI_SYNC, "sync")                                 \
    X(MPI_PREALLOCATE, "preallocate")
/* clang-format on */

#define MPI_CLASS_NUMBER(number, name) number,
enum mpi_class { MPI_CLASSES(MPI_CLASS_NUMBER) MPI_CLASS_COUNT };
#undef MPI_CLASS_NUMBER

#define MPI_CLASS_FIRST_META MPI_OPEN

/* The sums of a class, X(member):
 * calls: a split call, begin and end, is one.
 * errors: failed calls, which have no bytes.
 * time_ns: inside the functions.
 * bytes: those that the status reports.
 * requested_bytes: of calls without a status, as nonblocking ones: what they asked for. Reads of
 *   them may have got less.
 * unknown_calls: successful data calls whose bytes are in neither. */
#define MPI_SUMS(X)    \
    X(calls)           \
    X(errors)          \
    X(time_ns)         \
    X(bytes)           \
    X(requested_bytes) \
    X(unknown_calls)

#endif
