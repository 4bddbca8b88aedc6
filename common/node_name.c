/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "common/node_name.h"

#include <string.h>
#include <unistd.h>

char *node_name(const char *configured)
{
    char host[256] = "";

    if (configured)
        return strdup(configured);
    (void)gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    return strdup(*host ? host : "localhost");
}
