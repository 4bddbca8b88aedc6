/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library with functions of MPI-IO that is of no known implementation, and with -DPROGRAM a
 * program that calls it for a second. */
#include <unistd.h>

int PMPI_File_open(void);
int PMPI_File_write(void);

#ifdef PROGRAM
int main(void)
{
    sleep(1);
    return PMPI_File_open() + PMPI_File_write();
}
#else
int PMPI_File_open(void)
{
    return 0;
}

int PMPI_File_write(void)
{
    return 0;
}
#endif
