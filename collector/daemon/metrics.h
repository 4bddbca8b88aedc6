/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics for sites that scrape: a page over HTTP, and a textfile for node_exporter. */
#ifndef JOBIO_COLLECTOR_DAEMON_METRICS_H
#define JOBIO_COLLECTOR_DAEMON_METRICS_H

#include "collector/daemon/self_metrics.h"
#include "collector/http/server.h"
#include "settings/settings.h"

struct degraded;
struct metrics;
struct passed_list;

/* All must outlive it. */
struct metrics_options {
    sd_event *loop;
    struct degraded *degraded;
    const struct passed_list *sockets;
    const struct settings *settings;
    struct node_state *node_state;
    struct self_metrics_sources sources;
};

/* Check that the credentials of the page can be read and are private. Returns 0 or -errno. */
int metrics_check(const struct settings *settings, struct error *error);

/* Creates the page and the textfile if they are configured. */
int metrics_create(struct metrics **ret, const struct metrics_options *options,
                   struct error *error);
/* Call it after the query of node_state was destroyed. Accepts NULL. */
void metrics_destroy(struct metrics *metrics);
/* Notify that the local socket was destroyed. Accepts NULL. */
void metrics_forget_server(struct metrics *metrics);
/* Remove the textfile, because the node is retired. Accepts NULL. */
void metrics_retire(struct metrics *metrics);

struct metrics_stats {
    uint64_t scrapes;
    struct textfile_stats textfile;
    struct http_server_stats http;
};
void metrics_stats(const struct metrics *metrics, struct metrics_stats *ret);

#endif
