/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/deliver/step_queue_impl.h"
#include "common/clock.h"

void sink_defaults(struct sink_options *options)
{
    *options = (struct sink_options){
        .format = SINK_CLICKHOUSE,
        .table = "jobio.io",
        .action = "index",
        .delay_ns = 5 * NS_PER_S,
        .poll_ns = 5 * NS_PER_MINUTE,
        .backoff_ns = 5 * NS_PER_S,
        .slow_ns = 15 * NS_PER_MINUTE,
        .connect_timeout_ns = 3 * NS_PER_S,
        .timeout_ns = 30 * NS_PER_S,
        .limits = {.rows = 1000, .bytes = 1 << 20},
        .answer_max = 4u << 20,
    };
}

/* ClickHouse's names go into a query, those of an index into JSON. */
static int check_table(const struct sink_options *options, struct error *error)
{
    const char *table = options->table;

    if (!table && options->format == SINK_BULK)
        return 0;
    if (!table || !*table)
        return error_set(error, -EINVAL, "a sink of format clickhouse needs a table");
    for (const char *c = table; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.-", *c))
            return error_set(error, -EINVAL,
                             "\"%s\": a table is made of letters, digits, '_', '-' and '.'", table);
    return 0;
}

static int check_parameters(const char *parameters, struct error *error)
{
    for (const char *c = parameters ? parameters : ""; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.,-=&%*~", *c))
            return error_set(error, -EINVAL, "\"%s\" is no query of a URL like a=1&b=2",
                             parameters);
    return 0;
}

int sink_check_options(const struct sink_options *options, struct error *error)
{
    int r = http_check_url(options->url, error);

    if (r == 0)
        r = check_table(options, error);
    if (r == 0)
        r = check_parameters(options->parameters, error);
    if (r == 0)
        r = http_access_check(&options->access, error);
    return r;
}

/* Unknown columns are skipped: a newer jobio feeds a table of an older one. A _bulk is asked for
 * the statuses alone. */
char *sink_post_url(const struct sink_options *options)
{
    size_t length = strlen(options->url), size;
    char *url = NULL;
    FILE *out = open_memstream(&url, &size);

    if (!out)
        return NULL;
    while (length && options->url[length - 1] == '/')
        length--;
    (void)fprintf(out, "%.*s", (int)length, options->url);
    if (options->format == SINK_CLICKHOUSE)
        (void)fprintf(out,
                      "/?query=INSERT%%20INTO%%20%s%%20FORMAT%%20JSONEachRow"
                      "&input_format_skip_unknown_fields=1",
                      options->table);
    else
        (void)fprintf(out, "/_bulk?filter_path=errors,items.*.status,items.*.error.type,"
                           "items.*.error.reason");
    if (options->parameters)
        (void)fprintf(out, "&%s", options->parameters);
    if (fclose(out) != 0) {
        free(url);
        return NULL;
    }
    return url;
}

const char *const *sink_headers(enum sink_format format)
{
    static const char *const clickhouse[] = {"Content-Type: text/plain; charset=utf-8",
                                             "Content-Encoding: gzip", NULL};
    static const char *const bulk[] = {"Content-Type: application/x-ndjson",
                                       "Content-Encoding: gzip", NULL};

    return format == SINK_BULK ? bulk : clickhouse;
}
