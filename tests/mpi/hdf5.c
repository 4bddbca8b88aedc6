/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes two datasets of HDF5 with all ranks, a contiguous one, of which each rank has every n-th
 * row, and one in chunks, and reads them again. A rank checks what it has read.
 *
 * usage: hdf5 FILE independent|collective */
#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 8     /* of a rank */
#define COLUMNS 50 /* of int */

static int rank, ranks;
static hid_t transfer;

/* Returns an identifier, or ends the program. */
static hid_t must(hid_t id)
{
    if (id < 0) {
        H5Eprint(H5E_DEFAULT, stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return id;
}

static hid_t create_dataset(hid_t file, const char *name, int has_chunks)
{
    hsize_t size[] = {(hsize_t)ranks * ROWS, COLUMNS}, chunk[] = {ROWS / 2, COLUMNS};
    hid_t space = must(H5Screate_simple(2, size, NULL)), how = must(H5Pcreate(H5P_DATASET_CREATE));
    hid_t dataset;

    if (has_chunks)
        must(H5Pset_chunk(how, 2, chunk));
    dataset = must(H5Dcreate(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, how, H5P_DEFAULT));
    H5Pclose(how);
    H5Sclose(space);
    return dataset;
}

/* Every n-th row, from that of the rank. */
static void write_and_read(hid_t dataset)
{
    static int data[ROWS][COLUMNS], again[ROWS][COLUMNS];
    hsize_t start[] = {rank, 0}, step[] = {ranks, 1}, n[] = {ROWS, COLUMNS};
    hid_t rows = must(H5Screate_simple(2, n, NULL)), space = must(H5Dget_space(dataset));

    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i / COLUMNS][i % COLUMNS] = rank * ROWS * COLUMNS + i;
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, n, NULL));
    must(H5Dwrite(dataset, H5T_NATIVE_INT, rows, space, transfer, data));
    must(H5Dread(dataset, H5T_NATIVE_INT, rows, space, transfer, again));
    if (memcmp(data, again, sizeof(data)) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    H5Sclose(rows);
    H5Sclose(space);
}

int main(int argc, char **argv)
{
    hid_t access, file;

    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    access = must(H5Pcreate(H5P_FILE_ACCESS));
    must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    transfer = must(H5Pcreate(H5P_DATASET_XFER));
    must(H5Pset_dxpl_mpio(transfer, strcmp(argv[2], "collective") == 0 ? H5FD_MPIO_COLLECTIVE
                                                                       : H5FD_MPIO_INDEPENDENT));
    file = must(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access));
    for (int has_chunks = 0; has_chunks < 2; has_chunks++) {
        hid_t dataset = create_dataset(file, has_chunks ? "chunks" : "rows", has_chunks);

        write_and_read(dataset);
        must(H5Fflush(file, H5F_SCOPE_GLOBAL));
        H5Dclose(dataset);
    }
    H5Pclose(transfer);
    H5Pclose(access);
    must(H5Fclose(file));
    MPI_Finalize();
    return 0;
}
