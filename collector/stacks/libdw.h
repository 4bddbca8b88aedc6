/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of libdw, and of libelf that it depends on, which is loaded only if stacks are
 * wanted: few programs need it. */
#ifndef JOBIO_COLLECTOR_STACKS_LIBDW_H
#define JOBIO_COLLECTOR_STACKS_LIBDW_H

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "common/error.h"

#define LIBDW_FUNCTIONS(each)                                                                      \
    each(dwfl_begin) each(dwfl_end) each(dwfl_report_begin) each(dwfl_report_end)                  \
        each(dwfl_report_module) each(dwfl_attach_state) each(dwfl_getthread_frames)               \
            each(dwfl_frame_pc) each(dwfl_thread_state_registers) each(dwfl_addrmodule)            \
                each(dwfl_module_getelf) each(dwfl_module_info) each(dwfl_module_addrname)         \
                    each(dwfl_module_eh_cfi) each(dwfl_module_dwarf_cfi) each(dwarf_cfi_addrframe) \
                        each(dwfl_module_addrinfo) each(elf_version) each(elf_begin) each(elf_end) \
                            each(elf_kind) each(elf_getphdrnum) each(elf_nextscn)                  \
                                each(gelf_getphdr) each(gelf_getshdr) each(gelf_getehdr)           \
                                    each(dwfl_version) each(dwfl_build_id_find_debuginfo)          \
                                        each(dwfl_offline_section_address)                         \
                                            each(dwelf_elf_gnu_build_id)

#define LIBDW_MEMBER(name) __typeof__(name) *name;
extern struct libdw {
    LIBDW_FUNCTIONS(LIBDW_MEMBER)
    int (*dwfl_frame_reg)(Dwfl_Frame *, unsigned, Dwarf_Word *); /* NULL before elfutils 0.188 */
} libdw;
#undef LIBDW_MEMBER

/* Load the library, once. -ENOTSUP: it is not installed, or too old. */
int libdw_load(struct error *error);

/* Open an ELF file. It is not mapped, because its owner may truncate it. fd must stay open. NULL:
 * it is not a usable ELF file, or it is too large to be read. Free it with libdw.elf_end(). */
Elf *libdw_open(int fd);

/* Write its build id in hexadecimal digits; nothing if it has none, or a longer one. */
#define LIBDW_BUILD_ID_BYTES 32
void libdw_build_id(Elf *elf, char ret[2 * LIBDW_BUILD_ID_BYTES + 1]);

/* Report a file as a module of a Dwfl, mapped at `start`; 0: where the file says. The Dwfl has a
 * reference to `elf`. NULL: it has no code. */
Dwfl_Module *libdw_report(Dwfl *dwfl, const char *name, Elf *elf, GElf_Addr start);

/* The callbacks of dwfl_begin() for modules that are reported in this way. */
const Dwfl_Callbacks *libdw_callbacks(void);

#endif
