/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls MPI-IO in phases. Each rank starts phase N when DIRECTORY/go.N exists, and makes that
 * number of rounds; 0: until DIRECTORY/stop.N exists. A round is a write and a read; every
 * hundredth one also has a collective write, if their number is fixed. The file is opened in the
 * first phase, and closed in the last one. After a phase, DIRECTORY/truth.N has what all ranks did:
 * a line a class, "CLASS CALLS ERRORS BYTES REQUESTED UNKNOWN".
 *
 * usage: phases FILE DIRECTORY ROUNDS... */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK 1000

enum class { OPEN, CLOSE, READ, WRITE, WRITE_ALL, CLASSES };
static const char *const names[] = {"open", "close", "read", "write", "write_all"};

static const char *directory;
static char data[BLOCK];
static int rank;
static long calls[CLASSES];

static void must(int ok)
{
    if (!ok)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static int exists(const char *name, int phase)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s.%d", directory, name, phase);
    return access(path, F_OK) == 0;
}

static void count(enum class class, int code)
{
    must(code == MPI_SUCCESS);
    calls[class]++;
}

static void call_round(MPI_File file, long round, int collective)
{
    MPI_Offset offset = (MPI_Offset)rank * BLOCK;
    MPI_Status status;

    count(WRITE, MPI_File_write_at(file, offset, data, BLOCK, MPI_BYTE, &status));
    count(READ, MPI_File_read_at(file, offset, data, BLOCK, MPI_BYTE, &status));
    if (collective && round % 100 == 0)
        count(WRITE_ALL, MPI_File_write_at_all(file, offset, data, BLOCK, MPI_BYTE, &status));
}

/* With a pause in each round of an open end: a test has to see more calls than can be lost. */
static void call_rounds(MPI_File file, int phase, long rounds)
{
    for (long i = 0; i < rounds; i++)
        call_round(file, i, 1);
    for (long i = 0; rounds == 0 && !exists("stop", phase); i++) {
        call_round(file, i, 0);
        usleep(2000);
    }
}

static void print_truth(const long *sums, FILE *to)
{
    for (int i = 0; i < CLASSES; i++)
        if (sums[i])
            fprintf(to, "%s %ld 0 %ld 0 0\n", names[i], sums[i], i >= READ ? sums[i] * BLOCK : 0);
}

/* The file appears with all its lines. */
static void write_truth(int phase)
{
    char path[PATH_MAX], new[PATH_MAX];
    long sums[CLASSES];
    FILE *to;

    MPI_Reduce(calls, sums, CLASSES, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; i < CLASSES; i++)
        calls[i] = 0;
    if (rank != 0)
        return;
    (void)snprintf(new, sizeof(new), "%s/new", directory);
    (void)snprintf(path, sizeof(path), "%s/truth.%d", directory, phase);
    to = fopen(new, "w");
    must(to != NULL);
    print_truth(sums, to);
    must(fclose(to) == 0 && rename(new, path) == 0);
}

int main(int argc, char **argv)
{
    int phases = argc - 3;
    MPI_File file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    must(phases > 0);
    directory = argv[2];
    for (int phase = 1; phase <= phases; phase++) {
        while (!exists("go", phase))
            usleep(1000);
        if (phase == 1)
            count(OPEN, MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                      MPI_INFO_NULL, &file));
        call_rounds(file, phase, atol(argv[2 + phase]));
        if (phase == phases)
            count(CLOSE, MPI_File_close(&file));
        write_truth(phase);
    }
    MPI_Finalize();
    return 0;
}
