/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls MPI-IO on a file in memory, and prints a line for each kind of call of the first rank: its
 * name and the ns of a call, in the fastest chunk. Compiled and run by tests/bench/mpi.
 *
 * usage: mpi FILE CHUNKS */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MIB (1 << 20)
#define CALLS 20 /* in a chunk */

static char data[MIB];
static int rank;

static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_8(MPI_File file)
{
    must(MPI_File_write_at(file, 0, data, 8, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_8(MPI_File file)
{
    must(MPI_File_read_at(file, 0, data, 8, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_mib(MPI_File file)
{
    MPI_Status status;

    must(MPI_File_write_at_all(file, (MPI_Offset)rank * MIB, data, MIB, MPI_BYTE, &status));
}

static const struct {
    const char *name;
    void (*call)(MPI_File file);
} kinds[] = {
    {"write_at_of_8_bytes", write_8},
    {"read_at_of_8_bytes", read_8},
    {"write_at_all_of_1_MiB", write_mib},
};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Returns the ns of a call in the fastest chunk, which nothing disturbed. */
static double measure(void (*call)(MPI_File file), MPI_File file, int chunks)
{
    double best = INFINITY;

    call(file);
    for (int i = 0; i < chunks; i++) {
        double start = now_ns();

        for (int j = 0; j < CALLS; j++)
            call(file);
        best = fmin(best, (now_ns() - start) / CALLS);
    }
    return best;
}

int main(int argc, char **argv)
{
    int chunks = argc == 3 ? atoi(argv[2]) : 0;
    MPI_File file;

    if (chunks < 1)
        return 2;
    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                       &file));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        double ns = measure(kinds[i].call, file, chunks);

        if (rank == 0)
            printf("%s %.0f\n", kinds[i].name, ns);
    }
    must(MPI_File_close(&file));
    MPI_Finalize();
    return 0;
}
