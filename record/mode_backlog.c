/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobio-record --backlog: its options, and what jobio.conf has in their place. */
#include "config.h"

#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
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
#include "settings/settings.h"

#define DEFAULT_URL "http://%n:9418"
#define COUNT_MAX 10000

struct choices {
    struct backlog_options options;
    uint64_t since, unknown, give_up, timeout;
    uint64_t passes, parallel;
    char *cluster, *url; /* NULL: not chosen yet */
    const char *config;
};

enum kind { KIND_SPAN, KIND_COUNT, KIND_TEXT, KIND_PATH };

/* The options of the command line that have a value. */
static const struct word {
    const char *name;
    enum kind kind;
    size_t offset;
} words[] = {
    {"since", KIND_SPAN, offsetof(struct choices, since)},
    {"unknown", KIND_SPAN, offsetof(struct choices, unknown)},
    {"give-up", KIND_SPAN, offsetof(struct choices, give_up)},
    {"timeout", KIND_SPAN, offsetof(struct choices, timeout)},
    {"pause", KIND_SPAN, offsetof(struct choices, options.pause_ns)},
    {"host-timeout", KIND_SPAN, offsetof(struct choices, options.host_timeout_ns)},
    {"passes", KIND_COUNT, offsetof(struct choices, passes)},
    {"parallel", KIND_COUNT, offsetof(struct choices, parallel)},
    {"cluster", KIND_TEXT, offsetof(struct choices, cluster)},
    {"url", KIND_TEXT, offsetof(struct choices, url)},
    {"config", KIND_PATH, offsetof(struct choices, config)},
};

static void print_line(const char *line)
{
    fprintf(stderr, "jobio-record: %s\n", line);
}

static int set_text(char **field, const char *value)
{
    return *value && text_replace(field, value) == 0 ? 0 : -EINVAL;
}

static int set(struct choices *choices, const struct word *word, const char *value)
{
    void *field = (char *)choices + word->offset;

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

static int parse_ids(struct choices *choices, char *argv[], int n)
{
    struct backlog_options *options = &choices->options;
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

static int parse(struct choices *choices, int argc, char *argv[])
{
    struct option longs[ARRAY_SIZE(words) + 3] = {{"backlog", no_argument, NULL, 'b'},
                                                  {"dry-run", no_argument, NULL, 'n'}};
    int c, index;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        longs[i + 2] = (struct option){words[i].name, required_argument, NULL, 'w'};
    while ((c = getopt_long(argc, argv, "", longs, &index)) != -1) {
        if (c == 'n')
            choices->options.dry_run = true;
        else if (c == '?' || (c == 'w' && set(choices, &words[index - 2], optarg) < 0))
            return usage();
    }
    return parse_ids(choices, argv + optind, argc - optind);
}

/* The command line takes precedence. */
static int choose(char **field, const struct settings *conf, const char *section, const char *name)
{
    const struct setting *setting = *field ? NULL : settings_get(conf, section, name);

    return setting && *setting->value ? set_text(field, setting->value) : 0;
}

/* A controller need not have the default file. */
static int read_config(struct choices *choices)
{
    const char *path = choices->config ? choices->config : JOBIO_CONF;
    struct settings *conf;
    struct error error;
    int r;

    if (settings_read(&conf, path, !choices->config, NULL, &error) < 0)
        return fail("%s", error.text);
    r = choose(&choices->cluster, conf, "", "cluster");
    if (r == 0)
        r = choose(&choices->url, conf, "peers", "url");
    settings_destroy(conf);
    return r < 0 ? fail("no memory for the configuration") : 0;
}

static int fill_defaults(struct choices *choices)
{
    struct backlog_options *options = &choices->options;
    struct error error;

    if (!choices->cluster)
        choices->cluster = accounting_cluster(&error);
    if (!choices->cluster)
        return fail("%s", error.text);
    options->cluster = choices->cluster;
    options->url = choices->url ? choices->url : DEFAULT_URL;
    options->since_s = (int64_t)(choices->since / NS_PER_S);
    options->unknown_s = (int64_t)(choices->unknown / NS_PER_S);
    options->give_up_s = (int64_t)(choices->give_up / NS_PER_S);
    options->passes = (unsigned)choices->passes;
    options->parallel = (unsigned)choices->parallel;
    return 0;
}

static int run(struct choices *choices)
{
    struct backlog_counts counts;
    struct error error;
    int r = start_timer(choices->timeout);

    if (r < 0)
        return fail("set a timer: %s", strerror(-r));
    slurm_init(NULL);
    if (read_config(choices) || fill_defaults(choices))
        return EXIT_FAILURE;
    (void)curl_global_init(CURL_GLOBAL_ALL);
    r = backlog_run(&choices->options, &counts, print_line, &error);
    curl_global_cleanup();
    if (r < 0)
        return fail("%s", error.text);
    if (counts.wanted || counts.left)
        printf("%zu jobs in the backlog%s: %zu records written, %zu jobs marked, %zu left\n",
               counts.wanted, choices->options.dry_run ? ", nothing changed" : "", counts.written,
               counts.marked, counts.left);
    return counts.left ? EXIT_LEFT : EXIT_SUCCESS;
}

int mode_backlog(int argc, char *argv[])
{
    struct choices choices = {
        .options = {.pause_ns = 3 * NS_PER_S, .host_timeout_ns = 5 * NS_PER_S},
        .since = NS_PER_DAY,
        .unknown = 10 * NS_PER_MINUTE,
        .give_up = 72000 * NS_PER_S,
        .timeout = 10 * NS_PER_MINUTE,
        .passes = 5,
        .parallel = 64,
    };
    int r = parse(&choices, argc, argv) < 0 ? EXIT_USAGE : run(&choices);

    free(choices.options.ids);
    free(choices.cluster);
    free(choices.url);
    return r;
}
