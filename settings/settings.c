/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "settings/settings.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/address.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/node_name.h"

/* --- words ------------------------------------------------------------------------------------ */

static const char *const record_names[] = {
    [RECORD_OFF] = "off", [RECORD_DEFERRED] = "deferred", [RECORD_JOB_END] = "job-end"};

const char *settings_record_name(enum settings_record record)
{
    return record_names[record];
}

static int parse_record(const struct key *key, const char *value, void *field, struct error *error)
{
    int record = parse_choice(value, record_names, ARRAY_SIZE(record_names), error);

    (void)key;
    if (record < 0)
        return record;
    *(enum settings_record *)field = (enum settings_record)record;
    return 0;
}

static int parse_backend(const struct key *key, const char *value, void *field, struct error *error)
{
    static const char *const names[] = {[BACKEND_AUTO] = "auto",
                                        [BACKEND_FENTRY] = "fentry",
                                        [BACKEND_KPROBE] = "kprobe",
                                        [BACKEND_TP_BTF] = "tp_btf"};
    int backend = parse_choice(value, names, ARRAY_SIZE(names), error);

    (void)key;
    if (backend < 0)
        return backend;
    *(enum settings_backend *)field = (enum settings_backend)backend;
    return 0;
}

static int parse_summary(const struct key *key, const char *value, void *field, struct error *error)
{
    int summary = summary_parse(value);

    (void)key;
    if (summary < 0)
        return error_set(error, -EINVAL, "\"%s\" is none of off, short, full", value);
    *(enum summary *)field = (enum summary)summary;
    return 0;
}

static int parse_format(const struct key *key, const char *value, void *field, struct error *error)
{
    int format = sink_format_parse(value);

    (void)key;
    if (format < 0)
        return error_set(error, -EINVAL, "\"%s\" is none of %s", value, SINK_FORMAT_WORDS);
    *(enum sink_format *)field = (enum sink_format)format;
    return 0;
}

static int parse_user(const struct key *key, const char *value, void *field, struct error *error)
{
    bool yes;
    int r = parse_bool(key, value, &yes, error);

    if (r < 0)
        return r;
    *(enum settings_user *)field = yes ? METRICS_USER_YES : METRICS_USER_NO;
    return 0;
}

static int parse_origin(const struct key *key, const char *value, void *field, struct error *error)
{
    static const char *const names[] = {
        [CHECK_ORIGIN_AUTO] = "auto", [CHECK_ORIGIN_NO] = "no", [CHECK_ORIGIN_YES] = "yes"};
    int origin = parse_choice(value, names, ARRAY_SIZE(names), error);

    (void)key;
    if (origin < 0)
        return origin;
    *(enum settings_origin *)field = (enum settings_origin)origin;
    return 0;
}

static int parse_mpi_count(const struct key *key, const char *value, void *field,
                           struct error *error)
{
    static const char *const names[] = {
        [MPI_COUNT_ASKED] = "asked", [MPI_COUNT_NO] = "no", [MPI_COUNT_YES] = "yes"};
    int count = parse_choice(value, names, ARRAY_SIZE(names), error);

    (void)key;
    if (count < 0)
        return count;
    *(enum settings_mpi *)field = (enum settings_mpi)count;
    return 0;
}

static int parse_sample(const struct key *key, const char *value, void *field, struct error *error)
{
    static const char *const names[] = {
        [STACKS_SAMPLE_NO] = "no", [STACKS_SAMPLE_ASKED] = "asked", [STACKS_SAMPLE_YES] = "yes"};
    int sample = parse_choice(value, names, ARRAY_SIZE(names), error);

    (void)key;
    if (sample < 0)
        return sample;
    *(enum settings_stacks *)field = (enum settings_stacks)sample;
    return 0;
}

/* One of two words: false, true. */
static int parse_either(const char *value, const char *no, const char *yes, bool *field,
                        struct error *error)
{
    if (strcmp(value, no) && strcmp(value, yes))
        return error_set(error, -EINVAL, "\"%s\" is neither %s nor %s", value, no, yes);
    *field = !strcmp(value, yes);
    return 0;
}

static int parse_action(const struct key *key, const char *value, void *field, struct error *error)
{
    (void)key;
    return parse_either(value, "index", "create", field, error);
}

static int parse_from(const struct key *key, const char *value, void *field, struct error *error)
{
    (void)key;
    return parse_either(value, "store", "clickhouse", field, error);
}

/* --- keys ------------------------------------------------------------------------------------- */

#define KEY(section, name, field, ...)                               \
    {                                                                \
        section, name, offsetof(struct settings, field), __VA_ARGS__ \
    }

static const struct key keys[] = {
    KEY("", "cluster", cluster, parse_name, 1, 64, false),
    KEY("", "node", node, parse_name, 1, 255, false),
    KEY("", "group", group, parse_name, 1, 64, false),
    KEY("", "log_level", log_level, parse_level, 0, 0, false),
    KEY("", "interval", interval_ns, parse_span, NS_PER_S / 10, NS_PER_HOUR, false),
    KEY("", "backend", backend, parse_backend, 0, 0, false),
    KEY("", "services", services, parse_bool, 0, 0, false),
    KEY("", "fuse_labels", fuse_labels, parse_words, 0, 0, true),
    KEY("store", "keep", keep_ns, parse_span, 0, 100 * 365 * NS_PER_DAY, false),
    KEY("store", "keep_size", keep_bytes, parse_bytes, 1 << 20, 0, false),
    KEY("report", "summary", summary, parse_summary, 0, 0, false),
    KEY("report", "record", record, parse_record, 0, 0, false),
    KEY("report", "record_mpi", record_mpi, parse_bool, 0, 0, false),
    KEY("report", "record_program", record_program, parse_path, 0, 0, false),
    KEY("report", "job_state", job_state, parse_bool, 0, 0, false),
    KEY("mpi", "count", mpi_count, parse_mpi_count, 0, 0, false),
    KEY("block", "count", block_count, parse_bool, 0, 0, false),
    KEY("stacks", "sample", stacks.sample, parse_sample, 0, 0, false),
    KEY("stacks", "min", stacks.min_ns, parse_span, NS_PER_MS, NS_PER_HOUR, false),
    KEY("stacks", "rate", stacks.rate, parse_count, 1, 10000, false),
    KEY("trace", "allow", trace.allow, parse_bool, 0, 0, false),
    KEY("trace", "rate", trace.rate, parse_count, 1, 100000, false),
    KEY("trace", "max", trace.max, parse_count, 1, 100000, false),
    KEY("trace", "keep_size", trace.keep_bytes, parse_bytes, 1 << 20, 0, false),
    KEY("trace", "url", trace.url, parse_text, 0, 0, false),
    KEY("trace", "timeout", trace.timeout_ns, parse_span, NS_PER_S, 10 * NS_PER_MINUTE, false),
    KEY("trace", "ca_file", trace.access.ca_file, parse_path, 0, 0, false),
    KEY("trace", "cert_file", trace.access.cert_file, parse_path, 0, 0, false),
    KEY("trace", "key_file", trace.access.key_file, parse_path, 0, 0, false),
    KEY("trace", "credentials", trace.access.credentials, parse_path, 0, 0, false),
    KEY("trace", "insecure", trace.access.insecure, parse_bool, 0, 0, false),
    KEY("trace", "proxy", trace.access.proxy, parse_text, 0, 0, false),
    KEY("peers", "listen", peers.listen, parse_listen, 0, 0, true),
    KEY("peers", "url", peers.url, parse_text, 0, 0, false),
    KEY("peers", "readers", peers.readers, parse_words, 0, 0, true),
    KEY("peers", "munge_socket", peers.munge_socket, parse_path, 0, 0, false),
    KEY("peers", "timeout", peers.timeout_ns, parse_span, NS_PER_S, 10 * NS_PER_MINUTE, false),
    KEY("peers", "check_origin", peers.check_origin, parse_origin, 0, 0, false),
    KEY("ask", "url", ask_url, parse_text, 0, 0, false),
    KEY("push", "url", push.urls, parse_item, 0, 0, true),
    KEY("push", "interval", push.interval_ns, parse_span, NS_PER_S, NS_PER_HOUR, false),
    KEY("push", "linger", push.linger_ns, parse_span, 0, NS_PER_DAY, false),
    KEY("push", "timeout", push.timeout_ns, parse_span, NS_PER_S, 10 * NS_PER_MINUTE, false),
    KEY("push", "metrics_user", metrics_user, parse_user, 0, 0, false),
    KEY("push", "ca_file", push.access.ca_file, parse_path, 0, 0, false),
    KEY("push", "cert_file", push.access.cert_file, parse_path, 0, 0, false),
    KEY("push", "key_file", push.access.key_file, parse_path, 0, 0, false),
    KEY("push", "credentials", push.access.credentials, parse_path, 0, 0, false),
    KEY("push", "insecure", push.access.insecure, parse_bool, 0, 0, false),
    KEY("push", "proxy", push.access.proxy, parse_text, 0, 0, false),
    KEY("metrics", "listen", metrics.listen, parse_listen, 0, 0, true),
    KEY("metrics", "textfile", metrics.textfile, parse_path, 0, 0, false),
    KEY("metrics", "credentials", metrics.credentials, parse_path, 0, 0, false),
    KEY("metrics", "interval", metrics.interval_ns, parse_span, NS_PER_S, NS_PER_HOUR, false),
    KEY("history", "url", history.url, parse_text, 0, 0, false),
    KEY("history", "format", history.format, parse_format, 0, 0, false),
    KEY("history", "table", history.table, parse_text, 0, 0, false),
    KEY("history", "action", history.bulk_create, parse_action, 0, 0, false),
    KEY("history", "parameters", history.parameters, parse_text, 0, 0, false),
    KEY("history", "delay", history.delay_ns, parse_span, NS_PER_S / 10, NS_PER_HOUR, false),
    KEY("history", "timeout", history.timeout_ns, parse_span, NS_PER_S, 10 * NS_PER_MINUTE, false),
    KEY("history", "batch_rows", history.batch_rows, parse_count, 1, 10000, false),
    KEY("history", "batch_size", history.batch_bytes, parse_batch, 1 << 10, 64 << 20, false),
    KEY("history", "ca_file", history.access.ca_file, parse_path, 0, 0, false),
    KEY("history", "cert_file", history.access.cert_file, parse_path, 0, 0, false),
    KEY("history", "key_file", history.access.key_file, parse_path, 0, 0, false),
    KEY("history", "credentials", history.access.credentials, parse_path, 0, 0, false),
    KEY("history", "insecure", history.access.insecure, parse_bool, 0, 0, false),
    KEY("history", "proxy", history.access.proxy, parse_text, 0, 0, false),
    KEY("history", "from", history.from_clickhouse, parse_from, 0, 0, false),
    KEY("history", "read_url", history.read_url, parse_text, 0, 0, false),
    KEY("history", "read_credentials", history.read_credentials, parse_path, 0, 0, false),
    KEY("explain", "url", explain.url, parse_text, 0, 0, false),
    KEY("explain", "model", explain.model, parse_text, 0, 0, false),
    KEY("explain", "key_file", explain.key_file, parse_path, 0, 0, false),
};

struct settings *settings_create(void)
{
    struct settings *settings = calloc(1, sizeof(*settings));

    if (!settings)
        return NULL;
    settings->cluster = strdup("cluster");
    settings->group = strdup("jobio");
    settings->log_level = LOG_LEVEL_INFO;
    settings->summary = SUMMARY_SHORT;
    settings->record = RECORD_JOB_END;
    settings->job_state = true;
    settings->record_program = strdup(JOBIO_LIBEXECDIR "/jobio-record");
    settings->stacks.min_ns = NS_PER_MS;
    settings->stacks.rate = 100;
    settings->trace.rate = 5000;
    settings->trace.max = 20000;
    settings->trace.keep_bytes = 256ull << 20;
    settings->trace.timeout_ns = 30 * NS_PER_S;
    settings->interval_ns = 10 * NS_PER_S;
    settings->keep_ns = 90 * NS_PER_DAY;
    settings->keep_bytes = 256ull << 20;
    settings->peers.timeout_ns = 10 * NS_PER_S;
    settings->push.interval_ns = NS_PER_MINUTE;
    settings->push.linger_ns = 5 * NS_PER_MINUTE;
    settings->push.timeout_ns = 15 * NS_PER_S;
    settings->metrics.interval_ns = NS_PER_MINUTE;
    settings->history.delay_ns = 5 * NS_PER_S;
    settings->history.timeout_ns = 30 * NS_PER_S;
    settings->history.batch_rows = 1000;
    settings->history.batch_bytes = 1 << 20;
    if (settings->cluster && settings->group && settings->record_program)
        return settings;
    settings_destroy(settings);
    return NULL;
}

static void access_clear(struct settings_access *access)
{
    free(access->ca_file);
    free(access->cert_file);
    free(access->key_file);
    free(access->credentials);
    free(access->proxy);
}

void settings_destroy(struct settings *settings)
{
    if (!settings)
        return;
    free(settings->cluster);
    free(settings->node);
    free(settings->group);
    free(settings->record_program);
    free(settings->trace.url);
    access_clear(&settings->trace.access);
    settings_list_clear(&settings->fuse_labels);
    settings_list_clear(&settings->peers.listen);
    settings_list_clear(&settings->peers.readers);
    free(settings->peers.url);
    free(settings->peers.munge_socket);
    free(settings->ask_url);
    settings_list_clear(&settings->push.urls);
    access_clear(&settings->push.access);
    settings_list_clear(&settings->metrics.listen);
    free(settings->metrics.textfile);
    free(settings->metrics.credentials);
    free(settings->history.url);
    free(settings->history.table);
    free(settings->history.parameters);
    access_clear(&settings->history.access);
    free(settings->history.read_url);
    free(settings->history.read_credentials);
    free(settings->explain.url);
    free(settings->explain.model);
    free(settings->explain.key_file);
    setting_list_clear(&settings->made);
    free(settings);
}
DEFINE_CLEANUP(struct settings, settings_destroy)

bool settings_page_has_users(const struct settings *settings)
{
    const struct settings_list *listen = &settings->metrics.listen;
    union address address;
    socklen_t size;

    if (settings->metrics_user != METRICS_USER_DEFAULT)
        return settings->metrics_user == METRICS_USER_YES;
    for (size_t i = 0; i < listen->n; i++)
        if (address_parse(listen->items[i], &address, &size, NULL) < 0 ||
            !address_is_loopback(&address))
            return false;
    return true;
}

/* --- the files -------------------------------------------------------------------------------- */

static void note_file(const struct settings_hooks *hooks, const char *path, bool skipped)
{
    if (hooks && hooks->file)
        hooks->file(path, skipped, hooks->arg);
}

static int is_conf(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return entry->d_name[0] != '.' && n > 5 && !strcmp(entry->d_name + n - 5, ".conf");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* independent of the locale */
}

static int read_one(const char *path, struct settings_reader *reader,
                    const struct settings_hooks *hooks, struct error *error)
{
    struct error why;
    int r = settings_file_read(path, reader, &why);

    if (r < 0 && !*error->text)
        *error = why;
    if (r < 0 && r != -EINVAL && reader->problem)
        reader->problem(why.text, reader->arg);
    note_file(hooks, path, reader->skipped);
    return r;
}

/* Every error is found if there is a hook for problems. */
static int read_directory(const char *path, struct settings_reader *reader,
                          const struct settings_hooks *hooks, struct error *error)
{
    _free_ char *directory = NULL;
    struct dirent **names = NULL;
    int n, result = 0;

    if (asprintf(&directory, "%s.d", path) < 0) {
        directory = NULL;
        return error_set(error, -ENOMEM, "no memory for the configuration");
    }
    n = scandir(directory, &names, is_conf, by_name);
    if (n < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (n < 0)
        return error_errno(error, -errno, "cannot read %s", directory);
    for (int i = 0; i < n; i++) {
        char file[PATH_MAX];

        (void)snprintf(file, sizeof(file), "%s/%s", directory, names[i]->d_name);
        free(names[i]);
        if (!result || reader->problem) {
            int r = read_one(file, reader, hooks, error);

            result = result ? result : r;
        }
    }
    free(names);
    return result;
}

static int read_files(struct settings *settings, const char *path, bool optional,
                      struct settings_reader *reader, const struct settings_hooks *hooks,
                      struct error *error)
{
    _free_ char *node = NULL;
    int r = 0, more;

    *error = (struct error){""};
    if (!optional || access(path, F_OK) == 0)
        r = read_one(path, reader, hooks, error);
    if (r < 0 && !reader->problem)
        return r;
    reader->spare = settings_create();
    reader->node = node = node_name(settings->node);
    if (!reader->spare || !node) {
        settings_destroy(reader->spare);
        return error_set(error, -ENOMEM, "no memory for the configuration");
    }
    more = read_directory(path, reader, hooks, error);
    settings_destroy(reader->spare);
    return r < 0 ? r : more;
}

int settings_read(struct settings **ret, const char *path, bool optional,
                  const struct settings_hooks *hooks, struct error *error)
{
    CLEANUP(settings_destroyp) struct settings *settings = settings_create();
    struct settings_reader reader = {.keys = keys, .n_keys = ARRAY_SIZE(keys)};
    struct error unread;
    int r;

    if (!error)
        error = &unread;
    if (!settings)
        return error_set(error, -ENOMEM, "no memory for the configuration");
    reader.target = settings;
    reader.problem = hooks ? hooks->problem : NULL;
    reader.arg = hooks ? hooks->arg : NULL;
    r = read_files(settings, path, optional, &reader, hooks, error);
    settings->made = reader.made;
    if (r < 0)
        return r;
    *ret = TAKE_PTR(settings);
    return 0;
}

int settings_load(struct settings **ret, const char *path, struct error *error)
{
    return settings_read(ret, path, false, NULL, error);
}

/* --- what the files set ----------------------------------------------------------------------- */

static bool differs(const struct key *key, const struct settings *a, const struct settings *b)
{
    const void *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;
    const char *s, *t;

    if (key->repeats)
        return ((const struct settings_list *)x)->n > 0;
    if (key->parse == parse_name || key->parse == parse_path || key->parse == parse_text) {
        memcpy(&s, x, sizeof(s));
        memcpy(&t, y, sizeof(t));
        return !s != !t || (s && strcmp(s, t) != 0);
    }
    if (key->parse == parse_span || key->parse == parse_bytes || key->parse == parse_batch ||
        key->parse == parse_count)
        return memcmp(x, y, sizeof(uint64_t)) != 0;
    if (key->parse == parse_bool || key->parse == parse_action || key->parse == parse_from)
        return *(const bool *)x != *(const bool *)y;
    return memcmp(x, y, sizeof(int)) != 0; /* an enum */
}

void settings_each_changed(const struct settings *settings,
                           void (*each)(const struct setting *setting, void *arg), void *arg)
{
    struct settings *defaults = settings_create();

    for (size_t i = 0; i < settings->made.n; i++)
        if (!defaults || differs(settings->made.items[i].key, settings, defaults))
            each(&settings->made.items[i], arg);
    settings_destroy(defaults);
}

const struct setting *settings_get(const struct settings *settings, const char *section,
                                   const char *name)
{
    for (size_t i = 0; i < settings->made.n; i++) {
        const struct setting *setting = &settings->made.items[i];

        if (!strcmp(setting->key->section, section) && !strcmp(setting->key->name, name))
            return setting;
    }
    return NULL;
}

const struct setting *settings_find(const struct settings *settings, const char *section,
                                    const char *text)
{
    const struct setting *found = NULL;

    for (size_t i = 0; i < settings->made.n; i++) {
        const struct setting *setting = &settings->made.items[i];

        if (strcmp(setting->key->section, section) != 0)
            continue;
        if (strstr(text, setting->key->name))
            return setting;
        found = setting;
    }
    return found;
}
