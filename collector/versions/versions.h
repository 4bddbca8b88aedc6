/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program is made of, for --version --verbose: one line per library. */
#ifndef JOBIO_COLLECTOR_VERSIONS_VERSIONS_H
#define JOBIO_COLLECTOR_VERSIONS_VERSIONS_H

#include <stdio.h>

/* Print the heading, and the lines of all that jobio and jobiod have in common: the C library, the
 * libraries, the headers of Slurm and the layout of the BPF maps. Write errors are those of f. */
void versions_print(FILE *f);

/* Print the line of one library. built: the version of its headers. running: what the library
 * itself reports; NULL: it has no function for that. */
void versions_print_line(FILE *f, const char *name, const char *built, const char *running);

/* The same for a library that does not report its version: prints the name of its file. symbol: the
 * address of one of its functions. */
void versions_print_file(FILE *f, const char *name, const char *built, void *symbol);

#endif
