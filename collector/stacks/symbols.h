/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of functions, from the symbol tables of their files or of their separate debugging
 * files, or from the maps of Python. */
#ifndef JOBIO_COLLECTOR_STACKS_SYMBOLS_H
#define JOBIO_COLLECTOR_STACKS_SYMBOLS_H

#include <stdio.h>

#include "collector/stacks/code_files.h"
#include "collector/stacks/perf_map.h"

struct symbols;

/* Files and maps must stay. libdw_load() must have returned 0. NULL on out-of-memory. */
struct symbols *symbols_create(const struct code_files *files, const struct perf_maps *maps);
void symbols_destroy(struct symbols *symbols); /* NULL is fine */

/* Write the name of the function there, a tab and its file; if it has no name, "[FILE+0xADDRESS]",
 * a tab and the build id of the file, or without a build id, or "[unknown]". What would break a
 * line of folded stacks, or a terminal, is replaced. */
void symbols_write(struct symbols *symbols, const struct code_place *place, FILE *out);
/* Write untrusted text with the same replacements. */
void symbols_write_text(const char *text, FILE *out);

#endif
