/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files whose code processes execute. They stay open, so that they can be read when the process
 * has ended, whatever is at their paths then. */
#ifndef JOBIO_COLLECTOR_STACKS_CODE_FILES_H
#define JOBIO_COLLECTOR_STACKS_CODE_FILES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in a file: the address of its ELF headers. */
struct code_place {
    uint64_t file;    /* number, or one of the following */
    uint64_t address; /* in the file */
};
#define CODE_NO_FILE UINT64_MAX /* memory without a file; the address is 0 */
/* A Python function; the address is the number of its name (perf_map.h). */
#define CODE_PYTHON (UINT64_MAX - 1)

/* A mapping of a file, a line of /proc/PID/maps. */
struct code_mapping {
    uint64_t start, end, offset;
    uint32_t major, minor;
    uint64_t inode;
    const char *path;
    uint64_t started_ns; /* of the process, CLOCK_MONOTONIC; 0: not known */
};

struct code_files;

/* NULL on out-of-memory. libdw_load() must have returned 0. */
struct code_files *code_files_create(void);
void code_files_destroy(struct code_files *files); /* NULL is fine */

/* Returns the number of the file that this process maps. Negative: it cannot be opened, because
 * the process has ended and another file is at the path, or -ENOMEM. */
int64_t code_files_open(struct code_files *files, uint32_t pid, const struct code_mapping *mapping);
/* NULL: it is not a usable ELF file. */
Elf *code_files_elf(const struct code_files *files, uint64_t file);
/* Returns whether the file has changed since it was opened, so that its symbols may be others. */
bool code_files_has_changed(const struct code_files *files, uint64_t file);
/* The last part of its path. */
const char *code_files_name(const struct code_files *files, uint64_t file);
/* Its build id when it was opened, in hexadecimal digits; "": it has none. */
const char *code_files_build_id(const struct code_files *files, uint64_t file);
size_t code_files_count(const struct code_files *files);

#endif
