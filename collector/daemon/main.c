/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/daemon/daemon.h"
#include "settings/settings.h"
#include "common/call.h"
#include "common/log.h"

#define DEFAULT_CONFIG JOBIO_SYSCONFDIR "/jobio.conf"

static const char help[] =
    "usage: jobiod [--config FILE] [--runtime DIR] [--state DIR] [--check-config]\n"
    "The collector of jobio: counts the I/O of the jobs on this node. Runs in the foreground.\n"
    "\n"
    "      --config FILE   settings (" DEFAULT_CONFIG ", if it exists)\n"
    "      --runtime DIR   socket and step files (" JOBIO_RUNTIME_DIR ")\n"
    "      --state DIR     the store (" JOBIO_STATEDIR ")\n"
    "      --check-config  check the settings and exit\n"
    "      --version, --help\n"
    "\n"
    "Exit status: 0 stopped by a signal, 1 failed, 2 usage.\n";

struct arguments {
    const char *config;
    struct daemon_options options;
    bool check;
};

/* Returns the exit status; -1: continue. */
static int parse(int argc, char **argv, struct arguments *a)
{
    enum { CONFIG = 256, RUNTIME, STATE, CHECK, FOREGROUND, SHOW_VERSION, HELP };
    static const struct option longs[] = {
        {"config", required_argument, NULL, CONFIG},
        {"runtime", required_argument, NULL, RUNTIME},
        {"state", required_argument, NULL, STATE},
        {"check-config", no_argument, NULL, CHECK},
        {"foreground", no_argument, NULL, FOREGROUND},
        {"version", no_argument, NULL, SHOW_VERSION},
        {"help", no_argument, NULL, HELP},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == CONFIG)
            a->config = optarg;
        else if (c == RUNTIME)
            a->options.runtime_dir = optarg;
        else if (c == STATE)
            a->options.state_dir = optarg;
        else if (c == CHECK)
            a->check = true;
        else if (c == SHOW_VERSION)
            return puts("jobiod " PACKAGE_VERSION) < 0;
        else if (c == HELP)
            return fputs(help, stdout) < 0;
        else if (c != FOREGROUND)
            return 2;
    }
    if (optind == argc)
        return -1;
    fprintf(stderr, "jobiod: \"%s\" is not understood (try 'jobiod --help')\n", argv[optind]);
    return 2;
}

static int load(const struct arguments *a, struct settings **ret, struct error *error)
{
    if (a->config)
        return settings_load(ret, a->config, error);
    if (access(DEFAULT_CONFIG, F_OK) == 0)
        return settings_load(ret, DEFAULT_CONFIG, error);
    *ret = settings_create();
    return *ret ? 0 : error_set(error, -ENOMEM, "no memory");
}

static void block_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* The soft limit is low only for programs that use select(). */
static void raise_limits(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max < 16384 ? files.rlim_max : 16384;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* BTF and the logs of the verifier take about 12 MiB, only at the start. With this threshold,
 * malloc() uses mmap() for large blocks, so that free() returns them to the system. */
static void return_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

static int run(const struct arguments *a, const struct settings *settings, struct error *error)
{
    struct daemon *daemon = NULL;
    int r;

    if (a->check)
        return daemon_check(settings, error);
    r = daemon_create(&daemon, &a->options, settings, error);
    if (!r)
        r = daemon_run(daemon, error);
    daemon_destroy(daemon);
    return r;
}

int main(int argc, char **argv)
{
    struct arguments a = {.options = {JOBIO_RUNTIME_DIR, JOBIO_STATEDIR, NULL}};
    struct settings *settings = NULL;
    struct error error;
    int r = parse(argc, argv, &a);

    if (r >= 0)
        return r;
    log_init("jobiod", LOG_LEVEL_INFO);
    block_signals();
    raise_limits();
    return_memory();
    r = load(&a, &settings, &error);
    if (!r) {
        log_init("jobiod", settings->log_level);
        r = run(&a, settings, &error);
    }
    settings_destroy(settings);
    if (r < 0)
        log_error("%s", error.text);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
