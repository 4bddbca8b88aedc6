/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings in jobio.conf that the command uses. */
#ifndef JOBIO_CLI_BASE_CONF_H
#define JOBIO_CLI_BASE_CONF_H

#include "settings/settings.h"
#include "common/error.h"

/* The settings of that file; NULL: of the usual one, which need not be there, and which a user who
 * may not read it is not told of. A negative errno with text. */
int conf_read(const char *path, struct settings **ret, struct error *error);

#endif
