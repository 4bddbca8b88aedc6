/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests/bench/stalls.
 *
 *   latency root SOCKET CGROUPS GROUP N   time N times the tag, end and report of a step, as root;
 *                                         GROUP is a directory of the hierarchy CGROUPS
 *   latency query SOCKET UID              query running jobs as this user, until it is killed
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/call.h"
#include "common/clock.h"
#include "common/message.h"

#define TIMEOUT_MS 20000
#define PAUSE_US 20000
#define FIRST_JOB 5000

static uint64_t *times;
static size_t n_times;
static unsigned failed;

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* In ms, of the sorted times. */
static double percentile(unsigned percent)
{
    size_t at = n_times * percent / 100;

    return (double)times[at < n_times ? at : n_times - 1] / 1e6;
}

static void timed(const char *socket, struct message *m)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    struct error error = {""};

    if (call(socket, m, TIMEOUT_MS, &error) < 0) {
        failed++;
        fprintf(stderr, "latency: %s\n", error.text);
    }
    times[n_times++] = clock_ns(CLOCK_MONOTONIC) - start;
}

static void put_step(struct message *m, const char *type, unsigned jobid)
{
    message_init(m, type);
    (void)message_put_u64(m, "JOBID", jobid);
    (void)message_put_u64(m, "STEP", 0);
}

static void time_step(const char *socket, const char *cgroups, const char *group, unsigned jobid)
{
    static struct message m;
    char path[512], full[1024];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/call%u", group, jobid);
    (void)snprintf(full, sizeof(full), "%s%s", cgroups, path);
    if (mkdir(full, 0755) < 0 || stat(full, &st) < 0) {
        perror(full);
        exit(1);
    }
    put_step(&m, "tag", jobid);
    (void)message_put_u64(&m, "UID", 0);
    (void)message_put(&m, "CGROUP", path);
    (void)message_put_u64(&m, "CGROUP_ID", st.st_ino);
    (void)message_put_u64(&m, "CGROUP_LEVEL", 2);
    (void)message_put_u64(&m, "TAGGED_AT", clock_ns(CLOCK_REALTIME));
    (void)message_put_u64(&m, "TAGGED_BOOT", clock_ns(CLOCK_BOOTTIME));
    timed(socket, &m);
    put_step(&m, "end", jobid);
    timed(socket, &m);
    put_step(&m, "report", jobid);
    timed(socket, &m);
    (void)rmdir(full);
}

static int time_root(char **argv)
{
    unsigned n = (unsigned)strtoul(argv[3], NULL, 10);
    static unsigned first = FIRST_JOB;

    first += (unsigned)getpid() % 100000 * 1000;
    times = calloc(n * 3, sizeof(*times));
    for (unsigned i = 0; times && i < n; i++) {
        time_step(argv[0], argv[1], argv[2], first + i);
        (void)usleep(PAUSE_US);
    }
    if (!n_times)
        return 1;
    qsort(times, n_times, sizeof(*times), compare);
    printf("p50 %6.1f ms, p90 %6.1f ms, p99 %6.1f ms, max %6.1f ms, %zu calls, %u failed\n",
           percentile(50), percentile(90), percentile(99), percentile(100), n_times, failed);
    return failed != 0;
}

static int query(char **argv)
{
    static struct message m;
    struct error error;

    if (setgid((gid_t)strtoul(argv[1], NULL, 10)) < 0 ||
        setuid((uid_t)strtoul(argv[1], NULL, 10)) < 0) {
        perror("latency: setuid");
        return 1;
    }
    for (;;) {
        message_init(&m, "query-job");
        (void)message_put_u64(&m, "JOBID", 1);
        (void)message_put_u64(&m, "STEPS", 1);
        (void)call(argv[0], &m, TIMEOUT_MS, &error);
    }
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "root"))
        return time_root(argv + 2);
    if (argc == 4 && !strcmp(argv[1], "query"))
        return query(argv + 2);
    fprintf(stderr, "usage: latency root SOCKET CGROUPS GROUP N | latency query SOCKET UID\n");
    return 2;
}
