/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a call: a cached 4 KiB pread, a stat by path, and a small file that is opened, read
 * and closed; without programs, with empty programs on the same functions, and with jobio for a
 * process outside of jobs, for one in a cgroup without a step that is as deep as a step, and for
 * one in a step. Each round measures all of them, so that a slow phase of the machine affects all;
 * the result is the median over the rounds of the fastest (undisturbed) chunk of each.
 *
 *   calls [ROUNDS]
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/probe/probe.h"
#include "common/cleanup.h"
#include "tests/bench/empty.skel.h"

#define CGROUPS "/sys/fs/cgroup"
#define GROUP CGROUPS "/jobio-bench"
#define OTHER_GROUP CGROUPS "/jobio-bench-other"
#define CHUNKS 30
#define CALLS 200
#define MAX_ROUNDS 101

enum { NOTHING, EMPTY, OUTSIDE, BESIDE, INSIDE, MODES };
enum { PREAD, STAT, SMALL_FILE, KINDS };

static const char *const mode_names[MODES] = {"no programs", "empty programs",
                                              "jobio, outside jobs", "jobio, beside a job",
                                              "jobio, inside a job"};

struct bench {
    int file;
    const char *path;
    double times[MODES][KINDS][MAX_ROUNDS]; /* ns per call */
    int rounds;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void join(const char *cgroup)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
    file = fopen(path, "we");
    if (!file || fputs("0", file) < 0 || fclose(file) < 0)
        die(path);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
    qsort(values, n, sizeof(*values), compare_doubles);
    return values[n / 2];
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static bool read_block(int file)
{
    char block[4096];

    return pread(file, block, sizeof(block), 0) == sizeof(block);
}

static bool read_file(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);

    return file >= 0 && read_block(file) && close(file) == 0;
}

static void make_calls(const struct bench *bench, int kind)
{
    struct stat st;

    for (int i = 0; i < CALLS; i++) {
        bool well = kind == PREAD  ? read_block(bench->file)
                    : kind == STAT ? stat(bench->path, &st) == 0
                                   : read_file(bench->path);

        if (!well)
            die("call");
    }
}

static void measure(struct bench *bench, int mode)
{
    for (int kind = 0; kind < KINDS; kind++) {
        double best = INFINITY;

        make_calls(bench, kind);
        for (int i = 0; i < CHUNKS; i++) {
            double begin = now_ns();

            make_calls(bench, kind);
            best = fmin(best, (now_ns() - begin) / CALLS);
        }
        bench->times[mode][kind][bench->rounds] = best;
    }
}

static void measure_empty(struct bench *bench)
{
    struct empty_bpf *skel = empty_bpf__open();
    struct bpf_program *program;

    if (!skel)
        die("empty programs");
    /* If the kernel lacks some of these functions, jobio does not hook them either. */
    bpf_object__for_each_program(program, skel->obj)
    {
        const char *function = strchr(bpf_program__section_name(program), '/') + 1;

        if (libbpf_find_vmlinux_btf_id(function, BPF_TRACE_FENTRY) < 0)
            (void)bpf_program__set_autoload(program, false);
    }
    if (empty_bpf__load(skel) < 0 || empty_bpf__attach(skel) < 0)
        die("empty programs");
    measure(bench, EMPTY);
    empty_bpf__destroy(skel);
}

static void measure_jobio(struct bench *bench)
{
    const struct probe_options options = {0};
    struct error error = {""};
    struct probe *probe;
    struct stat st;

    if ((mkdir(GROUP, 0755) < 0 && errno != EEXIST) ||
        (mkdir(OTHER_GROUP, 0755) < 0 && errno != EEXIST))
        die(GROUP);
    if (stat(GROUP, &st) < 0)
        die(GROUP);
    if (probe_create(&probe, &options, &error) < 0 ||
        probe_add(probe, st.st_ino, 1, 2, NULL, &error) < 0) {
        fprintf(stderr, "calls: %s\n", error.text);
        exit(1);
    }
    measure(bench, OUTSIDE);
    join(OTHER_GROUP);
    measure(bench, BESIDE);
    join(GROUP);
    measure(bench, INSIDE);
    join(CGROUPS);
    probe_destroy(probe);
}

static void print_kind(struct bench *bench, int kind, const char *name)
{
    double times[MODES], floor;

    for (int mode = 0; mode < MODES; mode++)
        times[mode] = median(bench->times[mode][kind], bench->rounds);
    floor = times[EMPTY] - times[NOTHING];
    printf("%-22s %10s %10s %14s\n", name, "ns a call", "cost", "cost / empty");
    for (int mode = 0; mode < MODES; mode++) {
        double cost = times[mode] - times[NOTHING];

        printf("%-22s %10.0f", mode_names[mode], times[mode]);
        if (mode != NOTHING)
            printf(" %10.0f %14.2f", cost, cost / floor);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    static struct bench bench = {.path = "/dev/shm/jobio-bench"};
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    char block[4096] = "";

    bench.file = open(bench.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (bench.file < 0 || write(bench.file, block, sizeof(block)) != sizeof(block))
        die(bench.path);
    for (bench.rounds = 0; bench.rounds < rounds && bench.rounds < MAX_ROUNDS; bench.rounds++) {
        measure(&bench, NOTHING);
        measure_empty(&bench);
        measure_jobio(&bench);
    }
    print_kind(&bench, PREAD, "pread of 4 KiB, cached");
    print_kind(&bench, STAT, "stat");
    print_kind(&bench, SMALL_FILE, "open, pread, close");
    return 0;
}
