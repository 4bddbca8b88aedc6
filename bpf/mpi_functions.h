/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of MPI that have probes. Everything about them is made from this table. */
#ifndef JOBIO_BPF_MPI_FUNCTIONS_H
#define JOBIO_BPF_MPI_FUNCTIONS_H

#include "common/mpi_class.h"

/* What a function is of its call. */
enum mpi_part {
    MPI_PART_ALL,
    MPI_PART_BEGIN, /* of a split call */
    MPI_PART_END,
    MPI_PART_INIT, /* not a call: the process cannot have called any other function before it */
};

/* Where the programs find the bytes of a call. Arguments are counted from 0, MPI_NONE: no such
 * argument. */
struct mpi_function {
    unsigned char class; /* enum mpi_class */
    unsigned char part;  /* enum mpi_part */
    unsigned char large; /* the count is an MPI_Count (64 bit), else an int */
    unsigned char count, type, status;
};

#define MPI_NONE 0xff

/* A data function whose last arguments are count and type at `count`, then perhaps a status. The
 * functions with large counts have the same arguments. */
#define MPI_DATA(X, name, class, part, count, status)   \
    X(name, class, part, 0, count, (count) + 1, status) \
    X(name##_c, class, part, 1, count, (count) + 1, status)

#define MPI_WITH_STATUS(X, name, class, count) \
    MPI_DATA(X, name, class, MPI_PART_ALL, count, (count) + 2)

#define MPI_WITH_REQUEST(X, name, class, count) \
    MPI_DATA(X, name, class, MPI_PART_ALL, count, MPI_NONE)

#define MPI_SPLIT(X, name, class, count)                              \
    MPI_DATA(X, name##_begin, class, MPI_PART_BEGIN, count, MPI_NONE) \
    X(name##_end, class, MPI_PART_END, 0, MPI_NONE, MPI_NONE, 2)

#define MPI_META(X, name, class) X(name, class, MPI_PART_ALL, 0, MPI_NONE, MPI_NONE, MPI_NONE)

#define MPI_START(X, name) X(name, 0, MPI_PART_INIT, 0, MPI_NONE, MPI_NONE, MPI_NONE)

/* X(name behind "MPI_", class, part, large, count, type, status). Those of MPI_PART_INIT are last:
 * they are attached last, so that they prove that no call was missed. */
#define MPI_FUNCTIONS(X)                                                  \
    MPI_WITH_STATUS(X, File_read, MPI_READ, 2)                            \
    MPI_WITH_STATUS(X, File_read_at, MPI_READ, 3)                         \
    MPI_WITH_STATUS(X, File_read_shared, MPI_READ, 2)                     \
    MPI_WITH_STATUS(X, File_read_all, MPI_READ_ALL, 2)                    \
    MPI_WITH_STATUS(X, File_read_at_all, MPI_READ_ALL, 3)                 \
    MPI_WITH_STATUS(X, File_read_ordered, MPI_READ_ALL, 2)                \
    MPI_WITH_REQUEST(X, File_iread, MPI_READ_NONBLOCKING, 2)              \
    MPI_WITH_REQUEST(X, File_iread_at, MPI_READ_NONBLOCKING, 3)           \
    MPI_WITH_REQUEST(X, File_iread_shared, MPI_READ_NONBLOCKING, 2)       \
    MPI_WITH_REQUEST(X, File_iread_all, MPI_READ_ALL_NONBLOCKING, 2)      \
    MPI_WITH_REQUEST(X, File_iread_at_all, MPI_READ_ALL_NONBLOCKING, 3)   \
    MPI_SPLIT(X, File_read_all, MPI_READ_ALL_SPLIT, 2)                    \
    MPI_SPLIT(X, File_read_at_all, MPI_READ_ALL_SPLIT, 3)                 \
    MPI_SPLIT(X, File_read_ordered, MPI_READ_ALL_SPLIT, 2)                \
    MPI_WITH_STATUS(X, File_write, MPI_WRITE, 2)                          \
    MPI_WITH_STATUS(X, File_write_at, MPI_WRITE, 3)                       \
    MPI_WITH_STATUS(X, File_write_shared, MPI_WRITE, 2)                   \
    MPI_WITH_STATUS(X, File_write_all, MPI_WRITE_ALL, 2)                  \
    MPI_WITH_STATUS(X, File_write_at_all, MPI_WRITE_ALL, 3)               \
    MPI_WITH_STATUS(X, File_write_ordered, MPI_WRITE_ALL, 2)              \
    MPI_WITH_REQUEST(X, File_iwrite, MPI_WRITE_NONBLOCKING, 2)            \
    MPI_WITH_REQUEST(X, File_iwrite_at, MPI_WRITE_NONBLOCKING, 3)         \
    MPI_WITH_REQUEST(X, File_iwrite_shared, MPI_WRITE_NONBLOCKING, 2)     \
    MPI_WITH_REQUEST(X, File_iwrite_all, MPI_WRITE_ALL_NONBLOCKING, 2)    \
    MPI_WITH_REQUEST(X, File_iwrite_at_all, MPI_WRITE_ALL_NONBLOCKING, 3) \
    MPI_SPLIT(X, File_write_all, MPI_WRITE_ALL_SPLIT, 2)                  \
    MPI_SPLIT(X, File_write_at_all, MPI_WRITE_ALL_SPLIT, 3)               \
    MPI_SPLIT(X, File_write_ordered, MPI_WRITE_ALL_SPLIT, 2)              \
    MPI_META(X, File_open, MPI_OPEN)                                      \
    MPI_META(X, File_close, MPI_CLOSE)                                    \
    MPI_META(X, File_set_view, MPI_SET_VIEW)                              \
    MPI_META(X, File_sync, MPI_SYNC)                                      \
    MPI_META(X, File_preallocate, MPI_PREALLOCATE)                        \
    MPI_START(X, Session_init)                                            \
    MPI_START(X, Init_thread)                                             \
    MPI_START(X, Init)

#define MPI_FUNCTION_NUMBER(name, ...) MPI_##name##_FUNCTION,
enum mpi_function_number { MPI_FUNCTIONS(MPI_FUNCTION_NUMBER) MPI_FUNCTION_COUNT };
#undef MPI_FUNCTION_NUMBER

#define MPI_FUNCTION_ENTRY(name, class, part, large, count, type, status) \
    {class, part, large, count, type, status},

/* The layout of the types that the programs read. */
enum mpi_layout { MPI_LAYOUT_MPICH, MPI_LAYOUT_OPEN_MPI };

/* The cookie of a probe. alias: it is at MPI_X, which may jump to PMPI_X. file: a number for each
 * file that was attached to. */
#define MPI_COOKIE_ALIAS 0x10000

static inline unsigned long long mpi_cookie(enum mpi_layout layout, unsigned int function,
                                            int alias, unsigned int file)
{
    return (unsigned long long)file << 32 | (alias ? MPI_COOKIE_ALIAS : 0) |
           (unsigned long long)layout << 8 | function;
}

#endif
