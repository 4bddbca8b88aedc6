/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of MPI-IO, for LD_PRELOAD: counts the calls that a program and its libraries make,
 * by MPI's profiling interface, and appends the lines that calls.c prints to $TRUTH when the
 * program exits. Compiled with the mpicc of each implementation: only MPI is used. A call that
 * another one makes on the same thread is a part of it. Split calls are not supported: a program
 * that makes one is aborted. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLASSES(X)           \
    X(read)                  \
    X(read_nonblocking)      \
    X(read_all)              \
    X(read_all_nonblocking)  \
    X(write)                 \
    X(write_nonblocking)     \
    X(write_all)             \
    X(write_all_nonblocking) \
    X(open)                  \
    X(close)                 \
    X(set_view)              \
    X(sync)                  \
    X(preallocate)

#define CLASS_NUMBER(name) class_##name,
#define CLASS_NAME(name) #name,
enum class { CLASSES(CLASS_NUMBER) CLASS_COUNT };
static const char *const class_names[] = {CLASSES(CLASS_NAME)};

enum { CALLS, ERRORS, BYTES, REQUESTED, UNKNOWN, SUMS };
static long long done[CLASS_COUNT][SUMS];
static _Thread_local int depth;

static void add(enum class class, int kind, long long n)
{
    (void)__sync_fetch_and_add(&done[class][kind], n);
}

/* Returns whether a tool can know the size of a type without the library: of derived types of MPICH
 * it cannot. */
static int has_plain_size(MPI_Datatype type)
{
#ifdef OPEN_MPI
    (void)type;
    return 1;
#else
    int integers, addresses, types, combiner;

    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
#endif
}

static void add_bytes(enum class class, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Count bytes;

    if (status != MPI_STATUS_IGNORE) {
        PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
        add(class, BYTES, bytes);
    } else if (!count || has_plain_size(type)) {
        PMPI_Type_size_x(type, &bytes);
        add(class, REQUESTED, bytes * count);
    } else {
        add(class, UNKNOWN, 1);
    }
}

/* Call a function; the outermost one is counted. Returns from the caller. */
#define CALL(class, call, add_its_bytes)   \
    do {                                   \
        int code_;                         \
                                           \
        depth++;                           \
        code_ = (call);                    \
        if (--depth)                       \
            return code_;                  \
        add(class_##class, CALLS, 1);      \
        if (code_ != MPI_SUCCESS)          \
            add(class_##class, ERRORS, 1); \
        else                               \
            add_its_bytes;                 \
        return code_;                      \
    } while (0)

#define META(name, class, parameters, arguments)     \
    int MPI_File_##name parameters                   \
    {                                                \
        CALL(class, PMPI_File_##name arguments, {}); \
    }
META(open, open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
     (comm, name, mode, info, file))
META(close, close, (MPI_File * file), (file))
META(set_view, set_view,
     (MPI_File file, MPI_Offset at, MPI_Datatype unit, MPI_Datatype type, const char *data,
      MPI_Info info),
     (file, at, unit, type, data, info))
META(sync, sync, (MPI_File file), (file))
META(preallocate, preallocate, (MPI_File file, MPI_Offset size), (file, size))

/* Data functions, with and without a position. */
#define DATA(name, class, qualifier)                                                   \
    int MPI_File_##name(MPI_File file, qualifier void *data, int n, MPI_Datatype type, \
                        MPI_Status *status)                                            \
    {                                                                                  \
        CALL(class, PMPI_File_##name(file, data, n, type, status),                     \
             add_bytes(class_##class, n, type, status));                               \
    }
#define DATA_AT(name, class, qualifier)                                            \
    int MPI_File_##name(MPI_File file, MPI_Offset at, qualifier void *data, int n, \
                        MPI_Datatype type, MPI_Status *status)                     \
    {                                                                              \
        CALL(class, PMPI_File_##name(file, at, data, n, type, status),             \
             add_bytes(class_##class, n, type, status));                           \
    }
#define START(name, class, qualifier)                                                  \
    int MPI_File_##name(MPI_File file, qualifier void *data, int n, MPI_Datatype type, \
                        MPI_Request *request)                                          \
    {                                                                                  \
        CALL(class, PMPI_File_##name(file, data, n, type, request),                    \
             add_bytes(class_##class, n, type, MPI_STATUS_IGNORE));                    \
    }
#define START_AT(name, class, qualifier)                                           \
    int MPI_File_##name(MPI_File file, MPI_Offset at, qualifier void *data, int n, \
                        MPI_Datatype type, MPI_Request *request)                   \
    {                                                                              \
        CALL(class, PMPI_File_##name(file, at, data, n, type, request),            \
             add_bytes(class_##class, n, type, MPI_STATUS_IGNORE));                \
    }
DATA(read, read, )
DATA(read_shared, read, )
DATA(read_all, read_all, )
DATA(read_ordered, read_all, )
DATA_AT(read_at, read, )
DATA_AT(read_at_all, read_all, )
START(iread, read_nonblocking, )
START(iread_shared, read_nonblocking, )
START(iread_all, read_all_nonblocking, )
START_AT(iread_at, read_nonblocking, )
START_AT(iread_at_all, read_all_nonblocking, )
DATA(write, write, const)
DATA(write_shared, write, const)
DATA(write_all, write_all, const)
DATA(write_ordered, write_all, const)
DATA_AT(write_at, write, const)
DATA_AT(write_at_all, write_all, const)
START(iwrite, write_nonblocking, const)
START(iwrite_shared, write_nonblocking, const)
START(iwrite_all, write_all_nonblocking, const)
START_AT(iwrite_at, write_nonblocking, const)
START_AT(iwrite_at_all, write_all_nonblocking, const)

#define SPLIT(name, qualifier)                                                                 \
    int MPI_File_##name##_begin(MPI_File file, qualifier void *data, int n, MPI_Datatype type) \
    {                                                                                          \
        (void)file, (void)data, (void)n, (void)type;                                           \
        abort();                                                                               \
    }
#define SPLIT_AT(name, qualifier)                                                          \
    int MPI_File_##name##_begin(MPI_File file, MPI_Offset at, qualifier void *data, int n, \
                                MPI_Datatype type)                                         \
    {                                                                                      \
        (void)file, (void)at, (void)data, (void)n, (void)type;                             \
        abort();                                                                           \
    }
SPLIT(read_all, )
SPLIT(read_ordered, )
SPLIT_AT(read_at_all, )
SPLIT(write_all, const)
SPLIT(write_ordered, const)
SPLIT_AT(write_at_all, const)

/* Lines of several processes do not mix: each is one short write at the end of the file. At exit,
 * because the wrappers of Open MPI for Fortran call PMPI_Finalize. */
__attribute__((destructor)) static void print_sums(void)
{
    const char *path = getenv("TRUTH");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;

    for (int i = 0; i < CLASS_COUNT; i++) {
        const long long *sum = done[i];

        if (sum[CALLS] && dprintf(file, "%s %lld %lld %lld %lld %lld\n", class_names[i], sum[CALLS],
                                  sum[ERRORS], sum[BYTES], sum[REQUESTED], sum[UNKNOWN]) < 0)
            abort();
    }
    if (file >= 0)
        close(file);
}
