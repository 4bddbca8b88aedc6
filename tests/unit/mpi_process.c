/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memmem() */
#include "config.h"

#include "tests/unit/test.h"

#include "tests/unit/mpi_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

/* What an MPI has; in this program under other names, of the same length. */
int Mpi1_File_write(void);
__attribute__((used)) int Mpi1_File_write(void)
{
    return 1;
}
int Mpi1_Dup_fn(void);
__attribute__((used)) int Mpi1_Dup_fn(void)
{
    return 2;
}

extern int Mpi1_F08_MPI_STATUS_IGNORE_OBJ[5];
__attribute__((used)) int Mpi1_F08_MPI_STATUS_IGNORE_OBJ[5];
extern const char Mpi1_Version_ABI[];
__attribute__((used)) const char Mpi1_Version_ABI[] = "14:2:2";

static void replace(char *bytes, size_t size, const char *from, const char *to)
{
    char *at = bytes;

    assert_int_equal(strlen(from), strlen(to));
    while ((at = memmem(at, size - (size_t)(at - bytes), from, strlen(from))))
        memcpy(at, to, strlen(to));
}

pid_t start_with_mpi(void)
{
    _close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    _close_ int file = memfd_create("mpi", MFD_CLOEXEC);
    struct stat st;
    _free_ char *bytes = NULL;
    void *mapped;
    pid_t pid;

    assert_int_equal(fstat(self, &st), 0);
    bytes = malloc((size_t)st.st_size);
    assert_int_equal(read(self, bytes, (size_t)st.st_size), st.st_size);
    replace(bytes, (size_t)st.st_size, "Mpi1_File_write", "PMPI_File_write");
    replace(bytes, (size_t)st.st_size, "Mpi1_Dup_fn", "MPIR_Dup_fn");
    replace(bytes, (size_t)st.st_size, "Mpi1_F08_MPI_STATUS", "MPIR_F08_MPI_STATUS");
    replace(bytes, (size_t)st.st_size, "Mpi1_Version_ABI", "MPII_Version_ABI");
    assert_int_equal(write(file, bytes, (size_t)st.st_size), st.st_size);
    mapped = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) /* with the test: a test that fails does not end it */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (pid == 0)
        pause();
    (void)munmap(mapped, 1);
    return pid;
}
