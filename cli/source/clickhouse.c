/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/source/clickhouse_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/conf.h"
#include "collector/http/access.h"
#include "collector/http/client.h"
#include "common/cleanup.h"

#define DEFAULT_TABLE "jobio.io"

/* --- settings --------------------------------------------------------------------------------- */

static void clickhouse_free(struct clickhouse *c)
{
    if (!c)
        return;
    settings_destroy(c->settings);
    free(c->url);
    free(c->table);
    if (c->userpwd)
        explicit_bzero(c->userpwd, strlen(c->userpwd));
    free(c->userpwd);
    free(c);
}
DEFINE_CLEANUP(struct clickhouse, clickhouse_free)

static void close_clickhouse(struct source *source)
{
    clickhouse_free((struct clickhouse *)source);
}

static const struct source_ops clickhouse_ops = {
    clickhouse_jobs, clickhouse_numbers, clickhouse_history, clickhouse_array, close_clickhouse};

static int fill(struct clickhouse *c, const struct cli *cli, struct error *error)
{
    const struct settings *s = c->settings;
    const char *url = cli->history.url      ? cli->history.url
                      : s->history.read_url ? s->history.read_url
                                            : s->history.url;
    const char *cluster = cli->history.cluster ? cli->history.cluster : s->cluster;
    int r;

    if (!cli->history.url && !s->history.read_url && s->history.format != SINK_CLICKHOUSE)
        url = NULL;
    if (!url)
        return error_set(error, -EINVAL,
                         "no ClickHouse is configured: [history] in jobio.conf does not name one");
    r = http_check_url(url, error);
    if (r < 0)
        return r;
    c->url = strdup(url);
    c->table = strdup(s->history.table && s->history.format == SINK_CLICKHOUSE ? s->history.table
                                                                               : DEFAULT_TABLE);
    c->cluster = strcmp(cluster, "all") ? cluster : NULL;
    return c->url && c->table ? 0 : error_errno(error, -ENOMEM, "read the configuration");
}

/* As for [push] and [history] in jobiod, others must not be able to read the password, neither in
 * its file nor on the network. */
static int read_password(struct clickhouse *c, const char *given, struct error *error)
{
    const struct http_access access = {
        .userpwd_file = given ? given : c->settings->history.read_credentials,
        .insecure = c->settings->history.access.insecure,
    };
    int r = http_read_userpwd(access.userpwd_file, !access.insecure, &c->userpwd, error);

    return r < 0 ? r : http_check_password(&access, c->url, error);
}

/* With a password, of the site or of the user, the database decides what the user may see. Without
 * one it cannot distinguish users, so show only the user's own jobs, as jobiod does. */
static void keep_to_own(struct clickhouse *c)
{
    if (!c->userpwd && geteuid() != 0)
        (void)snprintf(c->own, sizeof(c->own), "AND uid = %u", (unsigned)geteuid());
}

/* `c` has the settings. 1, or 0: this user may not read the password of the site, and none was
 * asked for. */
static int open_configured(struct clickhouse *c, const struct cli *cli, struct error *error)
{
    int r = fill(c, cli, error);

    if (r < 0)
        return r;
    r = read_password(c, cli->history.credentials, error);
    if (r < 0)
        return r == -EACCES && !cli->history.from ? 0 : r;
    keep_to_own(c);
    c->source.ops = &clickhouse_ops;
    return 1;
}

int clickhouse_source_open(const struct cli *cli, struct source **ret, struct error *error)
{
    CLEANUP(clickhouse_freep) struct clickhouse *c = calloc(1, sizeof(*c));
    const char *from = cli->history.from;
    int r;

    if (!c)
        return error_errno(error, -ENOMEM, "read the configuration");
    if (from && strcmp(from, "store") && strcmp(from, "clickhouse"))
        return error_set(error, -EINVAL, "--from \"%s\": use store or clickhouse", from);
    if ((from && !strcmp(from, "store")) || (!from && cli->store))
        return 0;
    r = conf_read(cli->history.config, &c->settings, error);
    if (r < 0 && !from && !cli->history.config)
        return 0; /* jobiod reports what is wrong with it */
    if (r < 0)
        return r;
    if (!from && !c->settings->history.from_clickhouse)
        return 0;
    r = open_configured(c, cli, error);
    if (r > 0)
        *ret = &TAKE_PTR(c)->source;
    return r;
}

static bool names_clickhouse(const struct settings *s)
{
    return s->history.read_url || (s->history.url && s->history.format == SINK_CLICKHOUSE);
}

int clickhouse_source_find(const struct cli *cli, struct source **ret, const char **url,
                           struct error *error)
{
    CLEANUP(clickhouse_freep) struct clickhouse *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return error_errno(error, -ENOMEM, "read the configuration");
    if (cli->history.from)
        return 0;
    r = conf_read(cli->history.config, &c->settings, error);
    if (r < 0 || !names_clickhouse(c->settings))
        return r;
    r = open_configured(c, cli, error);
    if (r > 0) {
        *url = c->url;
        *ret = &TAKE_PTR(c)->source;
    }
    return r;
}
