/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a variable with PnetCDF, whose format is that of NetCDF-3, with all ranks, a row each in
 * turn: at once, or many rows with one nonblocking request each. Reads it again, and checks what it
 * has read.
 *
 * usage: pnetcdf FILE independent|collective */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>

#define ROWS 8 /* of a rank; the second half is written by nonblocking requests */
#define COLUMNS 50

static int rank, ranks, collective, file, variable;

static void must(int code)
{
    if (code == NC_NOERR)
        return;
    fprintf(stderr, "%s\n", ncmpi_strerror(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_rows(int data[ROWS][COLUMNS])
{
    int requests[ROWS], results[ROWS], n = 0;

    for (int i = 0; i < ROWS; i++) {
        MPI_Offset start[] = {(MPI_Offset)i * ranks + rank, 0}, size[] = {1, COLUMNS};

        if (i >= ROWS / 2)
            must(ncmpi_iput_vara_int(file, variable, start, size, data[i], &requests[n++]));
        else if (collective)
            must(ncmpi_put_vara_int_all(file, variable, start, size, data[i]));
        else
            must(ncmpi_put_vara_int(file, variable, start, size, data[i]));
    }
    must((collective ? ncmpi_wait_all : ncmpi_wait)(file, n, requests, results));
    must(ncmpi_sync(file));
}

static void read_rows(int data[ROWS][COLUMNS])
{
    for (int i = 0; i < ROWS; i++) {
        MPI_Offset start[] = {(MPI_Offset)i * ranks + rank, 0}, size[] = {1, COLUMNS};

        must((collective ? ncmpi_get_vara_int_all : ncmpi_get_vara_int)(file, variable, start, size,
                                                                        data[i]));
    }
}

int main(int argc, char **argv)
{
    static int data[ROWS][COLUMNS], again[ROWS][COLUMNS];
    int sizes[2];

    if (argc != 3)
        return 2;
    collective = strcmp(argv[2], "collective") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i / COLUMNS][i % COLUMNS] = rank * ROWS * COLUMNS + i;
    must(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER, MPI_INFO_NULL, &file));
    must(ncmpi_def_dim(file, "row", (MPI_Offset)ranks * ROWS, &sizes[0]));
    must(ncmpi_def_dim(file, "column", COLUMNS, &sizes[1]));
    must(ncmpi_def_var(file, "table", NC_INT, 2, sizes, &variable));
    must(ncmpi_enddef(file));
    if (!collective)
        must(ncmpi_begin_indep_data(file));
    write_rows(data);
    read_rows(again);
    if (memcmp(data, again, sizeof(data)) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (!collective)
        must(ncmpi_end_indep_data(file));
    must(ncmpi_close(file));
    MPI_Finalize();
    return 0;
}
