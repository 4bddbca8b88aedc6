/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings in jobio.conf that the command uses. */
#ifndef JOBIO_CLI_BASE_CONF_H
#define JOBIO_CLI_BASE_CONF_H

#include "settings/settings.h"
#include "common/error.h"

/* Read the settings of `path`. NULL: the installed jobio.conf; defaults if it does not exist or
 * this user may not read it. A negative errno with text. */
int conf_read(const char *path, struct settings **ret, struct error *error);

#endif
