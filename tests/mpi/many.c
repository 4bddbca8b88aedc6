/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More processes than the programs have room for, one after the other, each with an MPI_Init and
 * one call of MPI-IO: "many NUMBER". It is an MPI of its own, with the ABI of MPICH. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int PMPI_Init(void);
int PMPI_File_close(void);
int MPIR_Process = 1; /* symbols of MPICH, the second one is a status */
int MPIR_F08_MPI_STATUS_IGNORE_OBJ[5];

__attribute__((noipa)) int PMPI_Init(void)
{
    return 0;
}

__attribute__((noipa)) int PMPI_File_close(void)
{
    return 0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1, status = 0;

    sleep(2); /* until the probes are attached */
    (void)PMPI_Init();
    while (n-- > 0 && status == 0) {
        pid_t child = fork();

        if (child == 0)
            _exit(PMPI_Init() + PMPI_File_close());
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 1;
    }
    return status != 0;
}
