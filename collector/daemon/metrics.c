/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "collector/daemon/degraded.h"
#include "collector/daemon/passed_sockets.h"
#include "collector/http/access.h"
#include "collector/http/server.h"
#include "common/clock.h"

#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define FRESH_NS NS_PER_S       /* maximum age of a cached page */
#define RETRY_NS (5 * NS_PER_S) /* of a failed bind */

struct metrics {
    struct metrics_options options;
    struct http_server *server; /* NULL: no page */
    struct textfile *file;      /* NULL: no textfile */
    sd_event_source *timer;     /* of the textfile */
    bool retired;
    bool loading, for_file;
    struct http_exchange **waiting; /* requests that wait for the page */
    size_t n_waiting;
    char *page;
    uint64_t page_ns; /* CLOCK_BOOTTIME */
    uint64_t scrapes;
};

/* --- the page --------------------------------------------------------------------------------- */

static void answer_page(struct metrics *metrics, struct http_exchange *exchange)
{
    char *copy = strdup(metrics->page);

    metrics->scrapes++;
    if (copy)
        http_exchange_answer(exchange, 200, CONTENT_TYPE, copy, strlen(copy));
    else
        http_exchange_text(exchange, 503, "no memory");
}

static void make_page(struct metrics *metrics, const struct node_reading *reading)
{
    struct self_metrics *self =
        self_metrics_create(&metrics->options.sources, metrics->file, reading);
    struct prometheus_node node = reading->node;

    free(metrics->page);
    metrics->page = NULL;
    if (!self)
        return;
    node.families = self_metrics_families(self, &node.n_families);
    node.users = settings_page_has_users(metrics->options.settings);
    metrics->page = report_prometheus(&node);
    metrics->page_ns = clock_ns(CLOCK_BOOTTIME);
    self_metrics_destroy(self);
}

static void on_loaded(const struct node_reading *reading, const struct error *why, void *arg)
{
    struct metrics *metrics = arg;
    const char *reason = reading ? "no memory for the metrics" : why->text;
    char *copy = NULL;

    metrics->loading = false;
    if (reading)
        make_page(metrics, reading);
    while (metrics->n_waiting) {
        struct http_exchange *exchange = metrics->waiting[--metrics->n_waiting];

        if (reading && metrics->page)
            answer_page(metrics, exchange);
        else
            http_exchange_text(exchange, 503, "%s", reason);
    }
    if (!metrics->for_file || metrics->retired)
        return;
    metrics->for_file = false;
    copy = reading && metrics->page ? strdup(metrics->page) : NULL;
    if (copy)
        textfile_write(metrics->file, copy);
    else
        textfile_fail(metrics->file, reason);
}

static void load(struct metrics *metrics)
{
    /* At least 1 ns: the metrics of jobiod need the state of the store and the sinks. */
    uint64_t linger = metrics->options.settings->push.linger_ns;

    if (metrics->loading)
        return;
    metrics->loading = true;
    node_state_load(metrics->options.node_state,
                    &(struct node_query){.recent_ns = linger ? linger : 1}, on_loaded, metrics);
}

static void on_scrape(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    struct metrics *metrics = arg;
    struct http_exchange **grown;

    (void)body, (void)size;
    if (metrics->page && clock_ns(CLOCK_BOOTTIME) - metrics->page_ns < FRESH_NS) {
        answer_page(metrics, exchange);
        return;
    }
    grown = realloc(metrics->waiting, (metrics->n_waiting + 1) * sizeof(*grown));
    if (!grown) {
        http_exchange_text(exchange, 503, "no memory");
        return;
    }
    metrics->waiting = grown;
    grown[metrics->n_waiting++] = exchange;
    load(metrics);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct metrics *metrics = arg;

    (void)usec;
    if (metrics->retired)
        return 0;
    metrics->for_file = true;
    load(metrics);
    (void)sd_event_source_set_time_relative(source,
                                            metrics->options.settings->metrics.interval_ns / 1000);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void on_listening(const struct error *why, void *arg)
{
    degraded_set(arg, DEGRADED_METRICS, why);
}

static int create_server(struct metrics *metrics, const char *userpwd, struct error *error)
{
    const struct settings_list *listen = &metrics->options.settings->metrics.listen;
    const struct http_server_options options = {
        .listen = (const char *const *)listen->items,
        .n_listen = listen->n,
        .sockets = metrics->options.sockets->fds,
        .n_sockets = metrics->options.sockets->n,
        .retry_ns = RETRY_NS,
        .listening = on_listening,
        .listening_arg = metrics->options.degraded,
        .body_max = 1,
        .userpwd = userpwd,
    };

    return http_server_create(&metrics->server, metrics->options.loop, &options, error);
}

static void forget(char *userpwd)
{
    if (userpwd)
        explicit_bzero(userpwd, strlen(userpwd));
    free(userpwd);
}

static int read_credentials(const struct settings *settings, char **ret, struct error *error)
{
    int r = http_read_userpwd(settings->metrics.credentials, true, ret, error);

    return r < 0 ? error_prefix(error, r, "[metrics]") : 0;
}

int metrics_check(const struct settings *settings, struct error *error)
{
    char *userpwd = NULL;
    int r = read_credentials(settings, &userpwd, error);

    forget(userpwd);
    return r;
}

static int create_page(struct metrics *metrics, struct error *error)
{
    char *userpwd = NULL;
    int r = read_credentials(metrics->options.settings, &userpwd, error);

    if (r < 0)
        return r;
    r = create_server(metrics, userpwd, error);
    forget(userpwd);
    if (!r && http_server_route(metrics->server, "GET", "/metrics", on_scrape, metrics) < 0)
        r = error_set(error, -ENOMEM, "no memory");
    return r < 0 ? error_prefix(error, r, "metrics") : 0;
}

static int create_file(struct metrics *metrics, struct error *error)
{
    sd_event *loop = metrics->options.loop;
    int r =
        textfile_create(&metrics->file, loop, metrics->options.settings->metrics.textfile, error);

    if (r < 0)
        return r;
    /* Write it at once: the file of an earlier process is outdated. */
    r = sd_event_add_time_relative(loop, &metrics->timer, CLOCK_MONOTONIC, 0, 0, on_timer, metrics);
    return r < 0 ? error_errno(error, r, "metrics") : 0;
}

int metrics_create(struct metrics **ret, const struct metrics_options *options, struct error *error)
{
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    int r = 0;

    if (!metrics)
        return error_set(error, -ENOMEM, "no memory");
    metrics->options = *options;
    if (options->settings->metrics.listen.n || options->sockets->n)
        r = create_page(metrics, error);
    if (!r && options->settings->metrics.textfile)
        r = create_file(metrics, error);
    if (r < 0) {
        metrics_destroy(metrics);
        return r;
    }
    *ret = metrics;
    return 0;
}

void metrics_destroy(struct metrics *metrics)
{
    if (!metrics)
        return;
    http_server_destroy(metrics->server);
    sd_event_source_disable_unref(metrics->timer);
    textfile_destroy(metrics->file);
    free(metrics->waiting);
    free(metrics->page);
    free(metrics);
}

void metrics_forget_server(struct metrics *metrics)
{
    if (metrics)
        metrics->options.sources.server = NULL;
}

void metrics_retire(struct metrics *metrics)
{
    if (!metrics || !metrics->file || metrics->retired)
        return;
    metrics->retired = true;
    textfile_remove(metrics->file);
}

void metrics_stats(const struct metrics *metrics, struct metrics_stats *ret)
{
    *ret = (struct metrics_stats){.scrapes = metrics->scrapes};
    textfile_stats(metrics->file, &ret->textfile);
    if (metrics->server)
        http_server_stats(metrics->server, &ret->http);
}
