/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second thread executes this program again while the first one is in a call. The new program,
 * whose only thread has the id of the first one, makes NUMBER calls deeper in its stack. It is an
 * MPI of its own, as many.c.
 *
 * usage: execs NUMBER */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int PMPI_Init(void);
int PMPI_File_open(void);
int PMPI_File_close(void);
int MPIR_Process = 1; /* symbols of MPICH, the second one is a status */
int MPIR_F08_MPI_STATUS_IGNORE_OBJ[5];

static int in_call[2];

__attribute__((noipa)) int PMPI_Init(void)
{
    return 0;
}

__attribute__((noipa)) int PMPI_File_open(void)
{
    (void)!write(in_call[1], "", 1);
    for (;;)
        pause();
}

__attribute__((noipa)) int PMPI_File_close(void)
{
    return 0;
}

static void *execute(void *arg)
{
    char byte, **argv = arg;

    (void)!read(in_call[0], &byte, 1);
    (void)execl("/proc/self/exe", argv[0], argv[1], "again", NULL);
    _exit(1);
}

/* Deeper than the call of the first program: a call from there would look like a part of it. */
__attribute__((noipa)) static int call_deep(int n)
{
    volatile char room[1 << 16];
    int failed = 0;

    room[0] = 0;
    while (n-- > 0)
        failed |= PMPI_File_close() | room[0];
    return failed;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 2)
        return 2;
    if (argc == 2)
        sleep(2); /* until the probes are attached */
    (void)PMPI_Init();
    if (argc > 2)
        return call_deep(atoi(argv[1]));
    if (pipe(in_call) < 0 || pthread_create(&thread, NULL, execute, argv) != 0)
        return 3;
    return PMPI_File_open();
}
