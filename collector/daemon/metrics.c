/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics for sites that scrape: a page over HTTP, and a file for node_exporter. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/daemon/daemon_impl.h"
#include "collector/http/server.h"
#include "collector/store/worker.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define FRESH_NS NS_PER_S /* a page so young is shown again */
#define FILES_MAX 4       /* that wait to be written: their disk hangs */

struct metrics {
    struct daemon *daemon;
    struct http_server *server;
    sd_event_source *timer, *written; /* of the textfile */
    struct worker *worker;
    bool retired;
    bool collecting, for_file;
    struct http_exchange **waiting; /* for the page that is being made */
    size_t n_waiting;
    char *page;
    uint64_t page_ns; /* CLOCK_BOOTTIME */
    struct metrics_stats stats;
};

/* --- the textfile ------------------------------------------------------------------------------
 */

struct file {
    struct metrics *metrics;
    const char *path;
    char *text; /* owned; NULL: remove it */
};

static int write_all(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t n = write(fd, text, left);

        if (n < 0 && errno != EINTR)
            return -errno;
        text += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return fchmod(fd, 0644) < 0 ? -errno : 0;
}

/* Beside the file, under a name that node_exporter does not read. Others may write to its folder:
 * what is there under that name is not followed. */
static int replace_file(const char *path, const char *text, struct error *error)
{
    _free_ char *making = NULL;
    _close_ int fd = -1;
    int r;

    if (asprintf(&making, "%s.new", path) < 0)
        return error_errno(error, -ENOMEM, "%s", path);
    (void)unlink(making);
    fd = open(making, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_errno(error, -errno, "cannot make %s", making);
    r = write_all(fd, text);
    if (!r && rename(making, path) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(making);
    return r < 0 ? error_errno(error, r, "cannot write %s", path) : 0;
}

static int write_file(struct store *store, void *arg, struct error *error)
{
    const struct file *file = arg;

    (void)store;
    if (file->text)
        return replace_file(file->path, file->text, error);
    return unlink(file->path) == 0 || errno == ENOENT
               ? 0
               : error_errno(error, -errno, "cannot remove %s", file->path);
}

static void file_failed(struct metrics *metrics, const char *why)
{
    metrics->stats.textfile_failures++;
    (void)snprintf(metrics->stats.textfile_error, sizeof(metrics->stats.textfile_error), "%s", why);
    daemon_log_limited("textfile", 600, "metrics: %s", why);
}

static void on_file(int result, const struct error *error, void *arg)
{
    struct file *file = arg;
    struct metrics *metrics = file->metrics;

    if (result < 0) {
        file_failed(metrics, error->text);
    } else {
        metrics->stats.textfiles += file->text != NULL;
        *metrics->stats.textfile_error = '\0';
    }
    free(file->text);
    free(file);
}

static void execute(struct worker_task *tasks, size_t n, void *owner)
{
    (void)n, (void)owner; /* one at a time */
    tasks->result = tasks->run(NULL, tasks->arg, &tasks->error);
}

/* Takes the text over. */
static void submit_file(struct metrics *metrics, char *text)
{
    struct file *file = calloc(1, sizeof(*file));

    if (!file) {
        free(text);
        file_failed(metrics, "no memory for the textfile");
        return;
    }
    *file = (struct file){metrics, metrics->daemon->settings->metrics.textfile, text};
    if (worker_submit(metrics->worker,
                      &(struct worker_task){.run = write_file, .done = on_file, .arg = file}) < 0) {
        file_failed(metrics, "the disk of the textfile hangs");
        free(text);
        free(file);
    }
}

/* --- the page ----------------------------------------------------------------------------------
 */

static void answer_page(struct metrics *metrics, struct http_exchange *exchange)
{
    char *copy = strdup(metrics->page);

    metrics->stats.scrapes++;
    if (copy)
        http_exchange_answer(exchange, 200, CONTENT_TYPE, copy, strlen(copy));
    else
        http_exchange_text(exchange, 503, "no memory");
}

static void make_page(struct metrics *metrics, const struct collected *collected)
{
    struct selfmetrics *self = selfmetrics_create(metrics->daemon, collected);
    struct prometheus_node node = collected->node;

    free(metrics->page);
    metrics->page = NULL;
    if (!self)
        return;
    node.families = selfmetrics_families(self, &node.n_families);
    metrics->page = report_prometheus(&node);
    metrics->page_ns = clock_ns(CLOCK_BOOTTIME);
    selfmetrics_destroy(self);
}

static void on_collected(const struct collected *collected, const struct error *why, void *arg)
{
    struct metrics *metrics = arg;
    const char *reason = collected ? "no memory for the metrics" : why->text;
    char *copy = NULL;

    metrics->collecting = false;
    if (collected)
        make_page(metrics, collected);
    while (metrics->n_waiting) {
        struct http_exchange *exchange = metrics->waiting[--metrics->n_waiting];

        if (collected && metrics->page)
            answer_page(metrics, exchange);
        else
            http_exchange_text(exchange, 503, "%s", reason);
    }
    if (!metrics->for_file || metrics->retired)
        return;
    metrics->for_file = false;
    copy = collected && metrics->page ? strdup(metrics->page) : NULL;
    if (copy)
        submit_file(metrics, copy);
    else
        file_failed(metrics, reason);
}

static void collect(struct metrics *metrics)
{
    /* Also of none: what is known of jobiod comes with it. */
    uint64_t linger = metrics->daemon->settings->push.linger_ns;

    if (metrics->collecting)
        return;
    metrics->collecting = true;
    daemon_collect(metrics->daemon, &(struct collection){.recent_ns = linger ? linger : 1},
                   on_collected, metrics);
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
    collect(metrics);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct metrics *metrics = arg;

    (void)usec;
    if (metrics->retired)
        return 0;
    metrics->for_file = true;
    collect(metrics);
    (void)sd_event_source_set_time_relative(source,
                                            metrics->daemon->settings->metrics.interval_ns / 1000);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

static int on_written(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct metrics *metrics = arg;

    (void)source, (void)fd, (void)events;
    (void)worker_dispatch(metrics->worker);
    return 0;
}

/* --- life --------------------------------------------------------------------------------------
 */

static int create_page(struct metrics *metrics, struct error *error)
{
    const struct settings_list *listen = &metrics->daemon->settings->metrics.listen;
    const struct http_server_options options = {
        .listen = (const char *const *)listen->items,
        .n_listen = listen->n,
        .body_max = 1,
    };
    int r = http_server_create(&metrics->server, metrics->daemon->loop, &options, error);

    if (!r && http_server_route(metrics->server, "GET", "/metrics", on_scrape, metrics) < 0)
        r = error_set(error, -ENOMEM, "no memory");
    return r < 0 ? error_prefix(error, r, "metrics") : 0;
}

static int create_file(struct metrics *metrics, struct error *error)
{
    sd_event *loop = metrics->daemon->loop;
    int r = worker_create(
        &metrics->worker,
        &(struct worker_options){
            .name = "jobiod-textfile", .capacity = FILES_MAX, .batch = 1, .execute = execute},
        error);

    if (r < 0)
        return r;
    r = sd_event_add_io(loop, &metrics->written, worker_fd(metrics->worker), EPOLLIN, on_written,
                        metrics);
    if (r >= 0) /* at once: what an earlier process left is old */
        r = sd_event_add_time_relative(loop, &metrics->timer, CLOCK_MONOTONIC, 0, 0, on_timer,
                                       metrics);
    return r < 0 ? error_errno(error, r, "metrics") : 0;
}

int metrics_create(struct metrics **ret, struct daemon *daemon, struct error *error)
{
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    int r = 0;

    if (!metrics)
        return error_set(error, -ENOMEM, "no memory");
    metrics->daemon = daemon;
    if (daemon->settings->metrics.listen.n)
        r = create_page(metrics, error);
    if (!r && daemon->settings->metrics.textfile)
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
    sd_event_source_disable_unref(metrics->written);
    worker_destroy(metrics->worker);
    free(metrics->waiting);
    free(metrics->page);
    free(metrics);
}

void metrics_retire(struct metrics *metrics)
{
    if (!metrics || !metrics->worker || metrics->retired)
        return;
    metrics->retired = true;
    submit_file(metrics, NULL);
}

void metrics_stats(const struct metrics *metrics, struct metrics_stats *ret)
{
    *ret = metrics ? metrics->stats : (struct metrics_stats){0};
    if (metrics && metrics->server)
        http_server_stats(metrics->server, &ret->http);
}
