/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A module of its own, because only jobiod is linked with libmicrohttpd. */
#include "collector/versions/server.h"

#include <microhttpd.h>

#include "collector/versions/versions.h"

void versions_print_server(FILE *f)
{
    char built[sizeof("255.255.255")];
    unsigned v = MHD_VERSION; /* 0x00097500 is 0.9.75, in decimal digits */

    (void)snprintf(built, sizeof(built), "%x.%x.%x", v >> 24, v >> 16 & 0xff, v >> 8 & 0xff);
    versions_print_line(f, "libmicrohttpd", built, MHD_get_version());
}
