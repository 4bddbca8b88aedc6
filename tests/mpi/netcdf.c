/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a variable of NetCDF-4, which is a dataset of HDF5, with all ranks, a row each in turn,
 * and reads it again. A rank checks what it has read.
 *
 * usage: netcdf FILE independent|collective */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <string.h>

#define ROWS 8 /* of a rank */
#define COLUMNS 50

static void must(int code)
{
    if (code == NC_NOERR)
        return;
    fprintf(stderr, "%s\n", nc_strerror(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    int rank, ranks, file, sizes[2], variable, data[COLUMNS], again[COLUMNS];

    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(nc_create_par(argv[1], NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    must(nc_def_dim(file, "row", (size_t)ranks * ROWS, &sizes[0]));
    must(nc_def_dim(file, "column", COLUMNS, &sizes[1]));
    must(nc_def_var(file, "table", NC_INT, 2, sizes, &variable));
    must(nc_enddef(file));
    must(nc_var_par_access(file, variable,
                           strcmp(argv[2], "collective") == 0 ? NC_COLLECTIVE : NC_INDEPENDENT));
    for (int i = 0; i < ROWS; i++) {
        size_t start[] = {(size_t)i * ranks + rank, 0}, n[] = {1, COLUMNS};

        for (int j = 0; j < COLUMNS; j++)
            data[j] = (i * ranks + rank) * COLUMNS + j;
        must(nc_put_vara_int(file, variable, start, n, data));
        must(nc_get_vara_int(file, variable, start, n, again));
        if (memcmp(data, again, sizeof(data)) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    must(nc_close(file));
    MPI_Finalize();
    return 0;
}
