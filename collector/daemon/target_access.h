/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of a target's access as the HTTP client takes them. */
#ifndef JOBIO_COLLECTOR_DAEMON_TARGET_ACCESS_H
#define JOBIO_COLLECTOR_DAEMON_TARGET_ACCESS_H

#include "collector/http/access.h"
#include "settings/settings.h"

/* The strings remain those of the settings. */
static inline struct http_access target_access(const struct settings_access *settings)
{
    return (struct http_access){
        .ca_file = settings->ca_file,
        .cert_file = settings->cert_file,
        .key_file = settings->key_file,
        .userpwd_file = settings->credentials,
        .proxy = settings->proxy,
        .insecure = settings->insecure,
    };
}

#endif
