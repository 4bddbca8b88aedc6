/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rate SOCKET CGROUP DIR RATE SECONDS: steps that start at this rate, each with its own cgroup
 * below CGROUP (a path below the v2 hierarchy), a process that writes a file in DIR, and an end; a
 * job has ten steps. Prints how long jobiod took to answer their tags and ends. A step makes
 * STEP_WRITES writes of STEP_BYTES.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/call.h"
#include "common/cleanup.h"

#define STEPS_A_JOB 10
#define FIRST_JOB 1000
#define STEP_WRITES 10
#define STEP_BYTES 100

struct step {
    pid_t pid;
    double tag_s, end_s; /* < 0: no answer */
    bool failed;
};

static const char *socket_path, *hierarchy, *group, *dir;
static struct step *steps; /* shared with the children */
static unsigned long n_steps;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double tell(struct message *m)
{
    uint64_t began = clock_ns(CLOCK_MONOTONIC);
    struct error error;

    if (call(socket_path, m, 10000, &error) < 0) {
        (void)fprintf(stderr, "rate: %s\n", error.text);
        return -1;
    }
    return (double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e9;
}

static unsigned level_of(const char *path)
{
    unsigned level = 0;

    for (; *path; path++)
        level += *path == '/';
    return level;
}

static double tag(unsigned long i, const char *path, const struct stat *st)
{
    static struct message m;

    message_init(&m, "tag");
    (void)message_put_u64(&m, "JOBID", FIRST_JOB + i / STEPS_A_JOB);
    (void)message_put_u64(&m, "STEP", i % STEPS_A_JOB);
    (void)message_put_u64(&m, "UID", 0);
    (void)message_put(&m, "CGROUP", path);
    (void)message_put_u64(&m, "CGROUP_ID", st->st_ino);
    (void)message_put_u64(&m, "CGROUP_LEVEL", level_of(path));
    (void)message_put_u64(&m, "CGROUP_VERSION", 2);
    (void)message_put_u64(&m, "TAGGED_AT", clock_ns(CLOCK_REALTIME));
    (void)message_put_u64(&m, "TAGGED_BOOT", clock_ns(CLOCK_BOOTTIME));
    (void)message_put_u64(&m, "NODES", 1);
    return tell(&m);
}

static double end(unsigned long i)
{
    static struct message m;

    message_init(&m, "end");
    (void)message_put_u64(&m, "JOBID", FIRST_JOB + i / STEPS_A_JOB);
    (void)message_put_u64(&m, "STEP", i % STEPS_A_JOB);
    (void)message_put_u64(&m, "ENDED_AT", clock_ns(CLOCK_REALTIME));
    (void)message_put_u64(&m, "ENDED_BOOT", clock_ns(CLOCK_BOOTTIME));
    return tell(&m);
}

static void end_job(unsigned long job)
{
    static struct message m;

    message_init(&m, "job-end");
    (void)message_put_u64(&m, "JOBID", FIRST_JOB + job);
    (void)tell(&m);
}

/* The user's code. */
static int work(unsigned long i, const char *directory)
{
    char path[600], block[STEP_BYTES] = "";
    int fd;

    snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        return 1;
    snprintf(path, sizeof(path), "%s/%lu", dir, i);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (int n = 0; n < STEP_WRITES; n++)
        if (fd < 0 || pwrite(fd, block, sizeof(block), 0) != sizeof(block))
            return 1;
    (void)unlink(path);
    return 0;
}

/* The part of slurmstepd. */
static int live(unsigned long i)
{
    char path[256], directory[512];
    struct stat st;
    int status = 1;
    pid_t pid;

    snprintf(path, sizeof(path), "%s/%lu", group, i);
    snprintf(directory, sizeof(directory), "%s%s", hierarchy, path);
    if (mkdir(directory, 0755) < 0 || stat(directory, &st) < 0)
        return 1;
    steps[i].tag_s = tag(i, path, &st);
    pid = fork();
    if (pid == 0)
        _exit(work(i, directory));
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    steps[i].end_s = end(i);
    for (int n = 0; rmdir(directory) < 0 && n < 1000; n++)
        usleep(1000);
    return status != 0 || steps[i].tag_s < 0 || steps[i].end_s < 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void reap(bool wait, unsigned *left)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) > 0)
        for (unsigned long i = 0; i < n_steps; i++) {
            if (steps[i].pid != pid)
                continue;
            steps[i].failed = status != 0;
            if (--left[i / STEPS_A_JOB] == 0)
                end_job(i / STEPS_A_JOB);
            break;
        }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print(const char *what, size_t offset)
{
    _free_ double *took = calloc(n_steps, sizeof(*took));

    for (unsigned long i = 0; took && i < n_steps; i++)
        took[i] = *(const double *)((const char *)&steps[i] + offset) * 1e3;
    if (!took)
        return;
    qsort(took, n_steps, sizeof(*took), compare);
    printf("%-24s median %.2f ms, p99 %.2f ms, longest %.2f ms\n", what, took[n_steps / 2],
           took[n_steps * 99 / 100], took[n_steps - 1]);
}

static const char *find_hierarchy(void)
{
    static char mount[256];
    _fclose_ FILE *f = fopen("/proc/self/mounts", "re");
    char line[4096], type[64];

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "%*s %255s %63s", mount, type) == 2 && strcmp(type, "cgroup2") == 0)
            return mount;
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long rate = argc == 6 ? strtoul(argv[4], NULL, 10) : 0, failed = 0;
    _free_ unsigned *left = NULL;
    uint64_t began;
    pid_t pid;

    hierarchy = find_hierarchy();
    if (argc != 6 || !rate || !hierarchy)
        return 2;
    socket_path = argv[1];
    group = argv[2];
    dir = argv[3];
    n_steps = rate * strtoul(argv[5], NULL, 10) / STEPS_A_JOB * STEPS_A_JOB;
    left = calloc(n_steps / STEPS_A_JOB + 1, sizeof(*left));
    steps = mmap(NULL, n_steps * sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    if (!left || steps == MAP_FAILED)
        return 1;
    for (unsigned long i = 0; i < n_steps; i++)
        left[i / STEPS_A_JOB]++;
    began = clock_ns(CLOCK_MONOTONIC);
    for (unsigned long i = 0; i < n_steps; i++) {
        uint64_t due = began + i * 1000000000 / rate, now = clock_ns(CLOCK_MONOTONIC);

        if (now < due)
            usleep((useconds_t)((due - now) / 1000));
        pid = fork();
        if (pid == 0)
            _exit(live(i));
        steps[i].pid = pid;
        reap(false, left);
    }
    printf("%lu steps of %lu jobs, %.0f a second\n", n_steps, n_steps / STEPS_A_JOB,
           (double)n_steps / ((double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e9));
    reap(true, left);
    for (unsigned long i = 0; i < n_steps; i++)
        failed += steps[i].failed;
    print("a tag is answered in", offsetof(struct step, tag_s));
    print("an end is answered in", offsetof(struct step, end_s));
    printf("wrote %lu\n", n_steps * STEP_WRITES * STEP_BYTES);
    if (failed)
        (void)fprintf(stderr, "rate: %lu steps failed\n", failed);
    return failed != 0;
}
