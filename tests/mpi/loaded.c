/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads MPI when jobio looks at this process only at its readings, starts MPI at once or when jobio
 * has had the time to find the library, and then writes and reads 10 blocks of 1000 bytes. Has
 * OTHER loaded from its start, and does not use it.
 *
 * usage: loaded LIBRARY FILE at-once|later [OTHER] */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SETTLE_S 2
#define FIND_S 3
#define BLOCK 1000

#define LOAD(name) \
    __typeof__(MPI_##name) *name = (__typeof__(MPI_##name) *)dlsym(library, "MPI_" #name)

static void *load(const char *path)
{
    void *library;

    sleep(SETTLE_S);
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    return library;
}

int main(int argc, char **argv)
{
    static char data[BLOCK];
    bool other = argc < 5 || dlopen(argv[4], RTLD_NOW);
    void *library = argc >= 4 && other ? load(argv[1]) : NULL;
    bool later = argc >= 4 && !strcmp(argv[3], "later");
    MPI_Status status;
    MPI_File file;

    if (!library)
        return 2;
    LOAD(Init);
    LOAD(Finalize);
    LOAD(File_open);
    LOAD(File_write_at);
    LOAD(File_read_at_all);
    LOAD(File_close);
    if (later)
        sleep(FIND_S);
    Init(NULL, NULL);
    if (!later)
        sleep(FIND_S);
    if (File_open(MPI_COMM_SELF, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
        MPI_SUCCESS)
        return 1;
    for (int i = 0; i < 10; i++)
        File_write_at(file, i * BLOCK, data, BLOCK, MPI_BYTE, &status);
    for (int i = 0; i < 10; i++)
        File_read_at_all(file, i * BLOCK, data, BLOCK, MPI_BYTE, &status);
    File_close(&file);
    Finalize();
    return 0;
}
