/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/base/options.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/output.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/text.h"
#include "common/units.h"

#define MAX_OPTIONS 40
#define LONG_BASE 256 /* above every letter */

struct option_table {
    struct option_spec specs[MAX_OPTIONS];
    size_t n;
    struct option longs[MAX_OPTIONS + 1];
    char letters[2 * MAX_OPTIONS + 3];
};

/* Returns has_arg of getopt_long(3). */
static int argument_of(enum option_type type)
{
    return type == OPTION_FLAG   ? no_argument
           : type == OPTION_FORM ? optional_argument
                                 : required_argument;
}

static void table_add(struct option_table *table, const struct option_spec *spec)
{
    size_t i = table->n++, end = strlen(table->letters);

    table->specs[i] = *spec;
    table->longs[i] = (struct option){
        .name = spec->name,
        .has_arg = argument_of(spec->type),
        .val = LONG_BASE + (int)i,
    };
    if (spec->letter)
        (void)snprintf(table->letters + end, sizeof(table->letters) - end, "%c%s", spec->letter,
                       &"::"[2 - argument_of(spec->type)]);
}

static const struct option_spec *table_find(const struct option_table *table, int value)
{
    if (value >= LONG_BASE)
        return &table->specs[value - LONG_BASE];
    for (size_t i = 0; i < table->n; i++) {
        if (table->specs[i].letter == value)
            return &table->specs[i];
    }
    return NULL;
}

int options_number(const char *text, unsigned *ret)
{
    uint64_t value;

    if (number_parse(text, 1, UINT32_MAX, &value) < 0)
        return -EINVAL;
    *ret = (unsigned)value;
    return 0;
}

int options_time(const char *option, const char *text, uint64_t *ret, struct error *error)
{
    int64_t at = 0;

    if (text && units_parse_time(text, (int64_t)time(NULL), &at, error) < 0)
        return error_prefix(error, -EINVAL, "%s", option);
    *ret = at > 0 ? (uint64_t)at * NS_PER_S : 0;
    return 0;
}

int options_period(const char *since, const char *until, uint64_t *since_ns, uint64_t *until_ns,
                   struct error *error)
{
    if (options_time("-S", since, since_ns, error) < 0 ||
        options_time("-E", until, until_ns, error) < 0)
        return -EINVAL;
    if (until && *until_ns <= *since_ns)
        return error_set(error, -EINVAL, "-E \"%s\" is not after -S \"%s\"", until, since);
    return 0;
}

static int append_word(char **list, const char *word, struct error *error)
{
    char *longer = *list ? text_format("%s,%s", *list, word) : strdup(word);

    if (!longer)
        return error_errno(error, -ENOMEM, "read the options");
    free(*list);
    *list = longer;
    return 0;
}

static int option_take(const struct option_spec *spec, char *word, struct error *error)
{
    uint64_t span;

    switch (spec->type) {
    case OPTION_FLAG:
        *(bool *)spec->target = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)spec->target = word;
        return 0;
    case OPTION_FORM:
        *(const char **)spec->target = word ? word : "";
        return 0;
    case OPTION_LIST:
        return append_word(spec->target, word, error);
    case OPTION_U32:
        if (options_number(word, spec->target) < 0)
            return error_set(error, -EINVAL, "--%s \"%s\": must be a whole number of 1 or more",
                             spec->name, word);
        return 0;
    case OPTION_SPAN:
        if (units_parse_span(word, &span, error) < 0)
            return error_prefix(error, -EINVAL, "--%s", spec->name);
        if (span == 0)
            return error_set(error, -EINVAL, "--%s \"%s\": must be above 0", spec->name, word);
        *(uint64_t *)spec->target = span;
        return 0;
    }
    return -EINVAL;
}

/* An unknown long option, perhaps mistyped. `word` begins with "--". */
static int option_unknown(const struct option_table *table, const char *word, struct error *error)
{
    struct text_nearest nearest = {.word = word + 2, .n = strcspn(word + 2, "=")};

    for (size_t i = 0; i < table->n; i++)
        text_nearest_try(&nearest, table->specs[i].name);
    if (nearest.name)
        return error_set(error, -EINVAL, "unknown option \"%s\"; did you mean \"--%s\"?", word,
                         nearest.name);
    return error_set(error, -EINVAL, "unknown option \"%s\"", word);
}

/* Report what getopt_long could not use: a long option is in argv, a letter in optopt. */
static int option_refuse(const struct option_table *table, int found, char **argv,
                         struct error *error)
{
    const struct option_spec *spec = optopt ? table_find(table, optopt) : NULL;

    if (found == ':' && spec)
        return error_set(error, -EINVAL, "option \"%s\" requires an argument", argv[optind - 1]);
    if (spec)
        return error_set(error, -EINVAL, "option \"%s\" does not take an argument",
                         argv[optind - 1]);
    if (optopt)
        return error_set(error, -EINVAL, "unknown option \"-%c\"", optopt);
    return option_unknown(table, argv[optind - 1], error);
}

/* The options that all subcommands have, and those of the flags. */
static void add_common(struct option_table *table, struct cli *cli, unsigned flags, bool *help)
{
    const struct option_spec common[] = {
        {"socket", 0, OPTION_TEXT, &cli->socket},
        {"store", 0, OPTION_TEXT, &cli->store},
        {"no-pager", 0, OPTION_FLAG, &cli->no_pager},
        {"help", 'h', OPTION_FLAG, help},
    };
    const struct option_spec history[] = {
        {"from", 0, OPTION_TEXT, &cli->history.from},
        {"cluster", 0, OPTION_TEXT, &cli->history.cluster},
        {"config", 0, OPTION_TEXT, &cli->history.config},
        {"url", 0, OPTION_TEXT, &cli->history.url},
        {"credentials", 0, OPTION_TEXT, &cli->history.credentials},
    };

    for (size_t i = 0; i < ARRAY_SIZE(common); i++)
        table_add(table, &common[i]);
    for (size_t i = 0; flags & OPTIONS_HISTORY && i < ARRAY_SIZE(history); i++)
        table_add(table, &history[i]);
}

int options_parse(struct cli *cli, const struct option_spec *specs, size_t n, unsigned flags,
                  int argc, char **argv, struct error *error)
{
    bool help = false;
    struct option_table table = {.letters = ""};
    int found;

    (void)snprintf(table.letters, sizeof(table.letters),
                   "%s:", flags & OPTIONS_IN_ORDER ? "+" : "");
    for (size_t i = 0; i < n; i++)
        table_add(&table, &specs[i]);
    add_common(&table, cli, flags, &help);
    opterr = 0;
    optind = 0; /* glibc: reset, and read the "+" again */
    while ((found = getopt_long(argc, argv, table.letters, table.longs, NULL)) != -1) {
        const struct option_spec *spec;
        int rc;

        if (found == '?' || found == ':')
            return option_refuse(&table, found, argv, error);
        spec = table_find(&table, found);
        rc = option_take(spec, optarg, error);
        if (rc < 0)
            return rc;
        if (help)
            return -ECANCELED;
    }
    return optind;
}

bool options_start(struct cli *cli, const struct subcommand *sub, const struct option_spec *specs,
                   size_t n, unsigned flags, int argc, char **argv, int *first, int *status)
{
    struct error error;
    int rc = options_parse(cli, specs, n, flags, argc, argv, &error);

    if (rc >= 0) {
        *first = rc;
        return true;
    }
    if (rc == -ECANCELED) {
        output_text(sub->help);
        *status = CLI_OK;
        return false;
    }
    output_error("%s: %s (try 'jobio %s --help')", sub->name, error.text, sub->name);
    *status = CLI_USAGE;
    return false;
}
