/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/recorder.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"

/* Limit of children at once: each sends requests to slurmctld. */
#define AT_ONCE 4
#define WAITING_MAX 4096
/* The exit status of jobio-record --nodes and --state for an unknown job. */
#define EXIT_NO_JOB 4
/* Limit of the names of a job's nodes. The largest pipe that root's limit allows by default. */
#define NODES_MAX (1 << 20)
/* Limit of the answer of --state, with what libslurm may print before it. */
#define STATE_MAX 4096

struct job {
    struct recorder *recorder;
    struct job *next;
    uint32_t jobid, restart;
    char *record; /* NULL: a question about the job */
    recorder_done_f done;
    recorder_nodes_f nodes_done;
    char *nodes; /* NULL: not listed */
    recorder_state_f state_done;
    struct slurm_end end;
    void *arg;
    pid_t pid; /* 0: queued */
    int error_fd;
    sd_event_source *child, *timer;
};

struct recorder {
    sd_event *loop;
    char *program;
    unsigned timeout_ms;
    struct job *jobs; /* oldest first */
    size_t n, running;
};

extern char **environ;

static void job_free(struct job *job)
{
    job->child = sd_event_source_disable_unref(job->child);
    job->timer = sd_event_source_disable_unref(job->timer);
    cleanup_close(&job->error_fd);
    free(job->record);
    free(job->nodes);
    free(job);
}

void recorder_destroy(struct recorder *recorder)
{
    if (!recorder)
        return;
    while (recorder->jobs) {
        struct job *job = recorder->jobs;

        recorder->jobs = job->next;
        job_free(job);
    }
    sd_event_unref(recorder->loop);
    free(recorder->program);
    free(recorder);
}

int recorder_create(struct recorder **ret, sd_event *loop, const char *program, unsigned timeout_ms,
                    struct error *error)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));

    if (recorder)
        recorder->program = strdup(program);
    if (!recorder || !recorder->program) {
        free(recorder);
        return error_set(error, -ENOMEM, "no memory for the recorder");
    }
    recorder->loop = sd_event_ref(loop);
    recorder->timeout_ms = timeout_ms ? timeout_ms : 30000;
    *ret = recorder;
    return 0;
}

size_t recorder_pending(const struct recorder *recorder)
{
    return recorder->n;
}

/* --- the child -------------------------------------------------------------------------------- */

/* The record is far smaller than a pipe, so writing it before the child starts never blocks. */
static int fill_pipe(const char *record)
{
    int fds[2];
    size_t size = strlen(record);
    ssize_t n;

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    n = write(fds[1], record, size);
    (void)close(fds[1]);
    if (n < 0 || (size_t)n != size) {
        (void)close(fds[0]);
        return -EMSGSIZE;
    }
    (void)fcntl(fds[0], F_SETFL, 0);
    return fds[0];
}

static int spawn(struct job *job, int in, int out)
{
    char id[16], restart[16], timeout[16];
    char *program = job->recorder->program;
    char *record[] = {program, "--job", id, "--restart", restart, "--timeout", timeout, NULL};
    char *mode = job->nodes_done ? "--nodes" : "--state";
    char *question[] = {program, mode, "--restart", restart, "--timeout", timeout, id, NULL};
    char **argv = job->record ? record : question;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    int r;

    (void)snprintf(id, sizeof(id), "%u", job->jobid);
    (void)snprintf(restart, sizeof(restart), "%u", job->restart);
    (void)snprintf(timeout, sizeof(timeout), "%ums", job->recorder->timeout_ms);
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    r = posix_spawn(&job->pid, argv[0], &actions, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static void start_waiting(struct recorder *recorder);

static void finish(struct job *job, int result, const struct error *error)
{
    struct recorder *recorder = job->recorder;
    struct job **at = &recorder->jobs;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    recorder->n--;
    if (job->nodes_done)
        job->nodes_done(result, job->nodes, error, job->arg);
    else if (job->state_done)
        job->state_done(result, &job->end, error, job->arg);
    else
        job->done(result, error, job->arg);
    job_free(job);
    start_waiting(recorder);
}

/* The first line of the output. */
static void read_words(const struct job *job, struct error *error)
{
    ssize_t n = read(job->error_fd, error->text, sizeof(error->text) - 1);

    error->text[n > 0 ? n : 0] = '\0';
    error->text[strcspn(error->text, "\n")] = '\0';
}

/* The pipe has the complete output. */
static int read_nodes(struct job *job, struct error *error)
{
    ssize_t n;

    job->nodes = calloc(1, NODES_MAX + 1);
    if (!job->nodes)
        return error_set(error, -ENOMEM, "no memory for the nodes of a job");
    n = read(job->error_fd, job->nodes, NODES_MAX);
    job->nodes[n > 0 ? n : 0] = '\0';
    job->nodes[strcspn(job->nodes, "\n")] = '\0';
    return *job->nodes ? 0 : error_set(error, -EIO, "%s printed no nodes", job->recorder->program);
}

/* The line "state FAILED 1:0", behind whatever else libslurm printed. */
static int parse_state(const char *text, struct slurm_end *ret)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        char name[16];
        unsigned code = 0, signal = 0;
        int n;

        line += *line == '\n';
        n = sscanf(line, "state %15[A-Z_] %u:%u", name, &code, &signal);
        if (n < 1 || strncmp(line, "state ", strlen("state ")) != 0)
            continue;
        if (!strcmp(name, "RUNNING") || !strcmp(name, "COMPLETING"))
            return -EAGAIN;
        *ret = (struct slurm_end){slurm_state_parse(name), n == 3, code, signal};
        return ret->state != SLURM_STATE_UNKNOWN ? 0 : -EIO;
    }
    return -EIO;
}

static int read_state(struct job *job, struct error *error)
{
    char text[STATE_MAX];
    ssize_t n = read(job->error_fd, text, sizeof(text) - 1);
    int r;

    text[n > 0 ? n : 0] = '\0';
    r = parse_state(text, &job->end);
    if (r == -EAGAIN)
        return error_set(error, r, "the job has not ended");
    return r < 0 ? error_set(error, r, "%s printed no state", job->recorder->program) : 0;
}

static int on_exit_of_child(sd_event_source *source, const siginfo_t *info, void *arg)
{
    struct job *job = arg;
    struct error error = {""};
    int result = -EIO;

    (void)source;
    job->recorder->running--;
    if (!job->record && info->si_code == CLD_EXITED && info->si_status == 0) {
        result = job->nodes_done ? read_nodes(job, &error) : read_state(job, &error);
        finish(job, result, &error);
        return 0;
    }
    read_words(job, &error);
    if (info->si_code == CLD_EXITED && info->si_status == 0)
        result = 0;
    else if (!job->record && info->si_code == CLD_EXITED && info->si_status == EXIT_NO_JOB)
        result = -ESRCH;
    else if (info->si_code != CLD_EXITED)
        result = error_set(&error, -ETIMEDOUT, "ended by signal %d", info->si_status);
    else if (!*error.text)
        (void)error_set(&error, result, "exit status %d", info->si_status);
    finish(job, result, &error);
    return 0;
}

static int on_late(sd_event_source *source, uint64_t usec, void *arg)
{
    struct job *job = arg;

    (void)source, (void)usec;
    (void)kill(job->pid, SIGKILL);
    return 0;
}

static int on_failure(sd_event_source *source, uint64_t usec, void *arg)
{
    struct job *job = arg;
    struct error error;

    (void)source, (void)usec;
    (void)error_set(&error, 0, "cannot run %s", job->recorder->program);
    finish(job, -ENOENT, &error);
    return 0;
}

static int launch(struct job *job)
{
    _close_ int in = fill_pipe(job->record ? job->record : "");
    int out[2], r;

    if (in < 0)
        return in;
    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    if (job->nodes_done)
        (void)fcntl(out[0], F_SETPIPE_SZ, NODES_MAX);
    r = spawn(job, in, out[1]);
    (void)close(out[1]);
    job->error_fd = out[0];
    if (r < 0) {
        job->pid = -1;
        return r;
    }
    r = sd_event_add_child(job->recorder->loop, &job->child, job->pid, WEXITED, on_exit_of_child,
                           job);
    /* The program has its own time limit; this one is for a program that hangs. */
    if (r >= 0)
        r = sd_event_add_time_relative(job->recorder->loop, &job->timer, CLOCK_MONOTONIC,
                                       (uint64_t)(job->recorder->timeout_ms + 1000) * 1000, 0,
                                       on_late, job);
    if (r < 0) {
        /* Without its event source, it would not be reaped. */
        job->child = sd_event_source_disable_unref(job->child);
        (void)kill(job->pid, SIGKILL);
        (void)waitpid(job->pid, NULL, 0);
        job->pid = -1;
    }
    return r < 0 ? r : 0;
}

static void start_waiting(struct recorder *recorder)
{
    for (struct job *job = recorder->jobs; job && recorder->running < AT_ONCE; job = job->next) {
        if (job->pid)
            continue;
        if (launch(job) == 0) {
            recorder->running++;
            continue;
        }
        /* Report the failure from the loop: recorder_start() must not call back. */
        job->pid = -1;
        (void)sd_event_add_time_relative(recorder->loop, &job->timer, CLOCK_MONOTONIC, 0, 0,
                                         on_failure, job);
    }
}

/* Takes ownership of the job, also on failure. */
static int add_job(struct recorder *recorder, struct job *job, struct error *error)
{
    struct job **last = &recorder->jobs;

    if (recorder->n >= WAITING_MAX) {
        job->error_fd = -1;
        job_free(job);
        return error_set(error, -EAGAIN, "too many records are queued");
    }
    job->recorder = recorder;
    job->error_fd = -1;
    while (*last)
        last = &(*last)->next;
    *last = job;
    recorder->n++;
    start_waiting(recorder);
    return 0;
}

int recorder_start(struct recorder *recorder, uint32_t jobid, uint32_t restart, const char *record,
                   recorder_done_f done, void *arg, struct error *error)
{
    struct job *job = calloc(1, sizeof(*job));

    if (job)
        job->record = strdup(record);
    if (!job || !job->record) {
        free(job);
        return error_set(error, -ENOMEM, "no memory for a record");
    }
    job->jobid = jobid;
    job->restart = restart;
    job->done = done;
    job->arg = arg;
    return add_job(recorder, job, error);
}

static struct job *question_create(uint32_t jobid, uint32_t restart, void *arg)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    job->jobid = jobid;
    job->restart = restart;
    job->arg = arg;
    return job;
}

int recorder_list_nodes(struct recorder *recorder, uint32_t jobid, uint32_t restart,
                        recorder_nodes_f done, void *arg, struct error *error)
{
    struct job *job = question_create(jobid, restart, arg);

    if (!job)
        return error_set(error, -ENOMEM, "no memory for a query");
    job->nodes_done = done;
    return add_job(recorder, job, error);
}

int recorder_ask_state(struct recorder *recorder, uint32_t jobid, uint32_t restart,
                       recorder_state_f done, void *arg, struct error *error)
{
    struct job *job = question_create(jobid, restart, arg);

    if (!job)
        return error_set(error, -ENOMEM, "no memory for a query");
    job->state_done = done;
    return add_job(recorder, job, error);
}
