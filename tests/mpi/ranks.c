/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts N programs at once that are MPI processes of their own (singletons). When all have started
 * MPI, they call MPI-IO at the same time: each opens a file of its own, and writes and reads a
 * block CALLS times. Fails unless all of them end well.
 *
 * usage: ranks N CALLS DIRECTORY */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 1000

/* A rank writes a byte to READY when it has started MPI. It may call MPI-IO when GO is at its end.
 */
enum { READY = 10, GO };

static void must(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static int call(int calls, const char *directory)
{
    static char data[BLOCK];
    char path[PATH_MAX];
    MPI_Status status;
    MPI_File file;
    int ok;

    (void)snprintf(path, sizeof(path), "%s/%d", directory, (int)getpid());
    ok = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                       &file) == MPI_SUCCESS;
    for (int i = 0; ok && i < calls; i++)
        ok = MPI_File_write_at_all(file, 0, data, BLOCK, MPI_BYTE, &status) == MPI_SUCCESS &&
             MPI_File_read_at(file, 0, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    return ok && MPI_File_close(&file) == MPI_SUCCESS;
}

static int be_rank(int calls, const char *directory)
{
    char byte = 0;
    int ok;

    must(MPI_Init(NULL, NULL) == MPI_SUCCESS && write(READY, &byte, 1) == 1, "a rank");
    must(read(GO, &byte, 1) == 0, "the start of the calls");
    ok = call(calls, directory);
    MPI_Finalize();
    return !ok;
}

/* The inherited ends keep their numbers, the others are closed by exec. */
static void start_rank(char **argv, int ready, int go)
{
    pid_t pid = fork();

    must(pid >= 0, "fork");
    if (pid)
        return;
    must(dup2(ready, READY) == READY && dup2(go, GO) == GO, "dup2");
    (void)execl("/proc/self/exe", argv[0], argv[2], argv[3], NULL);
    must(0, "exec");
}

static void await_ready(int ready)
{
    char byte;

    must(read(ready, &byte, 1) == 1, "a rank");
}

static void await_end(void)
{
    int status;

    while (wait(&status) > 0)
        must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a rank failed");
}

int main(int argc, char **argv)
{
    int ready[2], go[2], n;

    if (argc == 3)
        return be_rank(atoi(argv[1]), argv[2]);
    if (argc != 4)
        return 2;
    n = atoi(argv[1]);
    must(pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0, "pipe2");
    for (int i = 0; i < n; i++)
        start_rank(argv, ready[1], go[0]);
    for (int i = 0; i < n; i++)
        await_ready(ready[0]);
    (void)close(go[1]);
    await_end();
    return 0;
}
