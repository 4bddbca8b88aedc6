/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/stacks/libdw.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/cleanup.h"

/* Bytes of a section, at most. The code of x86-64 reaches no further. Larger files may be an attack
 * on the memory of this process. */
#define READ_MAX (UINT64_C(2) << 30)

/* Of a note: they are short. */
#define NOTE_MAX (64 << 10)

struct libdw libdw;

static const struct {
    const char *name;
    size_t at;
} symbols[] = {
#define SYMBOL(name) {#name, offsetof(struct libdw, name)},
    LIBDW_FUNCTIONS(SYMBOL)};

int libdw_load(struct error *error)
{
    void *handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return error_set(error, -ENOTSUP,
                         "cannot unwind stacks without libdw.so.1: install libdw1 (Debian) or "
                         "elfutils-libs (Enterprise Linux)");
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        void *symbol = dlsym(handle, symbols[i].name);

        if (!symbol)
            return error_set(error, -ENOTSUP, "cannot unwind stacks: libdw.so.1 has no %s",
                             symbols[i].name);
        *(void **)((char *)&libdw + symbols[i].at) = symbol;
    }
    *(void **)&libdw.dwfl_frame_reg = dlsym(handle, "dwfl_frame_reg");
    if (libdw.elf_version(EV_CURRENT) == EV_NONE)
        return error_set(error, -ENOTSUP, "cannot unwind stacks: libelf is too old");
    return 0;
}

/* Returns whether libdw may read the section: it does not read code, nor writable data. */
static bool is_read(const GElf_Shdr *header)
{
    return header->sh_type != SHT_NOBITS && !(header->sh_flags & (SHF_EXECINSTR | SHF_WRITE));
}

/* Returns whether libdw needs too much memory to read the file. Without sections it reads all. */
static bool is_huge(Elf *elf, int fd)
{
    Elf_Scn *section = libdw.elf_nextscn(elf, NULL);
    GElf_Shdr header;
    struct stat st;

    if (!section)
        return fstat(fd, &st) < 0 || (uint64_t)st.st_size > READ_MAX;
    for (; section; section = libdw.elf_nextscn(elf, section))
        if (!libdw.gelf_getshdr(section, &header) ||
            (is_read(&header) && header.sh_size > READ_MAX))
            return true;
    return false;
}

Elf *libdw_open(int fd)
{
    Elf *elf = libdw.elf_begin(fd, ELF_C_READ, NULL);

    if (elf && (libdw.elf_kind(elf) != ELF_K_ELF || is_huge(elf, fd))) {
        (void)libdw.elf_end(elf);
        elf = NULL;
    }
    return elf;
}

static bool has_large_note(Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = libdw.elf_nextscn(elf, section)))
        if (libdw.gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
            header.sh_size > NOTE_MAX)
            return true;
    return false;
}

void libdw_build_id(Elf *elf, char ret[2 * LIBDW_BUILD_ID_BYTES + 1])
{
    const void *id = NULL;
    ssize_t n = has_large_note(elf) ? 0 : libdw.dwelf_elf_gnu_build_id(elf, &id);

    *ret = '\0';
    for (ssize_t i = 0; i < n && n <= LIBDW_BUILD_ID_BYTES; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
}

/* The addresses of a file, as dwfl_report_elf() computes them. */
static bool find_addresses(Elf *elf, GElf_Addr *start, GElf_Addr *end)
{
    size_t n = 0;
    GElf_Phdr segment;

    *end = 0;
    (void)libdw.elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n && libdw.gelf_getphdr(elf, (int)i, &segment); i++) {
        if (segment.p_type != PT_LOAD)
            continue;
        if (!*end)
            *start = segment.p_vaddr & -segment.p_align;
        *end = segment.p_vaddr + segment.p_memsz;
    }
    return *end > *start;
}

Dwfl_Module *libdw_report(Dwfl *dwfl, const char *name, Elf *elf, GElf_Addr start)
{
    GElf_Addr first = 0, end, bias = 0;
    Dwfl_Module *module;
    GElf_Ehdr header;
    void **arg;

    if (!libdw.gelf_getehdr(elf, &header) || !find_addresses(elf, &first, &end))
        return NULL;
    if (start && header.e_type == ET_DYN)
        bias = start - first;
    module = libdw.dwfl_report_module(dwfl, name, first + bias, end + bias);
    if (!module)
        return NULL;
    (void)libdw.dwfl_module_info(module, &arg, NULL, NULL, NULL, NULL, NULL, NULL);
    *arg = elf;
    return libdw.dwfl_module_getelf(module, &bias) ? module : NULL;
}

/* Called once a module, by the end of libdw_report(). */
static int find_elf(Dwfl_Module *module, void **arg, const char *name, Dwarf_Addr start,
                    char **file_name, Elf **elf)
{
    (void)module;
    (void)name;
    (void)start;
    (void)file_name;
    *elf = libdw.elf_begin(-1, ELF_C_READ, *arg); /* a reference */
    return -1;
}

const Dwfl_Callbacks *libdw_callbacks(void)
{
    static Dwfl_Callbacks callbacks;

    callbacks.find_elf = find_elf;
    /* Debugging files of this host only: the standard function may query a debuginfod. */
    callbacks.find_debuginfo = libdw.dwfl_build_id_find_debuginfo;
    callbacks.section_address = libdw.dwfl_offline_section_address;
    return &callbacks;
}
