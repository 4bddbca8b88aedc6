/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/stacks/libdw.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "collector/stacks/code_files.h"
#include "common/cleanup.h"

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
    return 0;
}

Dwfl_Module *libdw_report(Dwfl *dwfl, const char *name, int fd, GElf_Addr base)
{
    int own = code_fd_keep(fcntl(fd, F_DUPFD_CLOEXEC, 0)); /* the module closes it */
    Dwfl_Module *module =
        own >= 0 ? libdw.dwfl_report_elf(dwfl, name, name, own, base, false) : NULL;

    if (!module && own >= 0)
        (void)close(own);
    return module;
}

const Dwfl_Callbacks *libdw_callbacks(void)
{
    static Dwfl_Callbacks callbacks;

    /* Debugging files of this host only: the standard function may query a debuginfod. */
    callbacks.find_debuginfo = libdw.dwfl_build_id_find_debuginfo;
    callbacks.section_address = libdw.dwfl_offline_section_address;
    return &callbacks;
}
