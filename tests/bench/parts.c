/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of possible parts of the programs, compared with an empty program. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/bench/parts.skel.h"

#define CHUNKS 30
#define CALLS 100

static const char path[] = "/dev/shm/jobio-parts";

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* The fastest chunk, which nothing disturbed. */
static double measure(int file)
{
    double best = INFINITY;
    char byte;

    for (int i = 0; i < CHUNKS; i++) {
        double begin = now_ns();

        for (int j = 0; j < CALLS; j++)
            if (pread(file, &byte, 1, 0) != 1)
                die("pread");
        best = fmin(best, (now_ns() - begin) / CALLS);
    }
    return best;
}

/* Measure only the program with this number. NAN: this kernel lacks the part. */
static double measure_part(int file, int number, char name[64])
{
    struct parts_bpf *skel = parts_bpf__open();
    struct bpf_program *program, *part = NULL;
    struct bpf_link *link;
    double result = NAN;
    int i = 0;

    if (!skel)
        die("the programs");
    bpf_object__for_each_program(program, skel->obj)
    {
        if (i == number)
            part = program;
        (void)bpf_program__set_autoload(program, i++ == number);
    }
    name[0] = '\0';
    if (part) {
        snprintf(name, 64, "%s", bpf_program__name(part));
        link = parts_bpf__load(skel) < 0 ? NULL : bpf_program__attach(part);
        if (link)
            result = measure(file);
        bpf_link__destroy(link);
    }
    parts_bpf__destroy(skel);
    return result;
}

int main(void)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    double empty = 0;
    char name[64];

    if (file < 0 || write(file, "x", 1) != 1)
        die(path);
    (void)libbpf_set_print(NULL);
    for (int i = 0;; i++) {
        double time = measure_part(file, i, name);

        if (!name[0])
            break;
        if (i == 0)
            empty = time;
        if (isnan(time))
            printf("%-22s %8s\n", name, "-");
        else
            printf("%-22s %8.0f\n", name, time - empty);
    }
    return 0;
}
