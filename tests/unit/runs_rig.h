/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of a jobiod, with the sampler of sampler_rig.h: FAKES of requests and of the kernel's side
 * of cgroups and processes, and the real thread.
 */
#ifndef JOBIO_TESTS_RUNS_RIG_H
#define JOBIO_TESTS_RUNS_RIG_H

#include "tests/unit/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "collector/daemon/runs.h"

#define USER 1000
#define MOVES 64

struct request {
    uid_t uid;
    pid_t pid;
    unsigned answers;
    uint64_t run;       /* the answer to run-begin */
    uint64_t ago_ns;    /* the end of the command, at the request for the account */
    bool is_incomplete; /* the account */
    double elapsed_s;
    char error[256];
};

struct fakes {
    sd_event *loop;
    struct runs *runs;
    char directory[40];
    pthread_t thread;            /* the main one */
    sem_t started, go;           /* of a wait for the kernel */
    bool moves_wait, drops_wait; /* for `go` */
    unsigned drops;
    pid_t moved[MOVES]; /* in that order */
    size_t n_moved;
    pid_t checked;       /* the number that was checked last; 0: something was done since */
    bool checks_fail;    /* of numbers */
    bool covered_by_job; /* all processes */
    const char *fault;   /* of the thread */
    uid_t namespace_owner;
    bool backend_is_forced;
    bool cgroups_are_gone;
    size_t processes;      /* in the cgroups of runs */
    unsigned checks;       /* of their number */
    unsigned ended_by;     /* after so many checks there is none; 0: never */
    bool peers_are_others; /* processes of another user */
    bool peers_are_gone;   /* processes that have ended */
    bool client_is_other;  /* the same, from its request for the account */
    uint32_t task;         /* the first one that sampler_tasks_f listed last */
    char paths[MOVES][96]; /* of the cgroups, by the number of the process */
    bool paths_are_new;    /* else all processes are in /user */
};
extern struct fakes fakes;

/* Of a test. The teardown fails if a file of a run or a fault of the thread is left. */
int runs_rig_setup(void **state);
int runs_rig_teardown(void **state);

/* A jobiod starts, which adopts the runs of the one before, and stops. */
void start_runs(void);
void stop_runs(void);

/* Request to count a process. strict: see doc/protocol.md. */
void request_run(struct request *request, uid_t uid, pid_t pid, bool strict);
/* The same for a user who cannot count without jobiod. */
void request_start(struct request *request, uid_t uid, pid_t pid);
/* Request the account of its run. */
void request_end(struct request *request);
/* End the run, if it was started. Fails if there is no account. */
void end_run(struct request *request);
/* Run the loop until this request has an answer, at most 10 s. */
void wait_for_answer(const struct request *request);

#endif
