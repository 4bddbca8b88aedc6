/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first of two ranks is killed inside a collective call, which the second does not make: it
 * kills itself, or exits inside a call whose errors are fatal.
 *
 * usage: killed FILE [NO-FILE] */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_File file;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                  MPI_INFO_NULL, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        usleep(500000);
        MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
        if (argc > 2)
            MPI_File_open(MPI_COMM_SELF, argv[2], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        kill(getpid(), SIGKILL); /* then mpirun kills the first */
    }
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    return 0;
}
