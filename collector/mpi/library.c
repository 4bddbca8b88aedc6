/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/mpi/library.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/numbers.h"

#define FUNCTION_NAME(name, ...) "MPI_" #name,
static const char *const names[MPI_FUNCTION_COUNT] = {MPI_FUNCTIONS(FUNCTION_NAME)};

/* Symbols that only one implementation has, and Debian's and others' builds of it export. */
#define OPEN_MPI_TYPE "ompi_mpi_byte"
static const char *const mpich_symbols[] = {"MPIR_Dup_fn", "MPIR_Process"};

/* Variables that have the type of a status: its size shows its layout. */
#define OPEN_MPI_STATUS "ompi_status_empty"
#define OPEN_MPI_STATUS_BYTES 24
#define MPICH_STATUS "MPIR_F08_MPI_STATUS_IGNORE_OBJ"
#define MPICH_STATUS_BYTES 20

/* The version of MPICH's ABI, as libtool has it: current:revision:age. All libraries of this ABI
 * can be used by programs for version 12, which is in their names, too. */
#define MPICH_ABI "MPII_Version_ABI"
#define MPICH_ABI_VERSION 12
#define MPICH_ABI_SUFFIX ".so.12"

/* The version in builds that are not releases (alpha, beta, git). The functions of MPI 4 are newer
 * than the ABI. */
#define MPICH_ABI_UNRELEASED "0:0:0"

/* What stripping leaves of an implementation that is linked statically: a function's name, for
 * errors, and names that only an implementation has. */
static const char *const function_texts[] = {"MPI_File_open", "MPI_FILE_OPEN"};
static const char *const own_texts[] = {"MPIR_CVAR_", "ompi_"};

/* The library of the standard ABI of MPI 5 has the functions, but other types. */
#define STANDARD_ABI "libmpi_abi"

/* The byte order of programs for this machine. */
#define BYTE_ORDER_HERE (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

/* Where Open MPI has the size of a type (bpf/mpi.bpf.h). */
#define OPEN_MPI_SIZE_OFFSET 24

/* Users make these files, so the memory and the time that a file takes are limited. BYTES_MAX is
 * for all parts of a file together; a part that is used twice counts twice. Programs that have
 * Debian's MPICH linked statically need 2 MiB and 27,000 symbols. */
#define BYTES_MAX (UINT64_C(256) << 20)
#define SYMBOLS_MAX (UINT64_C(4) << 20)
#define NAME_BYTES 256 /* longer names are not looked at */
#define TOO_LARGE "it is too large to look for MPI in it"

struct library {
    int fd;
    uint64_t size;         /* of the file */
    uint64_t bytes_left;   /* of BYTES_MAX */
    uint64_t symbols_left; /* of SYMBOLS_MAX */
    Elf *elf;
    uint64_t functions[MPI_FUNCTION_COUNT], aliases[MPI_FUNCTION_COUNT]; /* addresses; 0: none */
    uint64_t open_mpi_type, mpich_abi;
    uint64_t open_mpi_status_bytes, mpich_status_bytes;
    uint64_t loader_symbols; /* where in the file the dynamic loader finds them; 0: nowhere */
    const char *misplaced;   /* a function that is not in the code, or in two places */
    bool mpich, standard, named;
    bool mpich_name; /* it is named like libraries of MPICH's ABI */
    bool stripped;   /* it has no symbols but those of shared libraries */
    bool linkable;   /* a section has the symbols of the dynamic loader */
    bool huge;       /* a part of it was not read, because of a limit */
};

/* Returns whether n more may be looked at. */
static bool take(struct library *library, uint64_t *left, uint64_t n)
{
    if (n > *left) {
        library->huge = true;
        return false;
    }
    *left -= n;
    return true;
}

/* Returns NULL if it cannot be read, or is too large. */
static Elf_Data *get_data(struct library *library, Elf_Scn *section, const GElf_Shdr *header)
{
    return take(library, &library->bytes_left, header->sh_size) ? elf_getdata(section, NULL) : NULL;
}

/* Returns the strings that a section names, or NULL. */
static Elf_Data *get_strings(struct library *library, const GElf_Shdr *header)
{
    Elf_Scn *section = elf_getscn(library->elf, header->sh_link);
    GElf_Shdr strings;

    if (!gelf_getshdr(section, &strings) || strings.sh_type != SHT_STRTAB)
        return NULL;
    return get_data(library, section, &strings);
}

/* Returns NULL if there is no such name. elf_strptr() would search all strings for the end of the
 * last one, and decompress them. `strings` may be NULL. */
static const char *get_name(const Elf_Data *strings, uint64_t at)
{
    const char *name;
    size_t n;

    if (!strings || !strings->d_buf || at >= strings->d_size)
        return NULL;
    name = (const char *)strings->d_buf + at;
    n = strings->d_size - at;
    return memchr(name, '\0', n < NAME_BYTES ? n : NAME_BYTES) ? name : NULL;
}

static bool is_symbol_table(const GElf_Shdr *header)
{
    return header->sh_type == SHT_DYNSYM || header->sh_type == SHT_SYMTAB;
}

static void add_function(struct library *library, const char *name, uint64_t address)
{
    bool is_alias = *name == 'M';

    for (int i = 0; i < MPI_FUNCTION_COUNT; i++) {
        uint64_t *known = &(is_alias ? library->aliases : library->functions)[i];

        if (strcmp(name + !is_alias, names[i]) != 0)
            continue;
        if (*known && *known != address)
            library->misplaced = names[i];
        *known = address;
    }
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
    else if (!strcmp(name, OPEN_MPI_STATUS))
        library->open_mpi_status_bytes = symbol->st_size;
    else if (!strcmp(name, MPICH_STATUS))
        library->mpich_status_bytes = symbol->st_size;
    else if (!strcmp(name, MPICH_ABI))
        library->mpich_abi = symbol->st_value;
    for (size_t i = 0; i < ARRAY_SIZE(mpich_symbols); i++)
        library->mpich |= !strcmp(name, mpich_symbols[i]);
}

static void read_symbols(struct library *library, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = get_data(library, section, header), *strings = get_strings(library, header);
    GElf_Sym symbol;

    library->linkable |=
        data && header->sh_type == SHT_DYNSYM && header->sh_offset == library->loader_symbols;
    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = get_name(strings, symbol.st_name);

        if (!take(library, &library->symbols_left, 1))
            break;
        if (name)
            add_symbol(library, name, &symbol);
    }
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text), length = strlen(suffix);

    return n >= length && !strcmp(text + n - length, suffix);
}

static void read_name(struct library *library, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = get_data(library, section, header), *strings = get_strings(library, header);
    GElf_Dyn entry;

    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        const char *name = entry.d_tag == DT_SONAME ? get_name(strings, entry.d_un.d_val) : NULL;

        if (!name)
            continue;
        library->named = true;
        library->standard = !strncmp(name, STANDARD_ABI, strlen(STANDARD_ABI));
        library->mpich_name = ends_with(name, MPICH_ABI_SUFFIX);
    }
}

/* Returns the position of an address in the file; 0: no segment with these flags has it. */
static uint64_t file_offset(const struct library *library, uint64_t address, uint32_t flags)
{
    uint64_t at = 0;
    size_t n = 0;
    GElf_Phdr segment;

    (void)elf_getphdrnum(library->elf, &n);
    for (size_t i = 0; !at && i < n; i++)
        if (gelf_getphdr(library->elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
            (segment.p_flags & flags) == flags && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            at = address - segment.p_vaddr + segment.p_offset;
    return at < library->size ? at : 0;
}

/* Returns NULL if it cannot be read, or is too large. */
static Elf_Data *get_segment(struct library *library, const GElf_Phdr *segment, Elf_Type type)
{
    if (!take(library, &library->bytes_left, segment->p_filesz))
        return NULL;
    return elf_getdata_rawchunk(library->elf, (int64_t)segment->p_offset, segment->p_filesz, type);
}

/* Of the first dynamic segment. */
static uint64_t find_loader_symbols(struct library *library)
{
    size_t n = 0, i = 0;
    GElf_Phdr segment = {0};
    Elf_Data *data = NULL;
    GElf_Dyn entry;

    (void)elf_getphdrnum(library->elf, &n);
    while (i < n && gelf_getphdr(library->elf, (int)i, &segment) && segment.p_type != PT_DYNAMIC)
        i++;
    if (segment.p_type == PT_DYNAMIC)
        data = get_segment(library, &segment, ELF_T_DYN);
    for (int j = 0; data && gelf_getdyn(data, j, &entry) && entry.d_tag != DT_NULL; j++)
        if (entry.d_tag == DT_SYMTAB)
            return file_offset(library, entry.d_un.d_ptr, 0);
    return 0;
}

/* Returns whether the size of a status, and that of MPI's byte, are where they usually are. Types
 * in builds for debugging have more members before their size. */
static bool has_open_mpi_layout(const struct library *library)
{
    uint64_t at = file_offset(library, library->open_mpi_type, 0), size;

    return at && library->open_mpi_status_bytes == OPEN_MPI_STATUS_BYTES &&
           pread(library->fd, &size, sizeof(size), (off_t)at + OPEN_MPI_SIZE_OFFSET) ==
               sizeof(size) &&
           size == 1;
}

/* Returns whether nothing contradicts the version of the ABI. */
static bool has_mpich_version(const struct library *library)
{
    uint64_t at = file_offset(library, library->mpich_abi, 0);
    char text[32] = "";
    const char *rest = text;
    uint64_t numbers[3] = {0}; /* current, revision, age */

    if (!library->mpich_abi)
        return true;
    if (!at || pread(library->fd, text, sizeof(text) - 1, (off_t)at) <= 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if ((i && *rest++ != ':') || number_parse_prefix(&rest, &numbers[i]) < 0)
            return false;
    if (!strcmp(text, MPICH_ABI_UNRELEASED))
        return library->mpich_status_bytes && library->functions[MPI_File_read_c_FUNCTION];
    return !*rest && numbers[0] - numbers[2] == MPICH_ABI_VERSION;
}

/* Older versions of MPICH have the same symbols, but the count elsewhere in the status. */
static bool has_mpich_layout(const struct library *library)
{
    if (library->mpich_status_bytes)
        return library->mpich_status_bytes == MPICH_STATUS_BYTES && has_mpich_version(library);
    return library->mpich_name && has_mpich_version(library);
}

static int find_layout(const struct library *library, enum mpi_layout *ret, struct error *error)
{
    if (library->standard)
        return error_set(error, -ENOTSUP, "the standard ABI of MPI 5 is not supported");
    if (gelf_getclass(library->elf) != ELFCLASS64)
        return error_set(error, -ENOTSUP, "32-bit programs are not supported");
    if (!library->open_mpi_type && !library->mpich)
        return error_set(error, -ENOTSUP, "it is neither Open MPI nor of the ABI of MPICH");
    if (library->open_mpi_type && library->mpich)
        return error_set(error, -ENOTSUP, "it has symbols of both Open MPI and MPICH");
    if (library->open_mpi_type && !has_open_mpi_layout(library))
        return error_set(error, -ENOTSUP, "the layout of this build of Open MPI is not known");
    if (library->mpich && !has_mpich_layout(library))
        return error_set(error, -ENOTSUP, "the layout of this build of MPICH is not known");
    *ret = library->open_mpi_type ? MPI_LAYOUT_OPEN_MPI : MPI_LAYOUT_MPICH;
    return 0;
}

/* Returns where a probe of a function may be; elsewhere it would change data of the program. */
static uint64_t code_offset(struct library *library, uint64_t address, const char *name)
{
    uint64_t at = file_offset(library, address, PF_X);

    if (!at)
        library->misplaced = name;
    return at;
}

/* Returns the number of functions, without those of MPI_PART_INIT. */
static unsigned fill_offsets(struct library *library, struct mpi_file *ret)
{
    unsigned n = 0;

    for (int i = 0; i < MPI_FUNCTION_COUNT; i++) {
        uint64_t alias = library->aliases[i];

        if (!library->functions[i])
            continue;
        ret->offsets[i][0] = code_offset(library, library->functions[i], names[i]);
        if (alias && alias != library->functions[i])
            ret->offsets[i][1] = code_offset(library, alias, names[i]);
        n += !strncmp(names[i], "MPI_File_", 9);
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

/* The texts of an implementation that a file has. */
struct texts {
    bool function, own;
};

static bool has_one(const Elf_Data *data, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memmem(data->d_buf, data->d_size, texts[i], strlen(texts[i])))
            return true;
    return false;
}

/* Returns whether both are found. `data` may be NULL. */
static bool find_texts(struct texts *texts, const Elf_Data *data)
{
    bool readable = data && data->d_buf;

    if (readable && !texts->function)
        texts->function = has_one(data, function_texts, ARRAY_SIZE(function_texts));
    if (readable && !texts->own)
        texts->own = has_one(data, own_texts, ARRAY_SIZE(own_texts));
    return texts->function && texts->own;
}

/* Returns whether it is an executable that has MPI linked statically, of which only texts are left.
 */
static bool has_hidden_functions(struct library *library)
{
    struct texts texts = {0};
    Elf_Scn *section = NULL;

    if (!library->stripped || library->named)
        return false;
    while ((section = elf_nextscn(library->elf, section))) {
        GElf_Shdr header;

        if (gelf_getshdr(section, &header) && header.sh_type == SHT_PROGBITS &&
            (header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == SHF_ALLOC &&
            find_texts(&texts, get_data(library, section, &header)))
            return true;
    }
    return false;
}

/* The same for a file whose symbols cannot be read. */
static bool has_unreadable_functions(struct library *library)
{
    struct texts texts = {0};
    size_t n = 0;
    GElf_Phdr segment;

    (void)elf_getphdrnum(library->elf, &n);
    for (size_t i = 0; i < n && gelf_getphdr(library->elf, (int)i, &segment); i++)
        if (segment.p_type == PT_LOAD &&
            find_texts(&texts, get_segment(library, &segment, ELF_T_BYTE)))
            return true;
    return false;
}

/* Returns whether the sections have the symbols with which the file is used. */
static bool has_readable_symbols(const struct library *library)
{
    return library->loader_symbols ? library->linkable : elf_nextscn(library->elf, NULL) != NULL;
}

/* Returns as mpi_library_read(). */
static int find_functions(struct library *library, struct mpi_file *ret, struct error *error)
{
    unsigned n;

    library->loader_symbols = find_loader_symbols(library);
    read_sections(library);
    n = fill_offsets(library, ret);
    if (!has_readable_symbols(library) && (n || has_unreadable_functions(library)))
        return error_set(error, -ENOTSUP, "its section headers do not lead to its symbols");
    if (n && library->misplaced)
        return error_set(error, -ENOTSUP, "its symbols do not say where P%s is",
                         library->misplaced);
    if (n)
        return find_layout(library, &ret->layout, error) < 0 ? -ENOTSUP : 1;
    if (has_hidden_functions(library))
        return error_set(error, -ENOTSUP, "MPI is linked statically, and its symbols are stripped");
    return library->huge ? error_set(error, -EFBIG, TOO_LARGE) : 0;
}

/* Returns 1 if it is a program or a library for this machine, 0 if not, or an error. If the numbers
 * of its headers are not in the ELF header, libelf allocates memory for as many as section 0 says.
 * No linker makes such a program. */
static int check_header(int fd, struct error *error)
{
    union {
        unsigned char ident[EI_NIDENT];
        Elf32_Ehdr elf32;
        Elf64_Ehdr elf64;
    } header;
    bool many = false;
    ssize_t n;

    n = pread(fd, &header, sizeof(header), 0);
    if (n < 0)
        return error_errno(error, -errno, "cannot read the file");
    if (n != sizeof(header) || memcmp(header.ident, ELFMAG, SELFMAG) != 0 ||
        header.ident[EI_DATA] != BYTE_ORDER_HERE)
        return 0;
    if (header.ident[EI_CLASS] == ELFCLASS32)
        many = (header.elf32.e_shoff && !header.elf32.e_shnum) || header.elf32.e_phnum == PN_XNUM;
    else
        many = (header.elf64.e_shoff && !header.elf64.e_shnum) || header.elf64.e_phnum == PN_XNUM;
    return many ? error_set(error, -EFBIG, TOO_LARGE) : 1;
}

int mpi_library_read(int fd, struct mpi_file *ret, struct error *error)
{
    struct library library = {
        .fd = fd, .bytes_left = BYTES_MAX, .symbols_left = SYMBOLS_MAX, .stripped = true};
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return error_errno(error, -errno, "cannot read the file");
    library.size = (uint64_t)st.st_size;
    *ret = (struct mpi_file){0};
    r = check_header(fd, error);
    if (r <= 0)
        return r;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return error_set(error, -ENOTSUP, "libelf is too old");
    /* Not mapped: its owner may truncate it. */
    library.elf = elf_begin(fd, ELF_C_READ, NULL);
    if (!library.elf)
        return error_set(error, -EIO, "cannot read the file: %s", elf_errmsg(-1));
    r = elf_kind(library.elf) == ELF_K_ELF ? find_functions(&library, ret, error) : 0;
    (void)elf_end(library.elf);
    return r;
}
