/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all subcommands of `jobio` share. */
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
    struct {            /* of another host, used instead of the socket; NULL: none */
        const char *url, *munge_socket;
    } remote;
    const char *store; /* --store: read this file only; else NULL */
    bool no_pager;     /* --no-pager */
    struct {           /* OPTIONS_HISTORY: where the history is */
        const char *from, *config, *url, *credentials, *cluster; /* NULL: not given */
    } history;
};

struct subcommand {
    const char *name;
    const char *summary; /* a few words for `jobio --help` */
    const char *help;    /* text of --help */
    /* argv[0] is the subcommand. Returns the exit status. */
    int (*run)(struct cli *cli, int argc, char **argv);
};

#endif
