/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc and the cgroup of a job that runs on this node. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/explain/figures.h"
#include "common/call.h"
#include "common/cleanup.h"

struct processes {
    const struct job_account *job;
    unsigned found, denied;
    unsigned own; /* of these, processes of the calling user, which are ending */
    char *cgroup; /* owned; the job's, below the mount of the hierarchy; NULL: not known */
    struct explain_proc_io io;
};

static bool has_variable(const char *environment, size_t size, const char *want)
{
    for (size_t at = 0; at < size; at += strlen(environment + at) + 1)
        if (strcmp(environment + at, want) == 0)
            return true;
    return false;
}

/* The job's part of the cgroup of one of its steps, from a step file of the plugin: not every Slurm
 * has the number of the job in its name. */
static char *cgroup_of_step(int steps, const char *name)
{
    _free_ char *text = NULL;
    char *rest, *line, *end;

    if (figures_slurp(steps, name, &text, NULL) < 0)
        return NULL;
    for (rest = text; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "CGROUP=/", 8) != 0)
            continue;
        end = strstr(line, "/step_");
        if (!end)
            return NULL;
        *end = '\0';
        return strdup(line + 7);
    }
    return NULL;
}

static void find_cgroup(struct processes *p)
{
    _closedir_ DIR *steps = opendir(JOBIO_RUNTIME_DIR "/steps");
    const struct dirent *entry;
    char prefix[16];

    (void)snprintf(prefix, sizeof(prefix), "%" PRIu32 ".", p->job->key.jobid);
    while (steps && !p->cgroup && (entry = readdir(steps)))
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            p->cgroup = cgroup_of_step(dirfd(steps), entry->d_name);
}

static bool is_below(const char *text, const char *cgroup)
{
    const char *at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    size_t n = strlen(cgroup);

    if (!at)
        return false;
    at += strspn(at, "\n") + 3;
    return strncmp(at, cgroup, n) == 0 && (at[n] == '/' || at[n] == '\n');
}

/* By its cgroup; if that is not known, by SLURM_JOB_ID in its environment. */
static bool is_of_job(struct processes *p, int dir)
{
    _free_ char *text = NULL, *environment = NULL, *cgroup = NULL;
    char want[32];
    size_t size;

    if (figures_slurp(dir, "cgroup", &text, NULL) == 0)
        cgroup = explain_parse_cgroup(text, p->job->key.jobid);
    if (text && p->cgroup && is_below(text, p->cgroup))
        return true;
    if (cgroup) {
        if (!p->cgroup)
            p->cgroup = TAKE_PTR(cgroup);
        return true;
    }
    (void)snprintf(want, sizeof(want), "SLURM_JOB_ID=%" PRIu32, p->job->key.jobid);
    return figures_slurp(dir, "environ", &environment, &size) == 0 &&
           has_variable(environment, size, want);
}

/* Slurm's own processes in a job: slurmstepd, and root's sleep in the extern step. */
static bool is_slurms(int dir)
{
    _free_ char *name = NULL, *cgroup = NULL;
    struct stat st;

    if (figures_slurp(dir, "comm", &name, NULL) < 0)
        return false;
    if (strncmp(name, "slurmstepd", 10) == 0)
        return true;
    return strcmp(name, "sleep\n") == 0 && fstat(dir, &st) == 0 && st.st_uid == 0 &&
           figures_slurp(dir, "cgroup", &cgroup, NULL) == 0 && strstr(cgroup, "/step_extern");
}

static void take(struct processes *p, int dir)
{
    _free_ char *text = NULL;
    struct stat st;
    int rc;

    if (!is_of_job(p, dir) || is_slurms(dir))
        return;
    rc = figures_slurp(dir, "io", &text, NULL);
    if (rc == -EACCES || rc == -EPERM) {
        p->denied++;
        p->own += fstat(dir, &st) == 0 && st.st_uid == geteuid();
    } else if (rc == 0 && explain_parse_proc_io(text, &p->io) == 0) {
        p->found++;
    }
}

static int take_all(struct processes *p)
{
    _closedir_ DIR *proc = opendir("/proc");
    const struct dirent *entry;

    if (!proc)
        return -errno;
    while ((entry = readdir(proc))) {
        _close_ int dir = -1;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        dir = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0)
            take(p, dir);
    }
    return 0;
}

/* /proc/PID/io of an ended process belongs to root until its parent has waited for it; then it is
 * part of the parent's. Most parents wait at once. */
static int take_settled(struct processes *p)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int rc, tries = 100;

    do {
        p->found = p->denied = p->own = 0;
        memset(&p->io, 0, sizeof(p->io));
        rc = take_all(p);
    } while (rc == 0 && p->own && tries-- > 0 && nanosleep(&pause, NULL) == 0);
    return rc;
}

static int miss_denied(const struct processes *p, struct figures *figures)
{
    const char *why =
        p->own == p->denied
            ? "only root may read it for processes whose parent has not waited for them yet"
            : "only root and the job's user may read it";
    char text[128];

    (void)snprintf(text, sizeof(text), "%s (%u of %u processes)", why, p->denied,
                   p->denied + p->found);
    return figures_miss(figures, EXPLAIN_PROC_CALLS, NULL, text);
}

static int tell_io(const struct processes *p, struct figures *figures)
{
    int rc;

    if (p->denied)
        return miss_denied(p, figures);
    if (!p->found)
        return figures_miss(figures, EXPLAIN_PROC_CALLS, NULL,
                            "no process of the job is on this node");
    rc = figures_add(figures, EXPLAIN_PROC_CALLS, NULL, p->io.rchar, p->io.wchar);
    return rc < 0
               ? rc
               : figures_add(figures, EXPLAIN_PROC_DISK, NULL, p->io.read_bytes, p->io.write_bytes);
}

static int tell_cgroup(const struct processes *p, struct figures *figures)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    uint64_t read = 0, written = 0;

    for (size_t i = 0; p->cgroup && i < ARRAY_SIZE(mounts); i++) {
        _free_ char *path = NULL, *text = NULL;

        if (asprintf(&path, "%s%s/io.stat", mounts[i], p->cgroup) < 0) {
            path = NULL;
            return -ENOMEM;
        }
        if (figures_slurp(AT_FDCWD, path, &text, NULL) < 0)
            continue;
        explain_parse_io_stat(text, &read, &written);
        return figures_add(figures, EXPLAIN_CGROUP, NULL, read, written);
    }
    return figures_miss(figures, EXPLAIN_CGROUP, NULL,
                        p->cgroup ? "the io controller is off for the job's cgroup"
                                  : "the job has no cgroup (v2) of its own here");
}

int figures_read_processes(const struct job_account *job, struct figures *figures)
{
    struct processes p = {.job = job};
    int rc;

    if (job->ended)
        return figures_miss(figures, EXPLAIN_PROC_CALLS, NULL,
                            "the job has ended, and with it /proc and its cgroup");
    find_cgroup(&p);
    rc = take_settled(&p);
    if (rc < 0)
        rc = figures_miss(figures, EXPLAIN_PROC_CALLS, NULL, strerror(-rc));
    else
        rc = tell_io(&p, figures);
    if (rc == 0 && (p.found || p.denied))
        rc = tell_cgroup(&p, figures);
    free(p.cgroup);
    return rc;
}
