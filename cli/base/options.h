/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options as tables over getopt_long. */
#ifndef JOBIO_CLI_BASE_OPTIONS_H
#define JOBIO_CLI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/cli.h"
#include "common/error.h"

enum option_type {
    OPTION_FLAG, /* bool * */
    OPTION_TEXT, /* const char **, points into argv */
    OPTION_FORM, /* the same of --NAME=TEXT; "" of --NAME */
    OPTION_LIST, /* char **, NULL or malloc'd: the arguments of all of them, separated by commas */
    OPTION_U32,  /* uint32_t *, from 1 */
    OPTION_SPAN, /* uint64_t *, ns: "10s", "500ms", a bare number is seconds; never 0 */
};

struct option_spec {
    const char *name; /* "json" for --json */
    char letter;      /* 'u' for -u, 0: none */
    enum option_type type;
    void *target; /* written if the option is given */
};

enum {
    OPTIONS_IN_ORDER = 1 << 0, /* stop at the first argument that is not an option */
    OPTIONS_HISTORY = 1 << 1,  /* --from and the options for it */
};

/* The help on --socket and --store, and on OPTIONS_HISTORY. */
#define OPTIONS_HELP                                                                        \
    "      --socket PATH     jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n" \
    "      --store PATH      read this store; do not ask jobiod\n"
#define OPTIONS_HELP_HISTORY                                                                     \
    OPTIONS_HELP                                                                                 \
    "      --from WHERE      store (of this node) or clickhouse (of all; see jobio.conf(5))\n"   \
    "      --cluster NAME    with clickhouse: of this cluster, or all (default: jobio.conf's)\n" \
    "      --url URL         with clickhouse: ask this one\n"                                    \
    "      --credentials FILE  with clickhouse: user:password\n"                                 \
    "      --config FILE     jobio.conf\n"

/* Parse argv[1...] by the table and by the options that all subcommands have: --socket, --store,
 * --no-pager, --help. Returns the index of the first argument that is not an option (they are moved
 * after the options unless OPTIONS_IN_ORDER); -ECANCELED: --help was given; -EINVAL with text. */
int options_parse(struct cli *cli, const struct option_spec *specs, size_t n, unsigned flags,
                  int argc, char **argv, struct error *error);

/* A plain decimal number from 1 to 2^32-1; 0 or -EINVAL. */
int options_number(const char *text, unsigned *ret);

/* Parse the argument of an option that is a time; `option` names it in errors. *ret: ns since 1970;
 * 0 for NULL and for earlier times. -EINVAL with text. */
int options_time(const char *option, const char *text, uint64_t *ret, struct error *error);

/* Parse -S and -E as options_time(); the second must be after the first. */
int options_period(const char *since, const char *until, uint64_t *since_ns, uint64_t *until_ns,
                   struct error *error);

/* options_parse() for a subcommand: also prints its help or the error. True: continue with the
 * arguments from *first; false: exit with *status. */
bool options_start(struct cli *cli, const struct subcommand *sub, const struct option_spec *specs,
                   size_t n, unsigned flags, int argc, char **argv, int *first, int *status);

#endif
