/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/base/conf.h"

#include <errno.h>
#include <unistd.h>

#define DEFAULT_CONFIG JOBIO_SYSCONFDIR "/jobio.conf"

int conf_read(const char *path, struct settings **ret, struct error *error)
{
    if (path)
        return settings_load(ret, path, error);
    if (access(DEFAULT_CONFIG, R_OK) == 0 || errno == ENOENT)
        return settings_read(ret, DEFAULT_CONFIG, true, NULL, error);
    *ret = settings_create(); /* the user may not read it */
    return *ret ? 0 : error_errno(error, -ENOMEM, "read the configuration");
}
