/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library of the HTTP server. */
#ifndef JOBIO_COLLECTOR_VERSIONS_SERVER_H
#define JOBIO_COLLECTOR_VERSIONS_SERVER_H

#include <stdio.h>

/* Print its line, as versions_print() does for the other libraries. */
void versions_print_server(FILE *f);

#endif
