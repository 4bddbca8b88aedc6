/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of calls: without programs, with empty programs on all functions that jobio hooks, and
 * with jobio for a process outside of jobs, for one in a cgroup without a step that is as deep as a
 * step, and for one in a step. All are in the same memory cgroup, because the kernel's own
 * accounting of memory costs more than a counted call. The last two are compared with calls without
 * programs in a cgroup that is as deep, because the kernel's accounting of stalls (PSI) costs more
 * there. Each round measures all of them, so that a slow phase of the machine affects all; the
 * result is the median over the rounds of the fastest (undisturbed) chunk of each.
 *
 *   calls [-r REGEX] [-b BACKEND] [ROUNDS]     in a directory with file systems: see measure-calls
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/probe/probe.h"
#include "common/cleanup.h"
#include "tests/bench/empty.h"

#define CGROUPS "/sys/fs/cgroup"
#define GROUP CGROUPS "/jobio-bench"
#define STEP GROUP "/step"
#define OTHER GROUP "/other"
#define SHM "/dev/shm/jobio-bench"
#define PINS "/sys/fs/bpf/jobio-bench" /* as with jobiod */
#define CHUNKS 20
#define CALLS 100
#define PAGE 4096
#define MIB (1 << 20)
#define TURNS 20
#define MAX_ROUNDS 101

enum { DEEP, NOTHING, EMPTY, OUTSIDE, BESIDE, INSIDE, MODES };

static const char *const mode_names[MODES] = {
    [NOTHING] = "no programs", "empty programs", "outside jobs", "beside a job", "inside a job"};

static int held = -1; /* a cached page on tmpfs */
static int null = -1, directory = -1;
static int fresh[CALLS];        /* open files that have had no request */
static int turn[TURNS];         /* a file on each of several mounts */
static int ext4 = -1, xfs = -1; /* of 1 MiB */
static volatile char *mapped;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int must(int result, const char *what)
{
    if (result < 0)
        die(what);
    return result;
}

/* --- the calls -------------------------------------------------------------------------------- */

static void read_page(int file)
{
    static char page[PAGE];

    if (pread(file, page, PAGE, 0) != PAGE)
        die("pread");
}

static void read_held(int i)
{
    (void)i;
    read_page(held);
}

static void stat_path(int i)
{
    struct stat st;

    (void)i;
    must(stat(SHM, &st), "stat");
}

static void read_path(int i)
{
    int file = must(open(SHM, O_RDONLY | O_CLOEXEC), SHM);

    (void)i;
    read_page(file);
    (void)close(file);
}

static void write_held(int i)
{
    static char page[PAGE];

    (void)i;
    if (pwrite(held, page, PAGE, 0) != PAGE)
        die("pwrite");
}

static void write_null(int i)
{
    (void)i;
    if (write(null, "", 1) != 1)
        die("/dev/null");
}

static void open_close(int i)
{
    (void)i;
    (void)close(must(open(SHM, O_RDONLY | O_CLOEXEC), SHM));
}

static void stat_held(int i)
{
    struct stat st;

    (void)i;
    must(fstat(held, &st), "fstat");
}

static void access_path(int i)
{
    (void)i;
    must(access(SHM, R_OK), "access");
}

static void list_directory(int i)
{
    static char entries[2048];

    (void)i;
    must((int)lseek(directory, 0, SEEK_SET), "lseek");
    must((int)syscall(SYS_getdents64, directory, entries, sizeof(entries)), "getdents64");
}

static void create_and_remove(int i)
{
    (void)i;
    (void)close(must(open(SHM "-new", O_RDWR | O_CREAT | O_CLOEXEC, 0600), "create"));
    must(unlink(SHM "-new"), "unlink");
}

static void rename_back(int i)
{
    must(rename(i % 2 ? SHM "-b" : SHM "-a", i % 2 ? SHM "-a" : SHM "-b"), "rename");
}

static void open_fresh(void)
{
    for (int i = 0; i < CALLS; i++) {
        if (fresh[i] > 0)
            (void)close(fresh[i]);
        fresh[i] = must(open(SHM, O_RDONLY | O_CLOEXEC), SHM);
    }
}

static void read_fresh(int i)
{
    read_page(fresh[i]);
}

static void read_turn(int i)
{
    read_page(turn[i % TURNS]);
}

static void open_missing(int i)
{
    (void)i;
    if (open("/dev/shm/jobio-bench-missing", O_RDONLY | O_CLOEXEC) >= 0)
        die("open");
}

static void sync_held(int i)
{
    (void)i;
    must(fsync(held), "fsync");
}

static void change_directory(int i)
{
    (void)i;
    must(mkdir("/dev/shm/jobio-bench-directory", 0700), "mkdir");
    must(rmdir("/dev/shm/jobio-bench-directory"), "rmdir");
}

static void read_blocks(int file)
{
    static char block[128 * 1024];

    for (int at = 0; at < MIB; at += (int)sizeof(block))
        if (pread(file, block, sizeof(block), at) != sizeof(block))
            die("pread");
}

static void write_blocks(int file)
{
    static char block[128 * 1024];

    for (int at = 0; at < MIB; at += (int)sizeof(block))
        if (pwrite(file, block, sizeof(block), at) != sizeof(block))
            die("pwrite");
}

static void uncache(void)
{
    must(fdatasync(ext4), "fdatasync");
    must(posix_fadvise(ext4, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
}

static void read_cold(int i)
{
    (void)i;
    read_blocks(ext4);
}

static void empty_ext4(void)
{
    must(ftruncate(ext4, 0), "ftruncate");
}

static void empty_xfs(void)
{
    must(ftruncate(xfs, 0), "ftruncate");
}

static void write_ext4(int i)
{
    (void)i;
    write_blocks(ext4);
}

static void write_xfs(int i)
{
    (void)i;
    write_blocks(xfs);
}

static const char *unpacked_name(int i)
{
    static char name[32];

    snprintf(name, sizeof(name), "ext4/unpacked-%d", i);
    return name;
}

static void remove_unpacked(void)
{
    for (int i = 0; i < CALLS; i++)
        (void)unlink(unpacked_name(i));
}

/* As tar and cp do. */
static void unpack(int i)
{
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    static const char page[PAGE];
    int file = must(open(unpacked_name(i), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), "open");

    if (write(file, page, PAGE) != PAGE)
        die("write");
    must(futimens(file, times), "futimens");
    (void)close(file);
}

static void map_cold(void)
{
    if (mapped)
        (void)munmap((void *)mapped, MIB);
    uncache();
    mapped = mmap(NULL, MIB, PROT_READ, MAP_SHARED, ext4, 0);
    if (mapped == MAP_FAILED)
        die("mmap");
    must(madvise((void *)mapped, MIB, MADV_RANDOM), "madvise");
}

static void touch_page(int i)
{
    (void)mapped[i * PAGE];
}

/* Processes are made by a process that has no descriptors of programs: each new process would copy
 * and close them, which are hundreds. */
enum { RUN_NOTHING = 'n', RUN_PROGRAM = 'p' };

static pid_t spawner;
static int to_spawner = -1, from_spawner = -1;

/* In a root of its own: the guest's root is on the host, whose time would count. */
static void run_child(char what)
{
    if (what == RUN_NOTHING)
        _exit(0);
    if (chroot("ext4/root") == 0)
        (void)execl("/bin/true", "true", NULL);
    _exit(1);
}

static void spawn(int from, int to)
{
    char what;
    int status;

    while (read(from, &what, 1) == 1) {
        pid_t pid = must(vfork(), "vfork");

        if (pid == 0)
            run_child(what);
        if (waitpid(pid, &status, 0) < 0 || status || write(to, &what, 1) != 1)
            die("/bin/true");
    }
    exit(0);
}

static void start_spawner(void)
{
    int there[2], back[2];

    must(pipe2(there, O_CLOEXEC), "pipe2");
    must(pipe2(back, O_CLOEXEC), "pipe2");
    spawner = must(fork(), "fork");
    if (spawner == 0) {
        (void)close(there[1]);
        (void)close(back[0]);
        spawn(there[0], back[1]);
    }
    to_spawner = there[1];
    from_spawner = back[0];
}

static void run(char what)
{
    if (write(to_spawner, &what, 1) != 1 || read(from_spawner, &what, 1) != 1)
        die("spawner");
}

static void run_nothing(int i)
{
    (void)i;
    run(RUN_NOTHING);
}

static void run_program(int i)
{
    (void)i;
    run(RUN_PROGRAM);
}

/* In this order: those that read the file on ext4 stand after the one that writes it. */
static const struct kind {
    const char *name;
    int calls; /* per chunk */
    void (*call)(int i);
    void (*prepare)(void); /* before each chunk, not measured */
} kinds[] = {
    {"pread of 4 KiB, cached", CALLS, read_held, NULL},
    {"stat by path", CALLS, stat_path, NULL},
    {"open, pread, close", CALLS, read_path, NULL},
    {"first pread of an open file", CALLS, read_fresh, open_fresh},
    {"pread on 20 mounts in turn", CALLS, read_turn, NULL},
    {"open that fails", CALLS, open_missing, NULL},
    {"fsync (tmpfs)", CALLS, sync_held, NULL},
    {"mkdir, rmdir", CALLS, change_directory, NULL},
    {"pwrite of 4 KiB, cached", CALLS, write_held, NULL},
    {"write to /dev/null", CALLS, write_null, NULL},
    {"open, close", CALLS, open_close, NULL},
    {"fstat", CALLS, stat_held, NULL},
    {"access", CALLS, access_path, NULL},
    {"getdents64", CALLS, list_directory, NULL},
    {"create, close, unlink", CALLS, create_and_remove, NULL},
    {"rename", CALLS, rename_back, NULL},
    {"new 1 MiB, xfs", 1, write_xfs, empty_xfs},
    {"new 1 MiB, ext4", 1, write_ext4, empty_ext4},
    {"cold read of 1 MiB, ext4", 1, read_cold, uncache},
    {"unpack a file of 4 KiB, ext4", CALLS, unpack, remove_unpacked},
    {"mapped page, cold", CALLS, touch_page, map_cold},
    {"vfork, exit", CALLS, run_nothing, NULL},
    {"vfork, exec, exit", 5, run_program, NULL},
};

#define KINDS ARRAY_SIZE(kinds)

static void make_files(void)
{
    static const char page[PAGE];
    char name[32];

    for (int i = -1; i < TURNS; i++) {
        int file;

        snprintf(name, sizeof(name), "turn%d/file", i + 1);
        file = must(open(i < 0 ? SHM : name, O_RDWR | O_CREAT | O_CLOEXEC, 0600), name);
        if (pwrite(file, page, PAGE, 0) != PAGE)
            die(name);
        *(i < 0 ? &held : &turn[i]) = file;
    }
    (void)close(must(open(SHM "-a", O_RDWR | O_CREAT | O_CLOEXEC, 0600), SHM "-a"));
    null = must(open("/dev/null", O_WRONLY | O_CLOEXEC), "/dev/null");
    directory = must(open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "/dev/shm");
    ext4 = must(open("ext4/bench", O_RDWR | O_CREAT | O_CLOEXEC, 0600), "ext4");
    xfs = must(open("xfs/bench", O_RDWR | O_CREAT | O_CLOEXEC, 0600), "xfs");
    write_blocks(ext4);
}

/* --- measuring -------------------------------------------------------------------------------- */

struct bench {
    regex_t wanted;
    enum probe_backend backend;
    double times[MODES][KINDS][MAX_ROUNDS]; /* ns per call */
    int rounds;
};

static void move(pid_t pid, const char *cgroup)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
    file = fopen(path, "we");
    if (!file || fprintf(file, "%d", pid) < 0 || fclose(file) < 0)
        die(path);
}

static void join(const char *cgroup)
{
    move(getpid(), cgroup);
    move(spawner, cgroup);
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

static bool is_wanted(const struct bench *bench, size_t kind)
{
    return regexec(&bench->wanted, kinds[kind].name, 0, NULL, 0) == 0;
}

/* Returns ns per call of a chunk. */
static double measure_chunk(const struct kind *kind)
{
    double start;

    if (kind->prepare)
        kind->prepare();
    start = now_ns();
    for (int i = 0; i < kind->calls; i++)
        kind->call(i);
    return (now_ns() - start) / kind->calls;
}

static void measure(struct bench *bench, int mode)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        double best = INFINITY;

        if (!is_wanted(bench, kind))
            continue;
        (void)measure_chunk(&kinds[kind]);
        for (int i = 0; i < CHUNKS; i++)
            best = fmin(best, measure_chunk(&kinds[kind]));
        bench->times[mode][kind][bench->rounds] = best;
    }
}

static void measure_empty(struct bench *bench)
{
    struct empty_programs *programs = empty_attach();

    measure(bench, EMPTY);
    empty_detach(programs);
}

static void measure_jobio(struct bench *bench)
{
    const struct probe_options options = {.backend = bench->backend, .pin_dir = PINS};
    struct error error = {""};
    struct probe *probe;
    struct stat st;

    if (stat(STEP, &st) < 0)
        die(STEP);
    if (probe_create(&probe, &options, &error) < 0 ||
        probe_add(probe, st.st_ino, 2, 2, NULL, &error) < 0) {
        fprintf(stderr, "calls: %s\n", error.text);
        exit(1);
    }
    measure(bench, OUTSIDE);
    join(OTHER);
    measure(bench, BESIDE);
    join(STEP);
    measure(bench, INSIDE);
    join(GROUP);
    probe_destroy(probe);
    if (probe_unpin(PINS, &error) < 0) {
        fprintf(stderr, "calls: %s\n", error.text);
        exit(1);
    }
}

static void print_results(struct bench *bench)
{
    printf("%-28s", "ns a call more than without");
    for (int mode = NOTHING; mode < MODES; mode++)
        printf(mode == NOTHING ? " %12s" : mode == EMPTY ? " %14s" : " %19s", mode_names[mode]);
    putchar('\n');
    for (size_t kind = 0; kind < KINDS; kind++) {
        double times[MODES], pair;

        if (!is_wanted(bench, kind))
            continue;
        for (int mode = 0; mode < MODES; mode++)
            times[mode] = median(bench->times[mode][kind], bench->rounds);
        pair = times[EMPTY] - times[NOTHING];
        printf("%-28s %12.0f %14.0f", kinds[kind].name, times[NOTHING], pair);
        for (int mode = OUTSIDE; mode < MODES; mode++) {
            double without = times[mode == OUTSIDE ? NOTHING : DEEP];
            double cost = times[mode] - without;

            printf(" %7.0f %5.2f %4.1f%%", cost, cost / pair, cost / without * 100);
        }
        putchar('\n');
    }
}

static enum probe_backend backend_named(const char *name)
{
    static const char *const names[] = {"auto", "fentry", "kprobe", "tp_btf"}; /* by number */

    for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
        if (!strcmp(name, names[i]))
            return i;
    fprintf(stderr, "calls: no such option or backend\n");
    exit(2);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    const char *wanted = "";
    int rounds, option;

    while ((option = getopt(argc, argv, "r:b:")) != -1) {
        if (option == 'r')
            wanted = optarg;
        else
            bench.backend = backend_named(optarg);
    }
    rounds = argc > optind ? atoi(argv[optind]) : 5;
    if (regcomp(&bench.wanted, wanted, REG_EXTENDED | REG_NOSUB))
        die(wanted);
    start_spawner();
    make_files();
    (void)mkdir(GROUP, 0755);
    (void)mkdir(STEP, 0755);
    (void)mkdir(OTHER, 0755);
    join(GROUP);
    for (bench.rounds = 0; bench.rounds < rounds && bench.rounds < MAX_ROUNDS; bench.rounds++) {
        join(OTHER);
        measure(&bench, DEEP);
        join(GROUP);
        measure(&bench, NOTHING);
        measure_empty(&bench);
        measure_jobio(&bench);
    }
    print_results(&bench);
    return 0;
}
