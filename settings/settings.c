/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/settings.h"

#include <ctype.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/server.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"

/* inih's own limit, which it would enforce by cutting the line in two. */
#define LINE_MAX_BYTES 198

struct key;
typedef int (*parse_f)(const struct key *key, const char *value, void *field, struct error *error);

struct key {
    const char *section, *name;
    size_t offset;
    parse_f parse;
    uint64_t min, max;
    bool repeats;
};

/* --- values ----------------------------------------------------------------------------------- */

static int set_string(char **field, const char *value, struct error *error)
{
    char *copy = strdup(value);

    if (!copy)
        return error_set(error, -ENOMEM, "no memory");
    free(*field);
    *field = copy;
    return 0;
}

/* A name that goes into labels, URLs and file names. */
static int parse_name(const struct key *key, const char *value, void *field, struct error *error)
{
    size_t n = strlen(value);

    if (n < key->min || n > key->max)
        return error_set(error, -EINVAL, "a name has 1 to %llu characters",
                         (unsigned long long)key->max);
    for (const char *c = value; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return error_set(error, -EINVAL,
                             "\"%s\": a name is made of letters, digits, '.', '_' and '-'", value);
    return set_string(field, value, error);
}

static int parse_path(const struct key *key, const char *value, void *field, struct error *error)
{
    (void)key;
    if (*value != '/')
        return error_set(error, -EINVAL, "\"%s\" is no absolute path", value);
    return set_string(field, value, error);
}

static int parse_text(const struct key *key, const char *value, void *field, struct error *error)
{
    (void)key;
    if (!*value)
        return error_set(error, -EINVAL, "no value");
    return set_string(field, value, error);
}

static int parse_item(const struct key *key, const char *value, void *field, struct error *error)
{
    struct settings_list *list = field;
    char **grown;

    (void)key;
    if (!*value)
        return error_set(error, -EINVAL, "no value");
    grown = realloc(list->items, (list->n + 1) * sizeof(*grown));
    if (!grown)
        return error_set(error, -ENOMEM, "no memory");
    list->items = grown;
    grown[list->n] = strdup(value);
    if (!grown[list->n])
        return error_set(error, -ENOMEM, "no memory");
    list->n++;
    return 0;
}

static int parse_words(const struct key *key, const char *value, void *field, struct error *error)
{
    _free_ char *copy = strdup(value);
    char *rest = copy, *word;
    int r = 0;

    if (!copy)
        return error_set(error, -ENOMEM, "no memory");
    while (!r && (word = strsep(&rest, " \t,")))
        if (*word)
            r = parse_item(key, word, field, error);
    return r;
}

/* Addresses and ports. */
static int parse_listen(const struct key *key, const char *value, void *field, struct error *error)
{
    struct settings_list *list = field;
    size_t n = list->n;
    int r = parse_words(key, value, field, error);

    for (; !r && n < list->n; n++)
        r = http_server_check_address(list->items[n], error);
    return r;
}

static int parse_span(const struct key *key, const char *value, void *field, struct error *error)
{
    uint64_t ns;
    int r = units_parse_span(value, &ns, error);

    if (r < 0)
        return r;
    if (ns < key->min || ns > key->max)
        return error_set(error, -EINVAL, "\"%s\" is not between %g s and %g s", value,
                         (double)key->min / NS_PER_S, (double)key->max / NS_PER_S);
    memcpy(field, &ns, sizeof(ns));
    return 0;
}

static int parse_bytes(const struct key *key, const char *value, void *field, struct error *error)
{
    uint64_t bytes;
    int r = units_parse_bytes(value, &bytes, error);

    if (r < 0)
        return r;
    if (bytes && bytes < key->min)
        return error_set(error, -EINVAL, "\"%s\" is less than %llu bytes", value,
                         (unsigned long long)key->min);
    memcpy(field, &bytes, sizeof(bytes));
    return 0;
}

static int parse_bool(const struct key *key, const char *value, void *field, struct error *error)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

    (void)key;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (!strcasecmp(value, words[i])) {
            *(bool *)field = i % 2;
            return 0;
        }
    return error_set(error, -EINVAL, "\"%s\" is neither yes nor no", value);
}

static const char *const record_names[] = {
    [RECORD_OFF] = "off", [RECORD_DEFERRED] = "deferred", [RECORD_JOB_END] = "job-end"};

const char *settings_record_name(enum settings_record record)
{
    return record_names[record];
}

static int parse_record(const struct key *key, const char *value, void *field, struct error *error)
{
    (void)key;
    for (size_t i = 0; i < ARRAY_SIZE(record_names); i++)
        if (!strcmp(value, record_names[i])) {
            *(enum settings_record *)field = (enum settings_record)i;
            return 0;
        }
    return error_set(error, -EINVAL, "\"%s\" is none of job-end, deferred, off", value);
}

static int parse_backend(const struct key *key, const char *value, void *field, struct error *error)
{
    static const char *const names[] = {[PROBE_NONE] = "auto",
                                        [PROBE_FENTRY] = "fentry",
                                        [PROBE_KPROBE] = "kprobe",
                                        [PROBE_TP_BTF] = "tp_btf"};

    (void)key;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!strcmp(value, names[i])) {
            *(enum probe_backend *)field = (enum probe_backend)i;
            return 0;
        }
    return error_set(error, -EINVAL, "\"%s\" is none of auto, fentry, kprobe, tp_btf", value);
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

static int parse_level(const struct key *key, const char *value, void *field, struct error *error)
{
    int level = log_level_parse(value);

    (void)key;
    if (level < 0)
        return error_set(error, -EINVAL, "\"%s\" is none of error, warning, info, debug", value);
    *(enum log_level *)field = (enum log_level)level;
    return 0;
}

static int parse_count(const struct key *key, const char *value, void *field, struct error *error)
{
    char *end;
    uint64_t number = strtoull(value, &end, 10);

    if (!isdigit((unsigned char)*value) || *end || number < key->min || number > key->max)
        return error_set(error, -EINVAL, "\"%s\" is no number from %llu to %llu", value,
                         (unsigned long long)key->min, (unsigned long long)key->max);
    memcpy(field, &number, sizeof(number));
    return 0;
}

static int parse_batch(const struct key *key, const char *value, void *field, struct error *error)
{
    uint64_t bytes;
    int r = units_parse_bytes(value, &bytes, error);

    if (r < 0)
        return r;
    if (bytes < key->min || bytes > key->max)
        return error_set(error, -EINVAL, "\"%s\" is not between 1K and 64M", value);
    memcpy(field, &bytes, sizeof(bytes));
    return 0;
}

static int parse_format(const struct key *key, const char *value, void *field, struct error *error)
{
    int format = sink_format_parse(value);

    (void)key;
    if (format < 0)
        return error_set(error, -EINVAL, "\"%s\" is neither clickhouse nor bulk", value);
    *(enum sink_format *)field = (enum sink_format)format;
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
    KEY("report", "record_program", record_program, parse_path, 0, 0, false),
    KEY("peers", "listen", peers.listen, parse_item, 0, 0, true),
    KEY("peers", "url", peers.url, parse_text, 0, 0, false),
    KEY("peers", "readers", peers.readers, parse_words, 0, 0, true),
    KEY("peers", "munge_socket", peers.munge_socket, parse_path, 0, 0, false),
    KEY("peers", "timeout", peers.timeout_ns, parse_span, NS_PER_S, 10 * NS_PER_MINUTE, false),
    KEY("push", "url", push.urls, parse_item, 0, 0, true),
    KEY("push", "interval", push.interval_ns, parse_span, NS_PER_S, NS_PER_HOUR, false),
    KEY("push", "linger", push.linger_ns, parse_span, 0, NS_PER_DAY, false),
    KEY("push", "timeout", push.timeout_ns, parse_span, NS_PER_S, 10 * NS_PER_MINUTE, false),
    KEY("push", "metrics_user", metrics_user, parse_bool, 0, 0, false),
    KEY("push", "ca_file", push.ca_file, parse_path, 0, 0, false),
    KEY("push", "cert_file", push.cert_file, parse_path, 0, 0, false),
    KEY("push", "key_file", push.key_file, parse_path, 0, 0, false),
    KEY("push", "credentials", push.credentials, parse_path, 0, 0, false),
    KEY("push", "proxy", push.proxy, parse_text, 0, 0, false),
    KEY("metrics", "listen", metrics.listen, parse_listen, 0, 0, true),
    KEY("metrics", "textfile", metrics.textfile, parse_path, 0, 0, false),
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
    KEY("history", "ca_file", history.ca_file, parse_path, 0, 0, false),
    KEY("history", "cert_file", history.cert_file, parse_path, 0, 0, false),
    KEY("history", "key_file", history.key_file, parse_path, 0, 0, false),
    KEY("history", "credentials", history.credentials, parse_path, 0, 0, false),
    KEY("history", "proxy", history.proxy, parse_text, 0, 0, false),
    KEY("history", "from", history.ask, parse_from, 0, 0, false),
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
    settings->record_program = strdup(JOBIO_LIBEXECDIR "/jobio-record");
    settings->interval_ns = 10 * NS_PER_S;
    settings->keep_ns = 90 * NS_PER_DAY;
    settings->keep_bytes = 256ull << 20;
    settings->metrics_user = true;
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

static void list_clear(struct settings_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
}

void settings_destroy(struct settings *settings)
{
    if (!settings)
        return;
    free(settings->cluster);
    free(settings->node);
    free(settings->group);
    free(settings->record_program);
    list_clear(&settings->fuse_labels);
    list_clear(&settings->peers.listen);
    list_clear(&settings->peers.readers);
    free(settings->peers.url);
    free(settings->peers.munge_socket);
    list_clear(&settings->push.urls);
    free(settings->push.ca_file);
    free(settings->push.cert_file);
    free(settings->push.key_file);
    free(settings->push.credentials);
    free(settings->push.proxy);
    list_clear(&settings->metrics.listen);
    free(settings->metrics.textfile);
    free(settings->history.url);
    free(settings->history.table);
    free(settings->history.parameters);
    free(settings->history.ca_file);
    free(settings->history.cert_file);
    free(settings->history.key_file);
    free(settings->history.credentials);
    free(settings->history.proxy);
    free(settings->history.read_url);
    free(settings->history.read_credentials);
    free(settings->explain.url);
    free(settings->explain.model);
    free(settings->explain.key_file);
    free(settings);
}
DEFINE_CLEANUP(struct settings, settings_destroy)

/* --- the file --------------------------------------------------------------------------------- */

struct loading {
    const char *path;
    FILE *file;
    char *line;
    size_t size;
    struct settings *settings;
    unsigned line_number;
    unsigned set_in[ARRAY_SIZE(keys)]; /* line, for keys that do not repeat */
    int result;                        /* the first failure */
    struct error *error;
};

static int fail(struct loading *l, int code, const char *reason)
{
    if (!l->result)
        l->result = error_set(l->error, code, "%s:%u: %s", l->path, l->line_number, reason);
    return 0; /* what inih takes for a failure */
}

/* inih reads lines through this, so that we know the number of the line and see what it would cut.
 */
static char *read_line(char *buffer, int size, void *stream)
{
    struct loading *l = stream;
    ssize_t n;

    if (l->result)
        return NULL;
    n = getline(&l->line, &l->size, l->file);
    if (n < 0)
        return NULL;
    l->line_number++;
    if (memchr(l->line, '\0', (size_t)n))
        (void)fail(l, -EINVAL, "a NUL byte: this is no text");
    else if (n > LINE_MAX_BYTES || n >= size)
        (void)fail(l, -EINVAL, "a line has at most 197 characters");
    if (l->result)
        return NULL;
    memcpy(buffer, l->line, (size_t)n + 1);
    return buffer;
}

static const struct key *find_key(const char *section, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (!strcmp(section, keys[i].section) && !strcmp(name, keys[i].name))
            return &keys[i];
    return NULL;
}

static int take_value(void *user, const char *section, const char *name, const char *value)
{
    struct loading *l = user;
    const struct key *key = find_key(section, name);
    struct error error;
    int r;

    if (!key) {
        error_set(&error, 0, "unknown key \"%s\"%s%s%s", name, *section ? " in [" : "", section,
                  *section ? "]" : "");
        return fail(l, -EINVAL, error.text);
    }
    if (!key->repeats && l->set_in[key - keys]) {
        error_set(&error, 0, "%s: set already in line %u", name, l->set_in[key - keys]);
        return fail(l, -EINVAL, error.text);
    }
    l->set_in[key - keys] = l->line_number;
    r = key->parse(key, value, (char *)l->settings + key->offset, &error);
    if (r < 0) {
        error_prefix(&error, r, "%s", name);
        return fail(l, r, error.text);
    }
    return 1;
}

int settings_load(struct settings **ret, const char *path, struct error *error)
{
    CLEANUP(settings_destroyp) struct settings *settings = settings_create();
    _fclose_ FILE *file = fopen(path, "re");
    struct loading l = {.path = path, .file = file, .settings = settings, .error = error};
    int r;

    if (!settings)
        return error_set(error, -ENOMEM, "no memory for the configuration");
    if (!file)
        return error_errno(error, -errno, "cannot open %s", path);
    r = ini_parse_stream(read_line, &l, take_value, &l);
    free(l.line);
    if (r > 0 && !l.result) {
        l.line_number = (unsigned)r;
        (void)fail(&l, -EINVAL, "neither [section] nor KEY = VALUE");
    }
    if (!l.result && ferror(file))
        l.result = error_errno(error, -EIO, "cannot read %s", path);
    if (r < 0 && !l.result)
        l.result = error_set(error, -ENOMEM, "no memory for the configuration");
    if (l.result)
        return l.result;
    *ret = TAKE_PTR(settings);
    return 0;
}
