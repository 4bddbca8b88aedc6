/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/mpi/library.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"

#define FUNCTION_NAME(name, ...) "MPI_" #name,
static const char *const names[MPI_FUNCTION_COUNT] = {MPI_FUNCTIONS(FUNCTION_NAME)};

/* Symbols that only one implementation has, and Debian's and others' builds of it export. */
#define OPEN_MPI_TYPE "ompi_mpi_byte"
static const char *const mpich_symbols[] = {"MPIR_Dup_fn", "MPIR_Process"};

/* What stripping leaves of an implementation that is linked statically: a function's name, for
 * errors, and names that only an implementation has. */
static const char *const function_texts[] = {"MPI_File_open", "MPI_FILE_OPEN"};
static const char *const own_texts[] = {"MPIR_CVAR_", "ompi_"};

/* The library of the standard ABI of MPI 5 has the functions, but other types. */
#define STANDARD_ABI "libmpi_abi"

/* Where Open MPI has the size of a type (bpf/mpi.bpf.h). */
#define OPEN_MPI_SIZE_OFFSET 24

/* The symbols of the largest libraries of MPI need 10 MiB. Larger files may be an attack on the
 * memory of this process. */
#define SECTION_MAX (UINT64_C(256) << 20)

struct library {
    int fd;
    uint64_t size; /* of the file */
    Elf *elf;
    uint64_t functions[MPI_FUNCTION_COUNT], aliases[MPI_FUNCTION_COUNT]; /* addresses; 0: none */
    uint64_t open_mpi_type;
    bool mpich, standard, named;
    bool stripped; /* it has no symbols but those of shared libraries */
    bool huge;     /* a section was not read, because of its size */
};

/* Returns NULL if the section, or the one with its names, is too large. */
static Elf_Data *get_data(struct library *library, Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Shdr strings;
    bool huge =
        header->sh_size > SECTION_MAX ||
        (header->sh_link && gelf_getshdr(elf_getscn(library->elf, header->sh_link), &strings) &&
         strings.sh_size > SECTION_MAX);

    library->huge |= huge;
    return huge ? NULL : elf_getdata(section, NULL);
}

static bool is_symbol_table(const GElf_Shdr *header)
{
    return header->sh_type == SHT_DYNSYM || header->sh_type == SHT_SYMTAB;
}

static void add_function(struct library *library, const char *name, uint64_t address)
{
    bool is_alias = *name == 'M';

    for (int i = 0; i < MPI_FUNCTION_COUNT; i++)
        if (!strcmp(name + !is_alias, names[i]))
            (is_alias ? library->aliases : library->functions)[i] = address;
}

static void add_symbol(struct library *library, const char *name, const GElf_Sym *symbol)
{
    if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value)
        return;
    if (GELF_ST_TYPE(symbol->st_info) == STT_FUNC &&
        (!strncmp(name, "MPI_", 4) || !strncmp(name, "PMPI_", 5)))
        add_function(library, name, symbol->st_value);
    else if (!strcmp(name, OPEN_MPI_TYPE))
        library->open_mpi_type = symbol->st_value;
    for (size_t i = 0; i < ARRAY_SIZE(mpich_symbols); i++)
        library->mpich |= !strcmp(name, mpich_symbols[i]);
}

static void read_symbols(struct library *library, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = get_data(library, section, header);
    GElf_Sym symbol;

    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = elf_strptr(library->elf, header->sh_link, symbol.st_name);

        if (name)
            add_symbol(library, name, &symbol);
    }
}

static void read_name(struct library *library, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = get_data(library, section, header);
    GElf_Dyn entry;

    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        const char *name = entry.d_tag == DT_SONAME
                               ? elf_strptr(library->elf, header->sh_link, entry.d_un.d_val)
                               : NULL;

        library->named |= name != NULL;
        if (name)
            library->standard = !strncmp(name, STANDARD_ABI, strlen(STANDARD_ABI));
    }
}

/* Returns the position of an address in the file; 0: the file does not have it. */
static uint64_t file_offset(const struct library *library, uint64_t address)
{
    uint64_t at = 0;
    size_t n = 0;
    GElf_Phdr segment;

    (void)elf_getphdrnum(library->elf, &n);
    for (size_t i = 0; !at && i < n; i++)
        if (gelf_getphdr(library->elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
            address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            at = address - segment.p_vaddr + segment.p_offset;
    return at < library->size ? at : 0;
}

/* Of MPI's byte, whose size is known. Builds for debugging have other members before it. */
static bool has_usual_types(const struct library *library)
{
    uint64_t at = file_offset(library, library->open_mpi_type), size;

    return at &&
           pread(library->fd, &size, sizeof(size), (off_t)at + OPEN_MPI_SIZE_OFFSET) ==
               sizeof(size) &&
           size == 1;
}

static int find_layout(const struct library *library, enum mpi_layout *ret, struct error *error)
{
    if (library->standard)
        return error_set(error, -ENOTSUP, "the standard ABI of MPI 5 is not supported");
    if (gelf_getclass(library->elf) != ELFCLASS64)
        return error_set(error, -ENOTSUP, "32-bit programs are not supported");
    if (library->open_mpi_type && !has_usual_types(library))
        return error_set(error, -ENOTSUP, "the layout of this build of Open MPI is not known");
    if (!library->open_mpi_type && !library->mpich)
        return error_set(error, -ENOTSUP, "it is neither Open MPI nor of the ABI of MPICH");
    *ret = library->open_mpi_type ? MPI_LAYOUT_OPEN_MPI : MPI_LAYOUT_MPICH;
    return 0;
}

/* Returns the number of functions, without those of MPI_PART_INIT. */
static unsigned fill_offsets(const struct library *library, struct mpi_file *ret)
{
    unsigned n = 0;

    for (int i = 0; i < MPI_FUNCTION_COUNT; i++) {
        uint64_t alias = library->aliases[i];

        if (!library->functions[i])
            continue;
        ret->offsets[i][0] = file_offset(library, library->functions[i]);
        if (alias && alias != library->functions[i])
            ret->offsets[i][1] = file_offset(library, alias);
        n += ret->offsets[i][0] && !strncmp(names[i], "MPI_File_", 9);
    }
    return n;
}

static void read_sections(struct library *library)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(library->elf, section))) {
        GElf_Shdr header;

        if (!gelf_getshdr(section, &header))
            continue;
        library->stripped &= header.sh_type != SHT_SYMTAB;
        if (is_symbol_table(&header))
            read_symbols(library, section, &header);
        else if (header.sh_type == SHT_DYNAMIC)
            read_name(library, section, &header);
    }
}

static bool has_text(const Elf_Data *data, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memmem(data->d_buf, data->d_size, texts[i], strlen(texts[i])))
            return true;
    return false;
}

/* Returns whether it is an executable that has MPI linked statically, of which only texts are left.
 */
static bool has_hidden_functions(struct library *library)
{
    bool function = false, own = false;
    Elf_Scn *section = NULL;

    if (!library->stripped || library->named)
        return false;
    while ((!function || !own) && (section = elf_nextscn(library->elf, section))) {
        GElf_Shdr header;
        const Elf_Data *data;

        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
            (header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != SHF_ALLOC)
            continue;
        data = get_data(library, section, &header);
        if (!data || !data->d_buf)
            continue;
        function = function || has_text(data, function_texts, ARRAY_SIZE(function_texts));
        own = own || has_text(data, own_texts, ARRAY_SIZE(own_texts));
    }
    return function && own;
}

/* Returns as mpi_library_read(). */
static int find_functions(struct library *library, struct mpi_file *ret, struct error *error)
{
    read_sections(library);
    if (fill_offsets(library, ret))
        return find_layout(library, &ret->layout, error) < 0 ? -ENOTSUP : 1;
    if (has_hidden_functions(library))
        return error_set(error, -ENOTSUP, "MPI is linked statically, and its symbols are stripped");
    return library->huge ? error_set(error, -EFBIG, "it is too large to look for MPI in it") : 0;
}

int mpi_library_read(int fd, struct mpi_file *ret, struct error *error)
{
    struct library library = {.fd = fd, .stripped = true};
    struct stat st;
    int r = 0;

    if (fstat(fd, &st) < 0)
        return error_errno(error, -errno, "cannot read the file");
    library.size = (uint64_t)st.st_size;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return error_set(error, -ENOTSUP, "libelf is too old");
    /* Not mapped: its owner may truncate it. */
    library.elf = elf_begin(fd, ELF_C_READ, NULL);
    if (!library.elf)
        return error_set(error, -EIO, "cannot read the file: %s", elf_errmsg(-1));
    *ret = (struct mpi_file){0};
    if (elf_kind(library.elf) == ELF_K_ELF)
        r = find_functions(&library, ret, error);
    (void)elf_end(library.elf);
    return r;
}
