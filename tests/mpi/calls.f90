! SPDX-License-Identifier: GPL-2.0-or-later
! Calls MPI-IO from Fortran: each rank writes and reads 10 blocks of 1000 bytes, half of them without
! a status, and prints nothing. usage: calls_fortran FILE
! With -cpp -DF08 it uses the module mpi_f08 instead of mpi, with -cpp -DINCLUDE the file mpif.h.
program calls
#if defined F08
    use mpi_f08
#elif !defined INCLUDE
    use mpi
#endif
    implicit none
#ifdef INCLUDE
    include 'mpif.h'
#endif
    integer, parameter :: block = 1000
    integer :: ierr, rank, ranks, i
#ifdef F08
    type(MPI_File) :: file
    type(MPI_Status) :: status
#else
    integer :: file, status(MPI_STATUS_SIZE)
#endif
    integer(kind=MPI_OFFSET_KIND) :: at
    character(len=1) :: data(block)
    character(len=4096) :: path

    call get_command_argument(1, path)
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    data = 'x'
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
    if (ierr /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    do i = 0, 4
        at = int(2 * i * ranks + rank, MPI_OFFSET_KIND) * block
        call MPI_File_write_at(file, at, data, block, MPI_CHARACTER, status, ierr)
        at = at + int(ranks, MPI_OFFSET_KIND) * block
        call MPI_File_write_at_all(file, at, data, block, MPI_CHARACTER, MPI_STATUS_IGNORE, ierr)
    end do
    do i = 0, 4
        at = int(2 * i * ranks + rank, MPI_OFFSET_KIND) * block
        call MPI_File_read_at(file, at, data, block, MPI_CHARACTER, MPI_STATUS_IGNORE, ierr)
        at = at + int(ranks, MPI_OFFSET_KIND) * block
        call MPI_File_read_at_all(file, at, data, block, MPI_CHARACTER, status, ierr)
    end do
    call MPI_File_close(file, ierr)
    call MPI_Finalize(ierr)
end program
