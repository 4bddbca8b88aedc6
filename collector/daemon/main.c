/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "collector/daemon/cluster.h"
#include "collector/daemon/config_check.h"
#include "collector/daemon/daemon.h"
#include "collector/daemon/detach.h"
#include "collector/stacks/recorder.h"
#include "collector/stacks/unwinder.h"
#include "collector/versions/server.h"
#include "collector/versions/versions.h"
#include "settings/settings.h"
#include "common/call.h"
#include "common/credential.h"
#include "common/log.h"

#define DEFAULT_CONFIG JOBIO_SYSCONFDIR "/jobio.conf"

static const char help[] =
    "usage: jobiod [--config FILE] [--runtime DIR] [--state DIR] [--check-config | --detach]\n"
    "       jobiod --version [--verbose]\n"
    "The collector of jobio: counts the I/O of the jobs on this node. Runs in the foreground.\n"
    "\n"
    "      --config FILE   settings (" DEFAULT_CONFIG ", if it exists)\n"
    "      --runtime DIR   socket and step files (" JOBIO_RUNTIME_DIR ")\n"
    "      --state DIR     the store (" JOBIO_STATEDIR ")\n"
    "      --check-config  check the settings, print what jobiod would do, and exit\n"
    "      --detach        remove the programs and counters of a stopped jobiod from the kernel\n"
    "      --version       print the version; with --verbose also those of the libraries\n"
    "      --help\n"
    "\n"
    "Exit status: 0 stopped by a signal, 1 failed, 2 usage, 78 the settings or the store are "
    "wrong.\n";

struct arguments {
    const char *config;
    struct daemon_options options;
    bool check, detach, version, verbose;
};

static int print_version(bool verbose)
{
    (void)puts("jobiod " PACKAGE_VERSION);
    if (verbose) {
        versions_print(stdout);
        versions_print_server(stdout);
        versions_print_file(stdout, "libmunge", BUILT_MUNGE, credential_library());
        versions_print_line(stdout, "libdw", stack_recorder_built(), stack_recorder_running());
    }
    return fflush(stdout) < 0 || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Returns the exit status; -1: continue. */
static int parse(int argc, char **argv, struct arguments *a)
{
    enum { CONFIG = 256, RUNTIME, STATE, CHECK, DETACH, FOREGROUND, SHOW_VERSION, VERBOSE, HELP };
    static const struct option longs[] = {
        {"config", required_argument, NULL, CONFIG},
        {"runtime", required_argument, NULL, RUNTIME},
        {"state", required_argument, NULL, STATE},
        {"check-config", no_argument, NULL, CHECK},
        {"detach", no_argument, NULL, DETACH},
        {"foreground", no_argument, NULL, FOREGROUND},
        {"version", no_argument, NULL, SHOW_VERSION},
        {"verbose", no_argument, NULL, VERBOSE},
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
        else if (c == DETACH)
            a->detach = true;
        else if (c == SHOW_VERSION)
            a->version = true;
        else if (c == VERBOSE)
            a->verbose = true;
        else if (c == HELP)
            return fputs(help, stdout) < 0;
        else if (c != FOREGROUND)
            return 2;
    }
    if (optind < argc) {
        fprintf(stderr, "jobiod: \"%s\" is not understood (try 'jobiod --help')\n", argv[optind]);
        return 2;
    }
    if (a->verbose && !a->version) {
        fputs("jobiod: --verbose is for --version (try 'jobiod --help')\n", stderr);
        return 2;
    }
    return a->version ? print_version(a->verbose) : -1;
}

static int load(const struct arguments *a, const struct settings_hooks *hooks,
                struct settings **ret, struct error *error)
{
    return settings_read(ret, a->config ? a->config : DEFAULT_CONFIG, !a->config, hooks, error);
}

/* --- the check -------------------------------------------------------------------------------- */

static void print_problem(const char *text, void *arg)
{
    *(bool *)arg = true;
    (void)fprintf(stderr, "%s\n", text);
}

static void print_file(const char *path, bool skipped, void *arg)
{
    (void)arg;
    (void)printf("file: %s%s\n", path, skipped ? " (for other nodes)" : "");
}

/* Returns the exit status. */
static int check(const struct arguments *a)
{
    bool failed = false;
    const struct settings_hooks hooks = {print_problem, print_file, &failed};
    struct settings *settings = NULL;
    struct error error;
    int r = load(a, &hooks, &settings, &error);

    if (r < 0 && !failed)
        print_problem(error.text, &failed);
    if (!r && config_check(settings, &a->options, print_problem, &failed) == 0) {
        config_describe(stdout, settings, &a->options);
        (void)puts("ok");
    }
    settings_destroy(settings);
    return failed ? EX_CONFIG : EXIT_SUCCESS;
}

/* --- the start -------------------------------------------------------------------------------- */

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

/* BTF, the BPF programs and the logs of the verifier take about 17 MiB, only at the start. With
 * this threshold, malloc() uses mmap() for large blocks, so that free() returns them to the system.
 * Small ones are returned by malloc_trim(): without huge pages, because an allocation in what was
 * returned would bring back 2 MiB. */
static void save_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

static int run(const struct arguments *a, struct settings *settings, struct error *error)
{
    struct daemon_options options = a->options;
    struct daemon *daemon = NULL;
    struct cluster cluster;
    char *name;
    int r = cluster_find(&cluster, settings, options.state_dir, error);

    if (r < 0)
        return r;
    name = strdup(cluster.name);
    if (!name) {
        cluster_clear(&cluster);
        return error_set(error, -ENOMEM, "no memory");
    }
    free(settings->cluster);
    settings->cluster = name;
    options.cluster = &cluster;
    r = daemon_create(&daemon, &options, settings, error);
    (void)malloc_trim(0);
    if (!r)
        r = daemon_run(daemon, error);
    daemon_destroy(daemon);
    cluster_clear(&cluster);
    return r;
}

int main(int argc, char **argv)
{
    struct arguments a = {.options = {JOBIO_RUNTIME_DIR, JOBIO_STATEDIR, NULL, NULL}};
    struct settings *settings = NULL;
    struct error error;
    int r;

    if (argc > 1 && !strcmp(argv[1], UNWINDER_ARGUMENT))
        return unwinder_main(argc, argv);
    r = parse(argc, argv, &a);
    if (r >= 0)
        return r;
    log_init("jobiod", LOG_LEVEL_INFO);
    block_signals();
    raise_limits();
    save_memory();
    if (a.check)
        return check(&a);
    if (a.detach) {
        r = detach_instance(&a.options, stdout, &error);
        if (r < 0)
            log_error("%s", error.text);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    r = load(&a, NULL, &settings, &error);
    if (r < 0 && r != -ENOMEM)
        r = -ENOTRECOVERABLE;
    if (!r) {
        log_init("jobiod", settings->log_level);
        r = run(&a, settings, &error);
    }
    settings_destroy(settings);
    if (r < 0)
        log_error("%s", error.text);
    return r == -ENOTRECOVERABLE ? EX_CONFIG : r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
