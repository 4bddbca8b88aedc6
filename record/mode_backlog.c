/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobio-record --backlog: its options and settings. */
#include "config.h"

#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <ini.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/text.h"
#include "common/units.h"
#include "record/backlog.h"
#include "record/record_impl.h"
#include "record/slurm_compat.h"

#define DEFAULT_URL "http://%n:9418"
#define COUNT_MAX 10000

struct settings {
    struct backlog_options options;
    uint64_t since, unknown, give_up, timeout;
    uint64_t passes, parallel;
    char *cluster, *url; /* NULL: not set */
    const char *config;
};

enum kind { KIND_SPAN, KIND_COUNT, KIND_TEXT, KIND_PATH };

/* The options of the command line that have a value. */
static const struct word {
    const char *name;
    enum kind kind;
    size_t offset;
} words[] = {
    {"since", KIND_SPAN, offsetof(struct settings, since)},
    {"unknown", KIND_SPAN, offsetof(struct settings, unknown)},
    {"give-up", KIND_SPAN, offsetof(struct settings, give_up)},
    {"timeout", KIND_SPAN, offsetof(struct settings, timeout)},
    {"pause", KIND_SPAN, offsetof(struct settings, options.pause_ns)},
    {"host-timeout", KIND_SPAN, offsetof(struct settings, options.host_timeout_ns)},
    {"passes", KIND_COUNT, offsetof(struct settings, passes)},
    {"parallel", KIND_COUNT, offsetof(struct settings, parallel)},
    {"cluster", KIND_TEXT, offsetof(struct settings, cluster)},
    {"url", KIND_TEXT, offsetof(struct settings, url)},
    {"config", KIND_PATH, offsetof(struct settings, config)},
};

static void print_line(const char *line)
{
    fprintf(stderr, "jobio-record: %s\n", line);
}

static int set_text(char **field, const char *value)
{
    return *value && text_replace(field, value) == 0 ? 0 : -EINVAL;
}

static int set(struct settings *settings, const struct word *word, const char *value)
{
    void *field = (char *)settings + word->offset;

    switch (word->kind) {
    case KIND_SPAN:
        return units_parse_span(value, field, NULL);
    case KIND_COUNT:
        return number_parse(value, 1, COUNT_MAX, field);
    case KIND_TEXT:
        return set_text(field, value);
    case KIND_PATH:
        *(const char **)field = value;
        return 0;
    }
    return -EINVAL;
}

static int usage(void)
{
    fputs("usage: jobio-record --backlog [--since SPAN] [--unknown SPAN] [--give-up SPAN]\n"
          "           [--passes N] [--pause SPAN] [--parallel N] [--host-timeout SPAN]\n"
          "           [--timeout SPAN] [--cluster NAME] [--url URL] [--config FILE]\n"
          "           [--dry-run] [JOB...]\n",
          stderr);
    return -EINVAL;
}

static int parse_ids(struct settings *settings, char *argv[], int n)
{
    struct backlog_options *options = &settings->options;
    struct error error;

    options->ids = calloc((size_t)n + 1, sizeof(*options->ids));
    for (int i = 0; options->ids && i < n; i++) {
        if (accounting_parse_id(argv[i], &options->ids[i], &error) < 0) {
            print_line(error.text);
            return -EINVAL;
        }
        options->n_ids++;
    }
    return options->ids ? 0 : -ENOMEM;
}

static int parse(struct settings *settings, int argc, char *argv[])
{
    struct option longs[ARRAY_SIZE(words) + 3] = {{"backlog", no_argument, NULL, 'b'},
                                                  {"dry-run", no_argument, NULL, 'n'}};
    int c, index;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        longs[i + 2] = (struct option){words[i].name, required_argument, NULL, 'w'};
    while ((c = getopt_long(argc, argv, "", longs, &index)) != -1) {
        if (c == 'n')
            settings->options.dry_run = true;
        else if (c == '?' || (c == 'w' && set(settings, &words[index - 2], optarg) < 0))
            return usage();
    }
    return parse_ids(settings, argv + optind, argc - optind);
}

/* The command line was parsed before and takes precedence. */
static int on_setting(void *arg, const char *section, const char *name, const char *value)
{
    struct settings *settings = arg;

    if (!settings->cluster && !*section && !strcmp(name, "cluster"))
        return set_text(&settings->cluster, value) == 0;
    if (!settings->url && !strcmp(section, "peers") && !strcmp(name, "url"))
        return set_text(&settings->url, value) == 0;
    return 1;
}

/* A controller need not have the default file. */
static int read_config(struct settings *settings)
{
    const char *path = settings->config ? settings->config : JOBIO_CONF;
    int r;

    if (!settings->config && access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    r = ini_parse(path, on_setting, settings);
    if (r < 0)
        return fail("%s: %s", path, strerror(errno));
    return r > 0 ? fail("%s:%d: a syntax error", path, r) : 0;
}

static int fill_defaults(struct settings *settings)
{
    struct backlog_options *options = &settings->options;
    struct error error;

    if (!settings->cluster)
        settings->cluster = accounting_cluster(&error);
    if (!settings->cluster)
        return fail("%s", error.text);
    options->cluster = settings->cluster;
    options->url = settings->url ? settings->url : DEFAULT_URL;
    options->since_s = (int64_t)(settings->since / NS_PER_S);
    options->unknown_s = (int64_t)(settings->unknown / NS_PER_S);
    options->give_up_s = (int64_t)(settings->give_up / NS_PER_S);
    options->passes = (unsigned)settings->passes;
    options->parallel = (unsigned)settings->parallel;
    return 0;
}

static int run(struct settings *settings)
{
    struct backlog_counts counts;
    struct error error;
    int r = start_timer(settings->timeout);

    if (r < 0)
        return fail("set a timer: %s", strerror(-r));
    slurm_init(NULL);
    if (read_config(settings) || fill_defaults(settings))
        return EXIT_FAILURE;
    (void)curl_global_init(CURL_GLOBAL_ALL);
    r = backlog_run(&settings->options, &counts, print_line, &error);
    curl_global_cleanup();
    if (r < 0)
        return fail("%s", error.text);
    if (counts.wanted || counts.left)
        printf("%zu jobs in the backlog%s: %zu records written, %zu jobs marked, %zu left\n",
               counts.wanted, settings->options.dry_run ? ", nothing changed" : "", counts.written,
               counts.marked, counts.left);
    return counts.left ? EXIT_LEFT : EXIT_SUCCESS;
}

int mode_backlog(int argc, char *argv[])
{
    struct settings settings = {
        .options = {.pause_ns = 3 * NS_PER_S, .host_timeout_ns = 5 * NS_PER_S},
        .since = NS_PER_DAY,
        .unknown = 10 * NS_PER_MINUTE,
        .give_up = 72000 * NS_PER_S,
        .timeout = 10 * NS_PER_MINUTE,
        .passes = 5,
        .parallel = 64,
    };
    int r = parse(&settings, argc, argv) < 0 ? EXIT_USAGE : run(&settings);

    free(settings.options.ids);
    free(settings.cluster);
    free(settings.url);
    return r;
}
