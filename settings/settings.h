/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobio.conf, the settings of a site. doc/jobio.conf.5 explains each key. */
#ifndef JOBIO_SETTINGS_SETTINGS_H
#define JOBIO_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/rows.h"
#include "common/log.h"
#include "report/text/text.h"
#include "settings/file.h"

enum settings_record { RECORD_OFF, RECORD_DEFERRED, RECORD_JOB_END };

/* How the kernel is hooked; see enum probe_backend. */
enum settings_backend { BACKEND_AUTO, BACKEND_FENTRY, BACKEND_KPROBE, BACKEND_TP_BTF };

/* Whether messages of other nodes must come from their addresses; see enum origins_mode. */
enum settings_origin { CHECK_ORIGIN_AUTO, CHECK_ORIGIN_NO, CHECK_ORIGIN_YES };

/* The jobs whose MPI-IO is counted: those that asked for it (--io-mpi), none, all. */
enum settings_mpi { MPI_COUNT_ASKED, MPI_COUNT_NO, MPI_COUNT_YES };

/* The jobs whose stacks are recorded: none, those that asked for it (--io-stacks), all. */
enum settings_stacks { STACKS_SAMPLE_NO, STACKS_SAMPLE_ASKED, STACKS_SAMPLE_YES };

/* Whether metrics name users and accounts. By default not on a page that other hosts can read. */
enum settings_user { METRICS_USER_DEFAULT, METRICS_USER_NO, METRICS_USER_YES };

/* How this node identifies itself to a server, and which server it trusts. NULL: not set. */
struct settings_access {
    char *ca_file, *cert_file, *key_file, *credentials, *proxy;
    bool insecure;
};

/* Strings are owned; NULL where the comment says so. Times in ns. */
struct settings {
    char *cluster;
    char *node; /* NULL: the short host name */
    char *group;
    enum log_level log_level;
    enum summary summary;
    enum settings_record record;
    bool record_mpi; /* with the reads and writes of MPI-IO */
    char *record_program;
    bool job_state; /* learn from Slurm how jobs ended */
    enum settings_mpi mpi_count;
    bool block_count; /* count the requests to disks of all jobs */
    struct {
        enum settings_stacks sample;
        uint64_t min_ns; /* calls from this time on are long */
        uint64_t rate;   /* stacks of a step in a second */
    } stacks;
    struct {
        bool allow;          /* jobs that ask for it (--io-trace) are traced */
        uint64_t rate, max;  /* spans of a step: in a second, and in all */
        uint64_t keep_bytes; /* of the traces of ended steps */
        char *url;           /* of the collector that gets them; NULL: not set */
        uint64_t timeout_ns;
        struct settings_access access;
    } trace;
    uint64_t interval_ns;
    enum settings_backend backend;
    bool services; /* count the services of the node, too */
    uint64_t keep_ns;
    uint64_t keep_bytes;
    struct settings_list fuse_labels;
    enum settings_user metrics_user;
    struct {
        struct settings_list listen, readers;
        char *url, *munge_socket; /* NULL: not set */
        uint64_t timeout_ns;
        enum settings_origin check_origin;
    } peers;
    char *ask_url; /* of a jobiod that users query on hosts without one; NULL: not set */
    struct {
        struct settings_list urls;
        uint64_t interval_ns, linger_ns, timeout_ns;
        struct settings_access access;
    } push;
    struct {
        struct settings_list listen; /* addresses and ports */
        char *textfile;              /* NULL: none */
        char *credentials;           /* for the page; NULL: everyone can read it */
        uint64_t interval_ns;
    } metrics;
    struct {
        char *url, *table, *parameters; /* NULL: not set */
        struct settings_access access;
        char *read_url, *read_credentials; /* NULL: not set */
        enum sink_format format;
        bool bulk_create;     /* action = create, not index */
        bool from_clickhouse; /* `jobio job` and `jobio history` query ClickHouse by default */
        uint64_t delay_ns, timeout_ns, batch_rows, batch_bytes;
    } history;
    struct {
        char *url, *model, *key_file; /* of `jobio explain --llm site`; NULL: not set */
    } explain;
    struct setting_list made; /* what the files set, without what a later file replaced */
};

/* The defaults, then the file, then the files PATH.d/NAME.conf, ordered by name. All or nothing: on
 * an error *ret is unchanged and the text is "FILE:LINE: reason" (-EINVAL), or why a file cannot be
 * read. */
int settings_load(struct settings **ret, const char *path, struct error *error);
/* Who is notified of what is read; each may be NULL. */
struct settings_hooks {
    settings_problem_f problem; /* an error; reading continues, and settings_read() fails */
    void (*file)(const char *path, bool skipped, void *arg); /* skipped: it is for other nodes */
    void *arg;
};
/* The same with hooks. optional: PATH need not exist. */
int settings_read(struct settings **ret, const char *path, bool optional,
                  const struct settings_hooks *hooks, struct error *error);
/* Call `each` for what the files set to another value than the default. */
void settings_each_changed(const struct settings *settings,
                           void (*each)(const struct setting *setting, void *arg), void *arg);
/* What the files set for this key; NULL: nothing. */
const struct setting *settings_get(const struct settings *settings, const char *section,
                                   const char *name);
/* The last setting of this section: of a key that the text names, else any. NULL: none. */
const struct setting *settings_find(const struct settings *settings, const char *section,
                                    const char *text);
/* Only the defaults. NULL: out of memory. */
struct settings *settings_create(void);
void settings_destroy(struct settings *settings); /* NULL is fine */

/* Whether /metrics and the textfile name users and accounts. */
bool settings_page_has_users(const struct settings *settings);

/* "off", "deferred", "job-end". */
const char *settings_record_name(enum settings_record record);

#endif
