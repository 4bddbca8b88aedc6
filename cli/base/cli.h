/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every subcommand of `jobio` shares. */
#ifndef JOBIO_CLI_BASE_CLI_H
#define JOBIO_CLI_BASE_CLI_H

#include <stdbool.h>

enum cli_status {
    CLI_OK = 0,
    CLI_FAILED = 1, /* or nothing found */
    CLI_USAGE = 2,
    CLI_RUN_FAILED = 125, /* `jobio run` itself failed: the command was not started */
    CLI_NOT_EXECUTABLE = 126,
    CLI_NOT_FOUND = 127,
};

struct cli {
    const char *socket; /* jobiod's socket */
    const char *store;  /* --store: read this file and ask nobody; else NULL */
    bool no_pager;      /* --no-pager */
    struct {            /* OPTIONS_HISTORY: where the history is */
        const char *from, *config, *url, *credentials, *cluster; /* NULL: not told */
    } history;
};

struct subcommand {
    const char *name;
    const char *summary; /* a few words for `jobio --help` */
    const char *help;    /* the whole text of --help */
    /* argv[0] is the subcommand. Returns the exit status. */
    int (*run)(struct cli *cli, int argc, char **argv);
};

extern const struct subcommand cli_job;
extern const struct subcommand cli_history;
extern const struct subcommand cli_advise;
extern const struct subcommand cli_explain;
extern const struct subcommand cli_array;
extern const struct subcommand cli_compare;
extern const struct subcommand cli_trend;
extern const struct subcommand cli_status;
extern const struct subcommand cli_retire;
extern const struct subcommand cli_run;
extern const struct subcommand cli_top;

/* The subcommand of that name, or NULL. */
const struct subcommand *cli_find(const char *name);

/* All of the command: parse, run, flush. Returns the exit status. */
int cli_main(int argc, char **argv);

#endif
