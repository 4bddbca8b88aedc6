/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of runs, shared by runs.c, run_adoption.c, run_end.c, run_files.c, run_start.c and
 * run_removal.c. detach.c reads their files, too. */
#ifndef JOBIO_COLLECTOR_DAEMON_RUNS_IMPL_H
#define JOBIO_COLLECTOR_DAEMON_RUNS_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/cgroup/peer.h"
#include "collector/daemon/runs.h"
#include "collector/store/worker.h"

#define RUNS_MAX 256
#define RUNS_A_USER 16

struct run {
    struct runs *runs;
    struct run *next;
    uint64_t number;
    uid_t uid;
    struct peer_owners owners;
    uint32_t step;
    uint64_t start_ns, start_boot_ns;
    struct hierarchy_leaf leaf;
    char *missed; /* owned; sampler_missed() at its start; NULL: unknown */
    /* Adopted when the process that sent the request had ended: when (CLOCK_BOOTTIME), and the
     * number of processes in its cgroup then. */
    uint64_t orphaned_ns;
    size_t orphans;
    bool starting; /* the thread has it */
    bool over;     /* not counted (any more): only its cgroup exists */
    bool in_maps;  /* over, but its counters are still in the maps */
    int process;
    pid_t client;          /* that requests the account; 0: none */
    struct ending *ending; /* owned; NULL: the account was not requested */
    sd_event_source *watch, *timer;
};

/* The request for the account of a run, while processes that end together with its command may
 * still run. */
struct ending {
    struct run *run;
    struct request *request;
    uint64_t end_ns; /* of the command */
    size_t survivors;
    unsigned tries;
    sd_event_source *timer;
};

struct runs {
    sd_event *loop;
    struct runs_options options;
    struct run *list;
    uint64_t last;
    /* The kernel makes a caller wait who moves a process, removes a cgroup or waits for programs:
     * this thread waits instead of the event loop. */
    struct worker *worker;
    struct hierarchy *hierarchy; /* of the thread */
    sd_event_source *outcomes;
    bool removing; /* the thread has a removal */
    int dir;       /* of the files; -1: none */
};

/* run_start.c */

/* Whether a cgroup is that of the run, or below it. */
bool run_has_path(const struct run *run, const char *path);
/* Takes the descriptor of the process that sent the request. When it has ended, the account can be
 * requested for another minute; then the run ends. */
int run_watch(struct run *run, int process, struct error *error);
/* The same for a process that has ended already. */
int run_start_grace(struct run *run, struct error *error);

/* run_files.c: a file for each run, named by its number. */

/* Returns a descriptor of their directory, or -1. */
int run_files_open(const char *runtime_dir);
/* Best effort. Without the file, the account is lost and the cgroup left behind if jobiod ends
 * before the run. `pid`: the process that sent the request. */
void run_file_write(const struct run *run, pid_t pid);
void run_file_remove(const struct run *run);
/* Read the file `name`: the number and the cgroup of the run and, if the file is complete, its
 * other fields, which the caller frees, and the process that sent the request; otherwise *pid is 0.
 * Returns 0, -ENOMEM, or -EINVAL if it is not the file of a run. */
int run_file_read(int dir, const char *name, struct run *run, pid_t *pid);

/* run_removal.c: the removal of runs that have ended. */

/* The account is given: forget the request for it. Otherwise run_leave() answers it with an error.
 */
void ending_free(struct ending *ending);
/* Stop counting. The counters and the cgroup stay until runs_remove(). */
void run_stop(struct run *run);
/* The same, but the next process continues to count it. */
void run_leave(struct run *run);
/* Take it off the list and free it. */
void run_free(struct run *run);
/* Remove the counters and the empty cgroups of all runs that are over, on the thread. Runs that end
 * meanwhile share the next removal, so many of them cause few waits. */
void runs_remove(struct runs *runs);
/* The same on the caller's thread, after the other one has ended. */
void runs_remove_now(struct runs *runs);

#endif
