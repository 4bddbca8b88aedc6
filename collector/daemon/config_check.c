/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/config_check.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "collector/daemon/cluster.h"
#include "collector/daemon/history_sink.h"
#include "collector/daemon/metrics.h"
#include "collector/daemon/metrics_push.h"
#include "collector/daemon/peer_requests.h"
#include "collector/daemon/sink_list.h"
#include "collector/daemon/trace_sink.h"
#include "collector/http/access.h"
#include "collector/store/store.h"
#include "common/address.h"
#include "common/cleanup.h"
#include "common/node_name.h"
#include "common/text.h"

/* --- the check -------------------------------------------------------------------------------- */

struct check {
    const struct settings *settings;
    settings_problem_f problem;
    void *arg;
    bool failed;
};

/* The error of a part does not name a line: find the setting of the section that its text names. */
static void report(struct check *check, const char *section, const struct error *why)
{
    const struct setting *setting = settings_find(check->settings, section, why->text);
    struct error error = *why;

    if (setting)
        (void)error_set(&error, 0, "%s:%u: %s", setting->file, setting->line, why->text);
    check->failed = true;
    check->problem(error.text, check->arg);
}

static void check_push(struct check *check, sd_event *loop, const char *node)
{
    const struct metrics_push_options options = {
        .loop = loop, .settings = check->settings, .node = node};
    struct metrics_push *push = NULL;
    struct error error;

    if (metrics_push_create(&push, &options, &error) < 0)
        report(check, "push", &error);
    metrics_push_destroy(push);
}

static void check_sinks(struct check *check)
{
    _free_ char *node = node_name(check->settings->node);
    struct history_sink *sink = NULL;
    struct trace_sink *traces = NULL;
    sd_event *loop = NULL;
    struct error error;
    int r = node ? sd_event_new(&loop) : -ENOMEM;

    if (r < 0) {
        (void)error_errno(&error, r, "cannot make an event loop");
        report(check, "", &error);
        return;
    }
    check_push(check, loop, node);
    if (history_sink_create(&sink, loop, check->settings, NULL, &error) < 0)
        report(check, "history", &error);
    history_sink_destroy(sink);
    if (trace_sink_create(&traces, loop, check->settings, NULL, &error) < 0)
        report(check, "trace", &error);
    trace_sink_destroy(traces);
    if (metrics_check(check->settings, &error) < 0)
        report(check, "metrics", &error);
    if (peer_requests_check(check->settings, &error) < 0)
        report(check, "peers", &error);
    sd_event_unref(loop);
}

/* --- what only the command uses --------------------------------------------------------------- */

static void check_ask(struct check *check)
{
    const char *url = check->settings->ask_url;
    struct error error;
    int r = url ? http_check_url(url, &error) : 0;

    if (r < 0) {
        error_prefix(&error, r, "[ask]");
        report(check, "ask", &error);
    }
}

/* --- addresses -------------------------------------------------------------------------------- */

struct listener {
    const struct setting *setting;
    char *text;
    union address address;
};

/* Each address of the keys `listen`; *ret is NULL if there is no memory. */
static size_t find_listeners(const struct settings *settings, struct listener **ret)
{
    size_t n = 0, max = settings->metrics.listen.n + settings->peers.listen.n;

    *ret = calloc(max + 1, sizeof(**ret));
    for (size_t i = 0; *ret && i < settings->made.n; i++) {
        const struct setting *setting = &settings->made.items[i];
        _free_ char *copy = setting->key->parse == parse_listen ? strdup(setting->value) : NULL;
        char *rest = copy, *word;

        while (n < max && (word = strsep(&rest, " \t,"))) {
            struct listener new = {.setting = setting};
            socklen_t size;

            if (*word && address_parse(word, &new.address, &size, NULL) == 0 &&
                (new.text = strdup(word)))
                (*ret)[n++] = new;
        }
    }
    return n;
}

static void check_pair(struct check *check, const struct listener *first,
                       const struct listener *second)
{
    const struct setting *a = first->setting, *b = second->setting;
    struct error error;

    if (!address_overlaps(&first->address, &second->address))
        return;
    (void)error_set(&error, 0, "%s:%u: [%s] listen: %s is taken by %s of [%s] listen (%s:%u)",
                    b->file, b->line, b->key->section, second->text, first->text, a->key->section,
                    a->file, a->line);
    check->failed = true;
    check->problem(error.text, check->arg);
}

/* jobiod cannot bind the second of two sockets with the same address and port. */
static void check_listeners(struct check *check)
{
    struct listener *listeners;
    size_t n = find_listeners(check->settings, &listeners);

    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            check_pair(check, &listeners[j], &listeners[i]);
    for (size_t i = 0; i < n; i++)
        free(listeners[i].text);
    free(listeners);
}

/* --- the store -------------------------------------------------------------------------------- */

static char *store_path(const struct daemon_options *options)
{
    char *path;

    return asprintf(&path, "%s/jobio.db", options->state_dir) < 0 ? NULL : path;
}

static int check_store(const struct daemon_options *options, struct store_check *ret,
                       struct error *error)
{
    _free_ char *path = store_path(options);

    return path ? store_check(path, ret, error) : error_set(error, -ENOMEM, "no memory");
}

int config_check(const struct settings *settings, const struct daemon_options *options,
                 settings_problem_f problem, void *arg)
{
    struct check check = {.settings = settings, .problem = problem, .arg = arg};
    struct store_check store;
    struct error error;

    check_sinks(&check);
    check_ask(&check);
    check_listeners(&check);
    if (check_store(options, &store, &error) < 0) {
        check.failed = true;
        problem(error.text, arg);
    }
    return check.failed ? -EINVAL : 0;
}

/* --- the description -------------------------------------------------------------------------- */

static void print_setting(const struct setting *setting, void *arg)
{
    const char *section = setting->key->section;

    (void)fprintf(arg, "    %s%s%s%s = %s (%s:%u)\n", *section ? "[" : "", section,
                  *section ? "] " : "", setting->key->name, setting->value, setting->file,
                  setting->line);
}

static void print_store(FILE *out, const struct daemon_options *options)
{
    _free_ char *path = store_path(options);
    struct store_check store = {0};
    struct error error;

    if (check_store(options, &store, &error) < 0)
        return;
    (void)fprintf(out, "store: %s: ", path);
    if (!store.exists)
        (void)fprintf(out, "does not exist, jobiod creates it\n");
    else if (store.version != store.newest)
        (void)fprintf(out, "usable; jobiod updates its tables from version %" PRId64 " to %d\n",
                      store.version, store.newest);
    else
        (void)fprintf(out, "usable\n");
}

/* What this node lacks. jobiod runs without it. */
static void print_missing(FILE *out, const struct settings *settings)
{
    if (!getgrnam(settings->group))
        (void)fprintf(out, "group: there is no group %s: only root sees the jobs of others\n",
                      settings->group);
    if (settings->record != RECORD_OFF && access(settings->record_program, X_OK) < 0)
        (void)fprintf(out, "record: cannot run %s: %s: no job gets a record\n",
                      settings->record_program, strerror(errno));
}

/* Sections that do nothing without a URL, and their keys for which this is not true. */
static const struct {
    const char *section, *others, *effect;
} need_url[] = {
    {"peers", "munge_socket", "each node reports only its own part"},
    {"push", "linger,metrics_user", "nothing is pushed"},
    {"history", "", "no step is sent to a database"},
    {"trace", "allow,rate,max,keep_size", "no trace is delivered"},
};

static bool has_url(const struct settings *settings, const char *section)
{
    for (size_t i = 0; i < settings->made.n; i++) {
        const struct key *key = settings->made.items[i].key;

        if (!strcmp(key->section, section) &&
            (!strcmp(key->name, "url") || !strcmp(key->name, "read_url")))
            return true;
    }
    return false;
}

static void print_unused(FILE *out, const struct settings *settings)
{
    for (size_t i = 0; i < ARRAY_SIZE(need_url); i++) {
        const char *section = need_url[i].section;

        for (size_t j = 0; !has_url(settings, section) && j < settings->made.n; j++) {
            const struct setting *setting = &settings->made.items[j];

            if (strcmp(setting->key->section, section) != 0 ||
                text_list_has(need_url[i].others, setting->key->name))
                continue;
            (void)fprintf(out, "%s:%u: [%s] has no url: %s\n", setting->file, setting->line,
                          section, need_url[i].effect);
            break;
        }
    }
}

void config_describe(FILE *out, const struct settings *settings,
                     const struct daemon_options *options)
{
    static const char *const backends[] = {[BACKEND_AUTO] = "auto: the first of fentry, kprobe and "
                                                            "tp_btf that works on this kernel",
                                           [BACKEND_FENTRY] = "fentry",
                                           [BACKEND_KPROBE] = "kprobe",
                                           [BACKEND_TP_BTF] = "tp_btf"};
    _free_ char *node = node_name(settings->node), *sinks = sink_list(settings);
    struct cluster cluster = {0};
    struct error error;

    if (cluster_find(&cluster, settings, options->state_dir, &error) == 0)
        (void)fprintf(out, "node: %s of cluster %s (%s)\n", node, cluster.name, cluster.source);
    cluster_clear(&cluster);
    (void)fprintf(out, "backend: %s\n", backends[settings->backend]);
    print_store(out, options);
    print_missing(out, settings);
    print_unused(out, settings);
    (void)fprintf(out, "%s\n", sinks ? sinks : "");
    (void)fprintf(out, "settings that are not defaults:%s\n", settings->made.n ? "" : " none");
    settings_each_changed(settings, print_setting, out);
}
