/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that a process has mapped: where MPI is found in it, the place is inside of the file. */
#include "tests/fuzz/fuzz.h"

#include "collector/mpi/library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _close_ int fd = open(fuzz_file("library", data, size), O_RDONLY | O_CLOEXEC);
    struct error error = {.text = ""};
    struct mpi_file file;
    unsigned n = 0;
    int r;

    CHECK(fd >= 0);
    r = mpi_library_read(fd, &file, &error);
    CHECK(r <= 1);
    CHECK(r >= 0 || *error.text);
    for (unsigned i = 0; r == 1 && i < MPI_FUNCTION_COUNT; i++)
        for (int alias = 0; alias < 2; alias++) {
            CHECK(file.offsets[i][alias] < size);
            n += file.offsets[i][alias] != 0;
        }
    CHECK(r != 1 || n);
    return 0;
}
