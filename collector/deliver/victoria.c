/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VictoriaMetrics and its agents: they import the text of Prometheus, but have no groups. */
#include <string.h>

#include "collector/deliver/kinds.h"
#include "collector/deliver/pushgateway.h"

#define IMPORT "/api/v1/import/prometheus"

static bool claims(const char *url)
{
    size_t length = strlen(url), n = strlen(IMPORT);

    while (length > 0 && url[length - 1] == '/')
        length--;
    return length >= n && memcmp(url + length - n, IMPORT, n) == 0;
}

/* The label that a group of a Pushgateway has in its URL. */
static void write_url(FILE *out, const struct target_options *options)
{
    (void)options;
    fputs("?extra_label=job=jobio", out);
}

const struct target_kind victoria_kind = {
    .name = "victoria",
    .method = "POST",
    .headers = pushgateway_headers,
    .compress = true,
    .claims = claims,
    .write_url = write_url,
    .write_node = report_prometheus,
    .judge = pushgateway_judge,
};
