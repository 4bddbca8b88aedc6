/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls MPI-IO on a file in memory, and prints a line for each kind of call of the first rank: its
 * name and the ns of a call, in the fastest chunk and in the median one. For tests/bench/mpi and
 * tests/bench/mpi_instructions.
 *
 * usage: mpi FILE CHUNKS */
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

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Stores the ns of a call in each chunk, ascending. Nothing disturbed the first one. */
static void measure(void (*call)(MPI_File file), MPI_File file, double *ns, int chunks)
{
    call(file);
    for (int i = 0; i < chunks; i++) {
        double start = now_ns();

        for (int j = 0; j < CALLS; j++)
            call(file);
        ns[i] = (now_ns() - start) / CALLS;
    }
    qsort(ns, (size_t)chunks, sizeof(*ns), compare);
}

int main(int argc, char **argv)
{
    int chunks = argc == 3 ? atoi(argv[2]) : 0;
    double *ns = calloc((size_t)chunks + 1, sizeof(*ns));
    MPI_File file;

    if (chunks < 1 || !ns)
        return 2;
    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                       &file));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        measure(kinds[i].call, file, ns, chunks);
        if (rank == 0)
            printf("%s %.0f %.0f\n", kinds[i].name, ns[0], ns[chunks / 2]);
    }
    must(MPI_File_close(&file));
    MPI_Finalize();
    free(ns);
    return 0;
}
