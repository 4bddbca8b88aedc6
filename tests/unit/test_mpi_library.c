/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How MPI is recognised in a file: in this program, which has functions of that name, and in copies
 * of it with other names. */
#define _GNU_SOURCE
#include "config.h"

#include "tests/unit/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/mpi/files.h"
#include "collector/mpi/library.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define CODE_BYTES 8

/* One address for both names, as in most libraries. */
int PMPI_File_write(void);
int MPI_File_write(void) __attribute__((alias("PMPI_File_write")));
__attribute__((used)) int PMPI_File_write(void)
{
    return 111111;
}

/* Two addresses. */
int PMPI_File_read_at_all_c(void);
int MPI_File_read_at_all_c(void);
__attribute__((used)) int PMPI_File_read_at_all_c(void)
{
    return 222222;
}
__attribute__((used)) int MPI_File_read_at_all_c(void)
{
    return 333333;
}

int PMPI_Init(void);
__attribute__((used)) int PMPI_Init(void)
{
    return 444444;
}

/* A wrapper of a tool, which has no PMPI_File_sync. */
int MPI_File_sync(void);
__attribute__((used)) int MPI_File_sync(void)
{
    return 555555;
}

/* When it is renamed, a function of MPI 4. */
int NONE_File_read_c(void);
__attribute__((used)) int NONE_File_read_c(void)
{
    return 777777;
}

/* The marks of MPICH: a name, a status, and the version of its ABI. */
int MPIR_Dup_fn(void);
__attribute__((used)) int MPIR_Dup_fn(void)
{
    return 666666;
}
extern int MPIR_F08_MPI_STATUS_IGNORE_OBJ[5];
__attribute__((used)) int MPIR_F08_MPI_STATUS_IGNORE_OBJ[5];
extern const char MPII_Version_ABI[];
__attribute__((used)) const char MPII_Version_ABI[] = "14:2:2";

/* When they are renamed, the marks of Open MPI: a status, and the size of a byte, which is 1. */
extern uint64_t empty_mpi_status1[3];
__attribute__((used)) uint64_t empty_mpi_status1[3];
extern uint64_t size1_mpibyte[8], size5_mpibyte[8];
__attribute__((used)) uint64_t size1_mpibyte[8] = {0, 0, 0, 1, 0, 0, 0, 7};
__attribute__((used)) uint64_t size5_mpibyte[8] = {0, 0, 0, 5, 1, 0, 0, 7};

struct image {
    char *bytes;
    size_t n;
};

static void image_clear(struct image *image)
{
    free(image->bytes);
}
#define _image_ CLEANUP(image_clear) struct image

static struct image image_read(const char *path)
{
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct image image;
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    image = (struct image){malloc((size_t)st.st_size), (size_t)st.st_size};
    assert_non_null(image.bytes);
    assert_int_equal(pread(fd, image.bytes, image.n, 0), image.n);
    return image;
}

/* Rename a symbol; the names have the same length. */
static void image_rename(struct image *image, const char *from, const char *to)
{
    size_t n = strlen(from) + 1;
    char *at = image->bytes;

    assert_int_equal(strlen(to) + 1, n);
    while ((at = memmem(at, image->n - (size_t)(at - image->bytes), from, n)))
        memcpy(at, to, n);
}

static int read_image(const struct image *image, struct mpi_file *ret, struct error *error)
{
    _close_ int fd = memfd_create("image", MFD_CLOEXEC);

    error->text[0] = '\0';
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, image->bytes, image->n, 0), image->n);
    return mpi_library_read(fd, ret, error);
}

/* The file has the code of the function at this offset. */
static void check_code(const struct image *image, uint64_t offset, int (*function)(void))
{
    assert_in_range(offset, 1, image->n - CODE_BYTES);
    assert_memory_equal(image->bytes + offset, (const void *)function, CODE_BYTES);
}

static void test_functions(void **state)
{
    _image_ image = image_read("/proc/self/exe");
    struct mpi_file file;
    struct error error;
    unsigned n = 0;

    (void)state;
    assert_int_equal(read_image(&image, &file, &error), 1);
    assert_int_equal(file.layout, MPI_LAYOUT_MPICH);
    check_code(&image, file.offsets[MPI_File_write_FUNCTION][0], PMPI_File_write);
    assert_int_equal(file.offsets[MPI_File_write_FUNCTION][1], 0);
    check_code(&image, file.offsets[MPI_File_read_at_all_c_FUNCTION][0], PMPI_File_read_at_all_c);
    check_code(&image, file.offsets[MPI_File_read_at_all_c_FUNCTION][1], MPI_File_read_at_all_c);
    check_code(&image, file.offsets[MPI_Init_FUNCTION][0], PMPI_Init);
    for (unsigned i = 0; i < MPI_FUNCTION_COUNT; i++)
        n += (file.offsets[i][0] != 0) + (file.offsets[i][1] != 0);
    assert_int_equal(n, 4);
}

static Elf64_Shdr *image_section(const struct image *image, uint32_t type)
{
    const Elf64_Ehdr *header = (Elf64_Ehdr *)image->bytes;
    Elf64_Shdr *sections = (Elf64_Shdr *)(image->bytes + header->e_shoff);

    for (unsigned i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_type == type)
            return &sections[i];
    fail();
    return NULL;
}

static Elf64_Sym *image_symbol(const struct image *image, const char *name)
{
    const Elf64_Ehdr *header = (Elf64_Ehdr *)image->bytes;
    const Elf64_Shdr *sections = (Elf64_Shdr *)(image->bytes + header->e_shoff);
    const Elf64_Shdr *table = image_section(image, SHT_SYMTAB);
    const char *names = image->bytes + sections[table->sh_link].sh_offset;
    Elf64_Sym *symbols = (Elf64_Sym *)(image->bytes + table->sh_offset);

    for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++)
        if (!strcmp(names + symbols[i].st_name, name))
            return &symbols[i];
    fail();
    return NULL;
}

static void assert_unknown(const struct image *image, const char *why)
{
    struct mpi_file file;
    struct error error;

    assert_int_equal(read_image(image, &file, &error), -ENOTSUP);
    assert_string_equal(error.text, why);
}

static void assert_layout(const struct image *image, enum mpi_layout layout)
{
    struct mpi_file file;
    struct error error;

    assert_int_equal(read_image(image, &file, &error), 1);
    assert_int_equal(file.layout, layout);
}

static void test_open_mpi(void **state)
{
    _image_ usual = image_read("/proc/self/exe"), other = image_read("/proc/self/exe");
    static const char why[] = "the layout of this build of Open MPI is not known";

    (void)state;
    image_rename(&usual, "size1_mpibyte", "ompi_mpi_byte");
    assert_unknown(&usual, "it has symbols of both Open MPI and MPICH");
    image_rename(&usual, "MPIR_Dup_fn", "None_Dup_fn");
    assert_unknown(&usual, why);
    image_rename(&usual, "empty_mpi_status1", "ompi_status_empty");
    assert_layout(&usual, MPI_LAYOUT_OPEN_MPI);
    image_symbol(&usual, "ompi_status_empty")->st_size = 32;
    assert_unknown(&usual, why);
    image_rename(&other, "size5_mpibyte", "ompi_mpi_byte");
    image_rename(&other, "MPIR_Dup_fn", "None_Dup_fn");
    image_rename(&other, "empty_mpi_status1", "ompi_status_empty");
    assert_unknown(&other, why);
}

static void test_mpich(void **state)
{
    _image_ image = image_read("/proc/self/exe");
    static const char why[] = "the layout of this build of MPICH is not known";
    static const char *const versions[] = {
        "11:0:1", "14:2:1", "14:2", "14:2:", "14:2:2:", "-4:2:2", "0:0:0", ""};
    Elf64_Sym *status = image_symbol(&image, "MPIR_F08_MPI_STATUS_IGNORE_OBJ");
    char *version = memmem(image.bytes, image.n, MPII_Version_ABI, sizeof("14:2:2"));

    (void)state;
    assert_layout(&image, MPI_LAYOUT_MPICH);
    status->st_size = 40; /* as in MPICH 3.0 */
    assert_unknown(&image, why);
    status->st_size = 20;
    assert_non_null(version);
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        memcpy(version, versions[i], strlen(versions[i]) + 1);
        assert_unknown(&image, why);
    }
    memcpy(version, "12:0:0", sizeof("12:0:0"));
    assert_layout(&image, MPI_LAYOUT_MPICH);
    image_rename(&image, "NONE_File_read_c", "PMPI_File_read_c");
    memcpy(version, "0:0:0", sizeof("0:0:0")); /* builds that are not releases */
    assert_layout(&image, MPI_LAYOUT_MPICH);
    memcpy(version, "0:0:1", sizeof("0:0:1"));
    assert_unknown(&image, why);
    memcpy(version, "12:0:0", sizeof("12:0:0"));
    image_symbol(&image, "MPII_Version_ABI")->st_value = UINT64_C(1) << 40;
    assert_unknown(&image, why);
    /* A program has no name that could show the version. */
    image_rename(&image, "MPII_Version_ABI", "None_Version_ABI");
    assert_layout(&image, MPI_LAYOUT_MPICH);
    image_rename(&image, "MPIR_F08_MPI_STATUS_IGNORE_OBJ", "None_F08_MPI_STATUS_IGNORE_OBJ");
    assert_unknown(&image, why);
    image_rename(&image, "MPIR_Dup_fn", "None_Dup_fn");
    assert_unknown(&image, "it is neither Open MPI nor of the ABI of MPICH");
}

static void test_no_mpi(void **state)
{
    _image_ wrapper = image_read("/proc/self/exe");
    static const char *const paths[] = {"/bin/sh", "/etc/passwd", "/dev/null"};
    struct mpi_file file;
    struct error error;

    (void)state;
    /* A file that has only PMPI_Init does not implement MPI-IO. */
    image_rename(&wrapper, "PMPI_File_write", "none_File_write");
    image_rename(&wrapper, "PMPI_File_read_at_all_c", "none_File_read_at_all_c");
    assert_int_equal(read_image(&wrapper, &file, &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        _close_ int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(mpi_library_read(fd, &file, &error), 0);
    }
}

/* The dynamic loader does not need section headers. */
static void remove_sections(struct image *image)
{
    Elf64_Ehdr *header = (Elf64_Ehdr *)image->bytes;

    header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
}

static void test_no_sections(void **state)
{
    _image_ without = image_read("/proc/self/exe"), other = image_read("/bin/sh");
    _image_ moved = image_read("/proc/self/exe"), unnamed = image_read("/proc/self/exe");
    static const char why[] = "its section headers do not lead to its symbols";
    struct mpi_file file;
    struct error error;

    (void)state;
    remove_sections(&without);
    assert_int_equal(read_image(&without, &file, &error), -ENOTSUP);
    assert_string_equal(error.text, why);
    image_section(&moved, SHT_DYNSYM)->sh_offset += sizeof(Elf64_Sym);
    assert_int_equal(read_image(&moved, &file, &error), -ENOTSUP);
    assert_string_equal(error.text, why);
    image_section(&unnamed, SHT_DYNSYM)->sh_type = SHT_PROGBITS;
    assert_int_equal(read_image(&unnamed, &file, &error), -ENOTSUP);
    assert_string_equal(error.text, why);
    remove_sections(&other);
    assert_int_equal(read_image(&other, &file, &error), 0);
}

/* A probe there would change data of the program, or count another function. */
static void test_misplaced(void **state)
{
    _image_ image = image_read("/proc/self/exe");
    Elf64_Sym *function = image_symbol(&image, "PMPI_File_write"), right = *function;
    Elf64_Sym *init = image_symbol(&image, "PMPI_Init");
    const uint64_t wrong[] = {UINT64_C(1) << 40, image_symbol(&image, "size1_mpibyte")->st_value,
                              image_symbol(&image, "names")->st_value};
    struct mpi_file file;
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        function->st_value = wrong[i];
        assert_int_equal(read_image(&image, &file, &error), -ENOTSUP);
        assert_string_equal(error.text, "its symbols do not say where PMPI_File_write is");
    }
    *function = right;
    function->st_size = 1;
    assert_int_equal(read_image(&image, &file, &error), 1);
    *init = *function;
    init->st_value++;
    assert_int_equal(read_image(&image, &file, &error), -ENOTSUP);
    assert_string_equal(error.text, "its symbols do not say where PMPI_File_write is");
}

/* It may be MPI, so it is one that is not covered. */
static void test_unreadable(void **state)
{
    _close_ int image = memfd_create("image", MFD_CLOEXEC), fd = -1;
    struct mpi_files *files = mpi_files_create(NULL);
    const struct mpi_found *found;
    char path[32];

    (void)state;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    found = mpi_files_look(files, fd, "/opt/libmpi.so.40", 1);
    assert_non_null(found);
    assert_string_equal(found->name, "libmpi.so.40");
    assert_int_equal(found->attached_ns, 0);
    assert_memory_equal(found->why, "cannot read the file: ", 22);
    mpi_files_destroy(files);
}

/* Users make these files: any result is right that does not read beyond the file. */
static void test_damaged(void **state)
{
    _image_ image = image_read("/proc/self/exe");
    _image_ copy = {malloc(image.n), image.n};
    struct mpi_file file;
    struct error error;

    (void)state;
    assert_non_null(copy.bytes);
    srand(1);
    for (unsigned i = 0; i < 300; i++) {
        memcpy(copy.bytes, image.bytes, image.n);
        /* The header, the tables at the end, and anything. */
        for (unsigned j = 0; j < 1 + i % 8; j++) {
            size_t range = i % 3 == 0 ? 64 : i % 3 == 1 ? 4096 : image.n;

            copy.bytes[image.n - 1 - (size_t)rand() % range] = (char)rand();
            copy.bytes[(size_t)rand() % range] = (char)rand();
        }
        copy.n = i % 4 ? image.n : (size_t)rand() % image.n;
        (void)read_image(&copy, &file, &error);
    }
    copy.n = image.n;
}

/* --- the limits ------------------------------------------------------------------------------- */

#define BYTE_ORDER_HERE (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)
#define MIB (UINT64_C(1) << 20)
#define FAKE_SECTIONS 8

/* The start of a sparse file of 128 MiB. */
struct fake {
    Elf64_Ehdr header;
    Elf64_Shdr sections[FAKE_SECTIONS];
    char text[64];
};

static struct fake fake_of(void)
{
    return (struct fake){
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, BYTE_ORDER_HERE, EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_shoff = offsetof(struct fake, sections),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = FAKE_SECTIONS}};
}

static int fake_open(const struct fake *fake)
{
    int fd = memfd_create("fake", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, fake, sizeof(*fake), 0), sizeof(*fake));
    assert_int_equal(ftruncate(fd, 128 * MIB), 0);
    return fd;
}

static uint64_t used_bytes(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* Reading it needs at most this memory, and returns r. */
static void check_limit(const struct fake *fake, int r, uint64_t max_bytes, const char *why)
{
    _close_ int fd = fake_open(fake);
    uint64_t before = used_bytes();
    struct mpi_file file;
    struct error error = {""};

    assert_int_equal(mpi_library_read(fd, &file, &error), r);
    assert_string_equal(error.text, why);
    assert_in_range(used_bytes() - before, 0, max_bytes);
}

static const char too_large[] = "it is too large to look for MPI in it";

/* The rest of a file is not read after the texts that show what it is. */
static void test_enough_texts(void **state)
{
    struct fake fake = fake_of();

    (void)state;
    memcpy(fake.text, "MPI_File_open\0MPIR_CVAR_", sizeof("MPI_File_open\0MPIR_CVAR_"));
    for (unsigned i = 1; i < FAKE_SECTIONS; i++)
        fake.sections[i] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                        .sh_flags = SHF_ALLOC,
                                        .sh_offset = i == 1 ? offsetof(struct fake, text) : 0,
                                        .sh_size = i == 1 ? sizeof(fake.text) : 30 * MIB};
    check_limit(&fake, -ENOTSUP, 10 * MIB,
                "MPI is linked statically, and its symbols are stripped");
}

/* Every section is of a size that is read. */
static void test_many_sections(void **state)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNAMIC, SHT_PROGBITS};
    struct fake fake;

    (void)state;
    for (size_t type = 0; type < ARRAY_SIZE(types); type++) {
        fake = fake_of();
        for (unsigned i = 1; i < FAKE_SECTIONS; i++)
            fake.sections[i] = (Elf64_Shdr){.sh_type = types[type],
                                            .sh_flags = SHF_ALLOC,
                                            .sh_size = 90 * MIB,
                                            .sh_entsize = 1};
        check_limit(&fake, -EFBIG, 300 * MIB, too_large);
    }
    fake = fake_of();
    for (unsigned i = 1; i < FAKE_SECTIONS; i++)
        fake.sections[i] =
            i % 2 ? (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_link = i + 1, .sh_size = 48}
                  : (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = 90 * MIB};
    check_limit(&fake, -EFBIG, 300 * MIB, too_large);
}

/* The last symbol that is looked at, and one more. */
static void test_many_symbols(void **state)
{
    const uint64_t n = 4 * MIB + 1; /* the first one is not used */
    struct fake fake = fake_of();

    (void)state;
    fake.sections[1] = (Elf64_Shdr){
        .sh_type = SHT_SYMTAB, .sh_size = n * sizeof(Elf64_Sym), .sh_entsize = sizeof(Elf64_Sym)};
    check_limit(&fake, 0, 200 * MIB, "");
    fake.sections[1].sh_size += sizeof(Elf64_Sym);
    check_limit(&fake, -EFBIG, 200 * MIB, too_large);
}

/* libelf allocates as many headers as section 0 has. */
static void test_many_headers(void **state)
{
    struct fake fake = fake_of();

    (void)state;
    fake.sections[0].sh_size = MIB;
    fake.header.e_shnum = 0;
    check_limit(&fake, -EFBIG, 10 * MIB, too_large);
    fake = fake_of();
    fake.sections[0].sh_info = MIB;
    fake.header.e_phnum = PN_XNUM;
    fake.header.e_phoff = sizeof(fake);
    check_limit(&fake, -EFBIG, 10 * MIB, too_large);
}

/* Names that do not end take no time. */
static void test_endless_names(void **state)
{
    struct fake fake = fake_of();
    _free_ char *names = malloc(MIB);
    _close_ int fd = -1;
    struct mpi_file file;
    struct error error;
    uint64_t start;

    (void)state;
    fake.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                    .sh_link = 2,
                                    .sh_offset = 2 * MIB,
                                    .sh_size = 1000000 * sizeof(Elf64_Sym),
                                    .sh_entsize = sizeof(Elf64_Sym)};
    fake.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = MIB, .sh_size = MIB};
    fd = fake_open(&fake);
    assert_non_null(names);
    memset(names, 'x', MIB);
    assert_int_equal(pwrite(fd, names, MIB, MIB), MIB);
    start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    assert_int_equal(mpi_library_read(fd, &file, &error), 0);
    assert_in_range(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start, 0, 3 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),     cmocka_unit_test(test_open_mpi),
        cmocka_unit_test(test_mpich),         cmocka_unit_test(test_no_mpi),
        cmocka_unit_test(test_no_sections),   cmocka_unit_test(test_misplaced),
        cmocka_unit_test(test_unreadable),    cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_enough_texts),  cmocka_unit_test(test_many_sections),
        cmocka_unit_test(test_many_symbols),  cmocka_unit_test(test_many_headers),
        cmocka_unit_test(test_endless_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
