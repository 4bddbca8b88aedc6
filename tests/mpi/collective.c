/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collective writes by all processes in turn, 64 of 1 MiB or CALLS of 1 MiB, into a file without
 * holes.
 *   collective FILE HINT VALUE [CALLS]
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (1 << 20) /* more in all than the shared memory of MPI itself */
#define CALLS 64

int main(int argc, char **argv)
{
    static char block[BYTES];
    MPI_Info info;
    MPI_File file;
    int rank, ranks, calls = argc > 4 ? atoi(argv[4]) : CALLS;

    MPI_Init(&argc, &argv);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Info_create(&info);
    MPI_Info_set(info, argv[2], argv[3]);
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file))
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < calls; i++)
        MPI_File_write_at_all(file, (MPI_Offset)(i * ranks + rank) * BYTES, block, BYTES, MPI_BYTE,
                              MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Info_free(&info);
    return MPI_Finalize();
}
