/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls every function of MPI-IO that jobio counts, and prints what it did: a line a class,
 * "CLASS CALLS ERRORS BYTES REQUESTED UNKNOWN", the sum over the ranks. Compiled with the mpicc of
 * each implementation: only MPI is used.
 *
 * usage: calls FILE [ROUNDS]
 * $RANKS is a file: each rank appends "PID RANK" after its calls, and waits until $RANKS.read
 * exists, at most WAIT_S. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS, ERRORS, BYTES, REQUESTED, UNKNOWN, SUMS };

static const char *const names[] = {
    "read",
    "read_nonblocking",
    "read_all",
    "read_all_split",
    "read_all_nonblocking",
    "write",
    "write_nonblocking",
    "write_all",
    "write_all_split",
    "write_all_nonblocking",
    "open",
    "close",
    "set_view",
    "sync",
    "preallocate",
};
enum class {
    READ,
    READ_NONBLOCKING,
    READ_ALL,
    READ_ALL_SPLIT,
    READ_ALL_NONBLOCKING,
    WRITE,
    WRITE_NONBLOCKING,
    WRITE_ALL,
    WRITE_ALL_SPLIT,
    WRITE_ALL_NONBLOCKING,
    OPEN,
    CLOSE,
    SET_VIEW,
    SYNC,
    PREALLOCATE,
    CLASSES,
};

static long long done[CLASSES][SUMS];

#define BLOCK 1000 /* bytes; also a multiple of an int */
#define INTS (BLOCK / (int)sizeof(int))

static int rank, ranks;
static MPI_Datatype pair; /* two ints: only the library of MPICH knows its size */

static void fail(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    MPI_Error_string(code, text, &length);
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void count(enum class class, int kind, long long bytes)
{
    done[class][CALLS]++;
    if (kind != CALLS)
        done[class][kind] += bytes;
}

/* A call that succeeds, and what it adds. */
#define DO(class, kind, bytes, call) \
    do {                             \
        int code_ = (call);          \
        if (code_ != MPI_SUCCESS)    \
            fail(#call, code_);      \
        count(class, kind, bytes);   \
    } while (0)
#define FAIL(class, call)             \
    do {                              \
        if ((call) == MPI_SUCCESS)    \
            fail(#call, MPI_SUCCESS); \
        count(class, ERRORS, 1);      \
    } while (0)
#define MUST(call)                \
    do {                          \
        int code_ = (call);       \
        if (code_ != MPI_SUCCESS) \
            fail(#call, code_);   \
    } while (0)

/* Open MPI's derived types have their size at a known place. */
#ifdef OPEN_MPI
#define PAIR_KIND REQUESTED
#define PAIR_SUM BLOCK
#else
#define PAIR_KIND UNKNOWN
#define PAIR_SUM 1
#endif

static MPI_Offset place(int slot)
{
    return ((MPI_Offset)slot * ranks + rank) * BLOCK;
}

static void blocking(MPI_File file, char *data)
{
    MPI_Status status;

    DO(WRITE, BYTES, BLOCK, MPI_File_write_at(file, place(0), data, BLOCK, MPI_BYTE, &status));
    DO(WRITE, REQUESTED, BLOCK,
       MPI_File_write_at(file, place(1), data, INTS, MPI_INT, MPI_STATUS_IGNORE));
    DO(WRITE, BYTES, BLOCK, MPI_File_write_at(file, place(2), data, INTS / 2, pair, &status));
    DO(WRITE, PAIR_KIND, PAIR_SUM,
       MPI_File_write_at(file, place(3), data, INTS / 2, pair, MPI_STATUS_IGNORE));
    DO(WRITE, BYTES, 0, MPI_File_write_at(file, place(3), data, 0, MPI_BYTE, &status));
    MUST(MPI_File_seek(file, place(4), MPI_SEEK_SET));
    DO(WRITE, BYTES, BLOCK, MPI_File_write(file, data, BLOCK, MPI_CHAR, &status));
    MUST(MPI_File_seek_shared(file, place(5) - rank * BLOCK, MPI_SEEK_SET));
    DO(WRITE, BYTES, BLOCK, MPI_File_write_shared(file, data, BLOCK, MPI_BYTE, &status));
    DO(WRITE_ALL, BYTES, BLOCK,
       MPI_File_write_at_all(file, place(6), data, BLOCK, MPI_BYTE, &status));
    MUST(MPI_File_seek(file, place(7), MPI_SEEK_SET));
    DO(WRITE_ALL, BYTES, BLOCK, MPI_File_write_all(file, data, INTS, MPI_INT, &status));
    MUST(MPI_File_seek_shared(file, place(8) - rank * BLOCK, MPI_SEEK_SET));
    DO(WRITE_ALL, REQUESTED, BLOCK,
       MPI_File_write_ordered(file, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
    DO(SYNC, CALLS, 0, MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);

    DO(READ, BYTES, BLOCK, MPI_File_read_at(file, place(0), data, BLOCK, MPI_BYTE, &status));
    DO(READ, REQUESTED, BLOCK,
       MPI_File_read_at(file, place(1), data, INTS, MPI_INT, MPI_STATUS_IGNORE));
    DO(READ, PAIR_KIND, PAIR_SUM,
       MPI_File_read_at(file, place(3), data, INTS / 2, pair, MPI_STATUS_IGNORE));
    MUST(MPI_File_seek(file, place(4), MPI_SEEK_SET));
    DO(READ, BYTES, BLOCK, MPI_File_read(file, data, INTS / 2, pair, &status));
    MUST(MPI_File_seek_shared(file, place(5) - rank * BLOCK, MPI_SEEK_SET));
    DO(READ, BYTES, BLOCK, MPI_File_read_shared(file, data, BLOCK, MPI_BYTE, &status));
    DO(READ_ALL, BYTES, BLOCK,
       MPI_File_read_at_all(file, place(6), data, BLOCK, MPI_BYTE, &status));
    MUST(MPI_File_seek(file, place(7), MPI_SEEK_SET));
    DO(READ_ALL, BYTES, BLOCK, MPI_File_read_all(file, data, BLOCK, MPI_BYTE, &status));
    MUST(MPI_File_seek_shared(file, place(8) - rank * BLOCK, MPI_SEEK_SET));
    DO(READ_ALL, BYTES, BLOCK, MPI_File_read_ordered(file, data, BLOCK, MPI_BYTE, &status));
}

static void split(MPI_File file, char *data)
{
    MPI_Status status;

    MUST(MPI_File_write_at_all_begin(file, place(6), data, BLOCK, MPI_BYTE));
    DO(WRITE_ALL_SPLIT, BYTES, BLOCK, MPI_File_write_at_all_end(file, data, &status));
    MUST(MPI_File_seek(file, place(7), MPI_SEEK_SET));
    MUST(MPI_File_write_all_begin(file, data, INTS, MPI_INT));
    DO(WRITE_ALL_SPLIT, REQUESTED, BLOCK, MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE));
    MUST(MPI_File_seek_shared(file, place(8) - rank * BLOCK, MPI_SEEK_SET));
    MUST(MPI_File_write_ordered_begin(file, data, INTS / 2, pair));
    DO(WRITE_ALL_SPLIT, PAIR_KIND, PAIR_SUM,
       MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE));

    MUST(MPI_File_read_at_all_begin(file, place(6), data, BLOCK, MPI_BYTE));
    DO(READ_ALL_SPLIT, BYTES, BLOCK, MPI_File_read_at_all_end(file, data, &status));
    MUST(MPI_File_seek(file, place(7), MPI_SEEK_SET));
    MUST(MPI_File_read_all_begin(file, data, INTS, MPI_INT));
    DO(READ_ALL_SPLIT, BYTES, BLOCK, MPI_File_read_all_end(file, data, &status));
    MUST(MPI_File_seek_shared(file, place(8) - rank * BLOCK, MPI_SEEK_SET));
    MUST(MPI_File_read_ordered_begin(file, data, BLOCK, MPI_BYTE));
    DO(READ_ALL_SPLIT, BYTES, BLOCK, MPI_File_read_ordered_end(file, data, &status));
}

static void nonblocking(MPI_File file, char *data)
{
    MPI_Request request;

#define WAIT() MUST(MPI_Wait(&request, MPI_STATUS_IGNORE))
    DO(WRITE_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iwrite_at(file, place(0), data, BLOCK, MPI_BYTE, &request));
    WAIT();
    MUST(MPI_File_seek(file, place(1), MPI_SEEK_SET));
    DO(WRITE_NONBLOCKING, REQUESTED, BLOCK, MPI_File_iwrite(file, data, INTS, MPI_INT, &request));
    WAIT();
    MUST(MPI_File_seek_shared(file, place(5) - rank * BLOCK, MPI_SEEK_SET));
    DO(WRITE_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iwrite_shared(file, data, BLOCK, MPI_BYTE, &request));
    WAIT();
    DO(WRITE_ALL_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iwrite_at_all(file, place(6), data, BLOCK, MPI_BYTE, &request));
    WAIT();
    MUST(MPI_File_seek(file, place(7), MPI_SEEK_SET));
    DO(WRITE_ALL_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iwrite_all(file, data, BLOCK, MPI_BYTE, &request));
    WAIT();
    MPI_Barrier(MPI_COMM_WORLD);
    DO(READ_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iread_at(file, place(0), data, BLOCK, MPI_BYTE, &request));
    WAIT();
    MUST(MPI_File_seek(file, place(1), MPI_SEEK_SET));
    DO(READ_NONBLOCKING, REQUESTED, BLOCK, MPI_File_iread(file, data, INTS, MPI_INT, &request));
    WAIT();
    MUST(MPI_File_seek_shared(file, place(5) - rank * BLOCK, MPI_SEEK_SET));
    DO(READ_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iread_shared(file, data, BLOCK, MPI_BYTE, &request));
    WAIT();
    DO(READ_ALL_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iread_at_all(file, place(6), data, BLOCK, MPI_BYTE, &request));
    WAIT();
    MUST(MPI_File_seek(file, place(7), MPI_SEEK_SET));
    DO(READ_ALL_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iread_all(file, data, BLOCK, MPI_BYTE, &request));
    WAIT();
}

#if MPI_VERSION >= 4
static void large(MPI_File file, char *data)
{
    MPI_Status status;
    MPI_Request request;

    DO(WRITE, BYTES, BLOCK, MPI_File_write_at_c(file, place(0), data, BLOCK, MPI_BYTE, &status));
    DO(WRITE_ALL, REQUESTED, BLOCK,
       MPI_File_write_at_all_c(file, place(6), data, INTS, MPI_INT, MPI_STATUS_IGNORE));
    DO(READ, REQUESTED, BLOCK,
       MPI_File_read_at_c(file, place(0), data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
    DO(READ_ALL, BYTES, BLOCK,
       MPI_File_read_at_all_c(file, place(6), data, BLOCK, MPI_BYTE, &status));
    DO(WRITE_NONBLOCKING, REQUESTED, BLOCK,
       MPI_File_iwrite_at_c(file, place(0), data, BLOCK, MPI_BYTE, &request));
    WAIT();
    MUST(MPI_File_write_at_all_begin_c(file, place(6), data, BLOCK, MPI_BYTE));
    DO(WRITE_ALL_SPLIT, BYTES, BLOCK, MPI_File_write_at_all_end(file, data, &status));
}
#else
static void large(MPI_File file, char *data)
{
    (void)file, (void)data;
}
#endif

/* Reads at the end of the file get less, or nothing. */
static void end_of_file(MPI_File file, char *data)
{
    MPI_Status status;
    MPI_Offset size;

    MUST(MPI_File_get_size(file, &size));
    DO(READ, BYTES, 100, MPI_File_read_at(file, size - 100, data, BLOCK, MPI_BYTE, &status));
    DO(READ, BYTES, 0, MPI_File_read_at(file, size + 100, data, BLOCK, MPI_BYTE, &status));
}

static void failures(MPI_File file, char *data, const char *path)
{
    char none[4096];
    MPI_File other;
    MPI_Status status;

    snprintf(none, sizeof(none), "%s.none", path);
    FAIL(OPEN, MPI_File_open(MPI_COMM_SELF, none, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
    DO(OPEN, CALLS, 0, MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
    FAIL(WRITE, MPI_File_write_at(other, 0, data, BLOCK, MPI_BYTE, &status));
    DO(CLOSE, CALLS, 0, MPI_File_close(&other));
    (void)file;
}

#define WAIT_S 600

static void write_rank(const char *path)
{
    char read[4096];
    double end = MPI_Wtime() + WAIT_S;
    FILE *file = fopen(path, "a");

    if (!file || fprintf(file, "%d %d\n", (int)getpid(), rank) < 0 || fclose(file))
        MPI_Abort(MPI_COMM_WORLD, 3);
    snprintf(read, sizeof(read), "%s.read", path);
    while (access(read, F_OK)) {
        if (MPI_Wtime() > end)
            MPI_Abort(MPI_COMM_WORLD, 4);
        usleep(10000);
    }
}

static void print_sums(void)
{
    long long all[CLASSES][SUMS];

    MPI_Reduce(done, all, CLASSES * SUMS, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < CLASSES; i++)
        if (all[i][CALLS])
            printf("%s %lld %lld %lld %lld %lld\n", names[i], all[i][CALLS], all[i][ERRORS],
                   all[i][BYTES], all[i][REQUESTED], all[i][UNKNOWN]);
}

int main(int argc, char **argv)
{
    static char data[BLOCK];
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    MPI_File file;

    if (argc < 2)
        return 2;
    MUST(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memset(data, 'a' + rank % 26, sizeof(data));
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_commit(&pair));

    DO(OPEN, CALLS, 0,
       MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file));
    DO(SET_VIEW, CALLS, 0, MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    DO(PREALLOCATE, CALLS, 0, MPI_File_preallocate(file, place(16) - rank * BLOCK));
    for (int i = 0; i < rounds; i++) {
        blocking(file, data);
        split(file, data);
        nonblocking(file, data);
        large(file, data);
    }
    end_of_file(file, data);
    failures(file, data, argv[1]);
    DO(CLOSE, CALLS, 0, MPI_File_close(&file));
    if (getenv("RANKS"))
        write_rank(getenv("RANKS"));
    print_sums();
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
