/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/sink_list.h"

#include <stdio.h>
#include <stdlib.h>

char *sink_list(const struct settings *settings)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    (void)fprintf(out, "sinks: ");
    if (settings->push.urls.n)
        (void)fprintf(out, "%zu push target%s, ", settings->push.urls.n,
                      settings->push.urls.n == 1 ? "" : "s");
    for (size_t i = 0; i < settings->metrics.listen.n; i++)
        (void)fprintf(out, "metrics at %s, ", settings->metrics.listen.items[i]);
    if (settings->metrics.textfile)
        (void)fprintf(out, "metrics in %s, ", settings->metrics.textfile);
    if (settings->history.url)
        (void)fprintf(out, "history (%s) at %s, ", sink_format_name(settings->history.format),
                      settings->history.url);
    if (settings->trace.url)
        (void)fprintf(out, "traces (otlp) at %s%s, ", settings->trace.url,
                      settings->trace.allow ? "" : " (not without \"allow = yes\" in [trace])");
    if (settings->push.urls.n || settings->metrics.listen.n || settings->metrics.textfile ||
        settings->history.url || settings->trace.url)
        (void)fseek(out, -2, SEEK_CUR);
    else
        (void)fprintf(out, "none");
    (void)fprintf(out, "; peers: %s", settings->peers.url ? settings->peers.url : "none");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
