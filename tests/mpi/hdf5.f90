! SPDX-License-Identifier: GPL-2.0-or-later
! Writes a dataset of HDF5 with all ranks, a column of 1000 integers each, collectively.
! usage: hdf5_fortran FILE
program write_dataset
    use mpi
    use hdf5
    implicit none
    integer, parameter :: length = 1000
    integer :: error, rank, ranks
    integer, target :: data(length, 1)
    integer(hid_t) :: access, transfer, file, all, own, dataset
    integer(hsize_t) :: size(2), start(2)
    integer(hsize_t), parameter :: column(2) = [length, 1]
    character(len=4096) :: path

    call get_command_argument(1, path)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    data = rank
    size = [length, ranks]
    start = [0, rank]
    call h5open_f(error)
    call h5pcreate_f(H5P_FILE_ACCESS_F, access, error)
    call h5pset_fapl_mpio_f(access, MPI_COMM_WORLD, MPI_INFO_NULL, error)
    call h5pcreate_f(H5P_DATASET_XFER_F, transfer, error)
    call h5pset_dxpl_mpio_f(transfer, H5FD_MPIO_COLLECTIVE_F, error)
    call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, error, access_prp=access)
    if (error < 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    call h5screate_simple_f(2, size, all, error)
    call h5screate_simple_f(2, column, own, error)
    call h5dcreate_f(file, "columns", H5T_NATIVE_INTEGER, all, dataset, error)
    call h5sselect_hyperslab_f(all, H5S_SELECT_SET_F, start, column, error)
    call h5dwrite_f(dataset, H5T_NATIVE_INTEGER, data, column, error, own, all, transfer)
    if (error < 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    call h5dclose_f(dataset, error)
    call h5fclose_f(file, error)
    call h5close_f(error)
    call MPI_Finalize(error)
end program
