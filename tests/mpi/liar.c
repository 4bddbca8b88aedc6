/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that has the symbols by which jobio recognises MPICH, or with -DLIKE_OPEN_MPI those of
 * Open MPI, but other types; with -DPROGRAM a program that calls it. */
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

enum lie { TRUE, LEAVE };

int PMPI_Init(int *argc, char ***argv);
int PMPI_File_open(jmp_buf *out, enum lie lie);
int PMPI_File_write_at(void *file, int64_t at, const void *data, int n, uint64_t type,
                       void *status);
int PMPI_File_write_at_c(void *file, int64_t at, const void *data, int64_t n, uint64_t type,
                         void *status);
int PMPI_File_write_at_all_begin(void *file, int64_t at, const void *data, int n, uint64_t type);
int PMPI_File_write_at_all_end(void *file, const void *data, void *status);

#ifdef PROGRAM

#define NOWHERE 16 /* an address that nothing has, and no type of a known implementation */
#define FEW 50     /* bytes in a status; less than the calls asked for */
#define MANY 1000  /* more */

/* Not constants: the programs read only pages that the process has touched. */
static uint64_t status_of_few[3], status_of_many[3], status_of_all[3];
#ifdef LIKE_OPEN_MPI
static uint64_t byte[4], huge[4];
#define BYTE (uintptr_t) byte
#define HUGE (uintptr_t) huge
#define OTHER NOWHERE
#define STATUS_COUNT 2
#define fill_types() (byte[3] = 1, huge[3] = UINT64_MAX / 2)
#else
#define BYTE 0x4c000101
#define HUGE 0x4c00ff01
#define OTHER 0x8c000001 /* derived */
#define STATUS_COUNT 0
#define fill_types()
#endif

/* jobio is to report 9 calls: the first one has 100 requested bytes, because its status cannot be
 * read. The bytes of the others are unknown: more than they asked for, of a type that is none, and
 * more or less than a process can have. */
static void write_blocks(void)
{
    static const char data[100];

    fill_types();
    status_of_few[STATUS_COUNT] = FEW;
    status_of_many[STATUS_COUNT] = MANY;
    status_of_all[STATUS_COUNT] = INT64_MAX;
    PMPI_File_write_at(NULL, 0, data, 100, BYTE, (void *)NOWHERE);
    PMPI_File_write_at(NULL, 0, data, 100, BYTE, status_of_many);
    PMPI_File_write_at(NULL, 0, data, 100, OTHER, NULL);
    PMPI_File_write_at(NULL, 0, data, 100, OTHER, status_of_all);
    PMPI_File_write_at(NULL, 0, data, -100, BYTE, NULL);
    PMPI_File_write_at(NULL, 0, data, -100, BYTE, status_of_few);
    PMPI_File_write_at(NULL, 0, data, 100, NOWHERE, status_of_few);
    PMPI_File_write_at_c(NULL, 0, data, INT64_MAX / 2, HUGE, NULL);
    PMPI_File_write_at_c(NULL, 0, data, INT64_MAX / 2, HUGE, status_of_few);
}

/* Three calls whose bytes are unknown: two have an impossible status, one an impossible type. */
static void write_split(void)
{
    static const char data[100];
    uint64_t *statuses[] = {status_of_many, status_of_all};

    for (int i = 0; i < 2; i++) {
        PMPI_File_write_at_all_begin(NULL, 0, data, 100, BYTE);
        PMPI_File_write_at_all_end(NULL, data, statuses[i]);
    }
    PMPI_File_write_at_all_begin(NULL, 0, data, 100, NOWHERE);
    PMPI_File_write_at_all_end(NULL, data, status_of_few);
}

int main(void)
{
    jmp_buf out;

    PMPI_Init(NULL, NULL);
    write_blocks();
    write_split();
    if (setjmp(out) == 0)
        PMPI_File_open(&out, LEAVE);
    return PMPI_File_open(&out, TRUE);
}

#else

#ifdef LIKE_OPEN_MPI
uint64_t ompi_mpi_byte[] = {0, 0, 0, 1}, ompi_status_empty[3];
#else
int MPIR_F08_MPI_STATUS_IGNORE_OBJ[5];
int MPIR_Dup_fn(void);
int MPIR_Dup_fn(void)
{
    return 0;
}
#endif

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

/* Does not return if it is to leave. */
int PMPI_File_open(jmp_buf *out, enum lie lie)
{
    if (lie == LEAVE)
        longjmp(*out, 1);
    return 0;
}

int PMPI_File_write_at(void *file, int64_t at, const void *data, int n, uint64_t type, void *status)
{
    (void)file, (void)at, (void)data, (void)n, (void)type, (void)status;
    return 0;
}

int PMPI_File_write_at_c(void *file, int64_t at, const void *data, int64_t n, uint64_t type,
                         void *status)
{
    (void)file, (void)at, (void)data, (void)n, (void)type, (void)status;
    return 0;
}

int PMPI_File_write_at_all_begin(void *file, int64_t at, const void *data, int n, uint64_t type)
{
    (void)file, (void)at, (void)data, (void)n, (void)type;
    return 0;
}

int PMPI_File_write_at_all_end(void *file, const void *data, void *status)
{
    (void)file, (void)data, (void)status;
    return 0;
}
#endif
