/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/job_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

/* How long the file of an ended run is kept. While the credential of the last run is valid (2
 * minutes by default), slurmd may not call the prolog for the next run, and the plugin takes the
 * restart count from this file. */
#define JOB_FILE_SECONDS (15 * 60)
#define JOB_SWEEP_INTERVAL NS_PER_MINUTE

static struct message *read_file(const struct tracker *tracker, uint32_t jobid)
{
    _free_ struct message *m = malloc(sizeof(*m));
    char name[16];

    (void)snprintf(name, sizeof(name), "%u", jobid);
    if (!m || tracker->jobs_fd < 0 || tag_read_file(tracker->jobs_fd, name, "job", m, NULL) < 0)
        return NULL;
    return TAKE_PTR(m);
}

/* The job's file, as a message; NULL: there is none. */
static struct message *read_job_file(const struct job *job)
{
    return read_file(job->tracker, job->sum->key.jobid);
}

static uint32_t count_names(const char *list)
{
    uint32_t n = 1;

    for (const char *at = list; (at = strchr(at, ',')); at++)
        n++;
    return n;
}

/* The file is that of another run of the job. */
static bool is_of_other_run(const struct message *m, const struct job_key *key)
{
    uint64_t restart;

    return message_get_u64(m, "RESTART", UINT32_MAX, key->restart, &restart, NULL) < 0 ||
           restart != key->restart;
}

struct message *job_file_of(const struct tracker *tracker, const struct job_key *key)
{
    _free_ struct message *m = read_file(tracker, key->jobid);

    return m && !is_of_other_run(m, key) ? TAKE_PTR(m) : NULL;
}

/* NODE is Slurm's name of this node, which may differ from ours. The job's NODELIST is needed
 * because a step on some of the nodes does not know how many the job has. */
void job_file_read_nodes(struct job *job)
{
    _free_ struct message *m = read_job_file(job);
    const char *node = m ? message_get(m, "NODE") : NULL;
    const char *first = m ? message_get(m, "GATHER") : NULL;
    const char *nodes = m ? message_get(m, "NODELIST") : NULL;

    if (!node || !first || is_of_other_run(m, &job->sum->key))
        return;
    if (strcmp(node, first) != 0 && !job->first_node)
        job->first_node = strdup(first); /* best effort, as below */
    if (nodes && count_names(nodes) > job->sum->nodes_expected)
        job->sum->nodes_expected = count_names(nodes);
    if (nodes && strchr(nodes, ',') && !job->nodes)
        job->nodes = strdup(nodes);
}

void job_file_count_nodes(struct job *job)
{
    uint32_t n = job->nodes ? count_names(job->nodes) : 0;

    if (n > job->sum->nodes_expected)
        job->sum->nodes_expected = n;
}

static void set_text(char **field, const char *value)
{
    if (value && *value)
        (void)text_replace(field, value);
}

void job_files_describe(struct tracker *tracker, uint32_t jobid, const char *user,
                        const char *account, const char *partition)
{
    for (size_t i = 0; i < tracker->jobs.n; i++) {
        struct job_account *sum = tracker->jobs.items[i]->sum;

        if (sum->key.jobid != jobid)
            continue;
        tracker->jobs.items[i]->described = true;
        job_file_read_nodes(tracker->jobs.items[i]);
        set_text(&sum->user, user);
        set_text(&sum->account, account);
        set_text(&sum->partition, partition);
    }
}

void job_file_read(struct job *job)
{
    struct job_account *sum = job->sum;
    _free_ struct message *m = NULL;

    if (job->described || sum->account)
        return;
    m = read_job_file(job);
    if (!m)
        return;
    job->described = true;
    job_files_describe(job->tracker, sum->key.jobid, message_get(m, "USER"),
                       message_get(m, "ACCOUNT"), message_get(m, "PARTITION"));
}

void job_file_remove(struct tracker *tracker, uint32_t jobid, uint32_t restart)
{
    _free_ struct message *m = malloc(sizeof(*m));
    uint64_t file_restart;
    char name[16];

    for (size_t i = 0; i < tracker->jobs.n; i++)
        if (tracker->jobs.items[i]->sum->key.jobid == jobid)
            return;
    (void)snprintf(name, sizeof(name), "%u", jobid);
    if (m && tag_read_file(tracker->jobs_fd, name, "job", m, NULL) == 0 &&
        message_get_u64(m, "RESTART", UINT32_MAX, 0, &file_restart, NULL) == 0 &&
        file_restart <= restart && !message_get(m, "ENDED"))
        (void)unlinkat(tracker->jobs_fd, name, 0);
}

/* Last changed long ago, or in the future (the clock was set back since). */
static bool is_old(int dir_fd, const char *name)
{
    time_t now = time(NULL);
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (now - st.st_mtime > JOB_FILE_SECONDS || st.st_mtime - now > JOB_FILE_SECONDS);
}

static bool has_ended(int dir_fd, const char *name)
{
    _free_ struct message *m = malloc(sizeof(*m));

    return m && tag_read_file(dir_fd, name, "job", m, NULL) == 0 && message_get(m, "ENDED");
}

void job_files_sweep(struct tracker *tracker)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    _closedir_ DIR *dir = NULL;
    struct dirent *entry;

    if (tracker->jobs_swept_ns && now - tracker->jobs_swept_ns < JOB_SWEEP_INTERVAL)
        return;
    tracker->jobs_swept_ns = now;
    dir = tag_open_dir(tracker->jobs_fd);
    while (dir && (entry = readdir(dir)))
        if (is_old(tracker->jobs_fd, entry->d_name) && has_ended(tracker->jobs_fd, entry->d_name))
            (void)unlinkat(tracker->jobs_fd, entry->d_name, 0);
}
