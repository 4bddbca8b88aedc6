/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a known number of calls in each of some directories and prints them as JSON: jobio must
 * count exactly these (truth.h). It moves to the cgroup $CGROUP itself, after the preparations that
 * must not be counted.
 *
 *   work [-u] [-c FILE]... [-s FILE] DIRECTORY...
 * -c: a file of an overlay's lower layer, which is opened for writing (copied up); -s: a file on a
 * small file system, which is filled up; -u: for the system call backend, which does not know the
 * mount of a failed open.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/truth.h"

#define DIRECTORIES 8
#define THREADS 64

/* The work directories, by place (truth.h). */
static char places[DIRECTORIES + 1][PATH_MAX - 64];
static uint64_t *outside; /* shared by all processes */
static bool paths_are_blind;
static char block[65536] __attribute__((aligned(4096)));
static void *volatile bad_address = (void *)8; /* not mapped */

/* The place of a failed open. */
static int walked(int place)
{
    return paths_are_blind ? NOWHERE : place;
}

static int did_open(int place, const char *path, int flags)
{
    bool made = (flags & O_CREAT) && is_absent(path);
    int fd = open(path, flags, 0644);

    if (fd >= 0 && made)
        did(place, IO_CREATE, 0);
    return did(fd < 0 ? walked(place) : place, IO_OPEN, fd);
}

static int must_open(int place, const char *path, int flags)
{
    int fd = did_open(place, path, flags);

    if (fd < 0)
        die(path);
    return fd;
}

static const char *path_in(int place, const char *name)
{
    static __thread char paths[4][PATH_MAX];
    static __thread unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", places[place], name);
    return path;
}

/* The work: one function for each theme. */

static void work_data(int p)
{
    struct iovec parts[3] = {{block, 100}, {block, 200}, {block, 3000}};
    int fd = must_open(p, path_in(p, "data"), O_RDWR | O_CREAT | O_EXCL);

    for (int i = 0; i < 10; i++)
        WELL(p, IO_WRITE, write(fd, block, 4096));
    for (int i = 0; i < 7; i++)
        WELL(p, IO_WRITE, pwrite(fd, block, 1000 + i, 40960 + 1000 * i));
    for (int i = 0; i < 5; i++)
        WELL(p, IO_WRITE, writev(fd, parts, 3));
    for (int i = 0; i < 4; i++)
        WELL(p, IO_WRITE, pwritev(fd, parts, 2, 100));
    for (int i = 0; i < 3; i++)
        WELL(p, IO_WRITE, pwritev2(fd, parts, 3, 0, RWF_DSYNC));
    WELL(p, IO_WRITE, write(fd, block, 0));
    WELL(p, IO_WRITE, write(fd, block, 1));
    WELL(p, IO_WRITE, write(fd, block, 2));

    for (int i = 0; i < 6; i++)
        WELL(p, IO_READ, pread(fd, block, 4096, 4096 * i));
    for (int i = 0; i < 8; i++)
        WELL(p, IO_READ, preadv(fd, parts, 3, 0));
    for (int i = 0; i < 9; i++)
        WELL(p, IO_READ, preadv2(fd, parts, 2, 50, 0));
    lseek(fd, 0, SEEK_SET);
    for (int i = 0; i < 2; i++)
        WELL(p, IO_READ, readv(fd, parts, 3));
    /* Short reads at the end, and empty reads beyond it. */
    while (WELL(p, IO_READ, read(fd, block, 10007)) > 0)
        ;
    WELL(p, IO_READ, pread(fd, block, 100, 1 << 30));
    close(fd);
}

static void work_errors(int p)
{
    int fd = must_open(p, path_in(p, "data"), O_RDONLY);

    FAILS(p, IO_READ, EFAULT, pread(fd, bad_address, 4096, 0));
    FAILS(p, IO_READ, EFAULT, pread(fd, bad_address, 4096, 0));
    FAILS(p, IO_WRITE, EBADF, write(fd, block, 10));
    close(fd);
    fd = must_open(p, path_in(p, "faulty"), O_WRONLY | O_CREAT);
    FAILS(p, IO_WRITE, EFAULT, write(fd, bad_address, 4096));
    FAILS(p, IO_READ, EBADF, read(fd, block, 10));
    close(fd);
    for (int i = 0; i < 13; i++)
        FAILS(walked(p), IO_OPEN, ENOENT, open(path_in(p, "absent"), O_RDONLY));
    FAILS(walked(p), IO_OPEN, EEXIST, open(path_in(p, "data"), O_RDWR | O_CREAT | O_EXCL, 0600));
    FAILS(walked(p), IO_OPEN, EISDIR, open(places[p], O_WRONLY));
    FAILS(walked(p), IO_OPEN, ENOTDIR, open(path_in(p, "data/below"), O_RDONLY));
}

static void work_opens(int p)
{
    for (int i = 0; i < 5; i++)
        close(must_open(p, path_in(p, "data"), O_RDONLY));
    for (int i = 0; i < 4; i++)
        close(must_open(p, path_in(p, i & 1 ? "new1" : "new2"), O_WRONLY | O_CREAT));
    for (int i = 0; i < 3; i++) /* truncates inside the open */
        close(must_open(p, path_in(p, "new1"), O_WRONLY | O_CREAT | O_TRUNC));
    close(must_open(p, places[p], O_RDONLY | O_DIRECTORY));
    close(must_open(p, path_in(p, "new1"), O_PATH));
}

static void work_metadata(int p)
{
    int fd = must_open(p, path_in(p, "new1"), O_RDWR);
    char entries[512];
    struct stat st;

    for (int i = 0; i < 11; i++)
        WELL(p, IO_STAT, stat(path_in(p, "new1"), &st));
    WELL(p, IO_STAT, lstat(path_in(p, "new1"), &st));
    WELL(p, IO_STAT, fstat(fd, &st));
    WELL(p, IO_TRUNCATE, ftruncate(fd, 12345));
    WELL(p, IO_TRUNCATE, truncate(path_in(p, "new1"), 5));
    WELL(p, IO_FSYNC, fsync(fd));
    WELL(p, IO_FSYNC, fsync(fd));
    WELL(p, IO_FSYNC, fdatasync(fd));
    close(fd);

    for (int i = 0; i < 3; i++)
        WELL(p, IO_MKDIR, mkdir(path_in(p, i ? i == 1 ? "d1" : "d2" : "d0"), 0755));
    WELL(p, IO_RENAME, rename(path_in(p, "new1"), path_in(p, "d0/moved")));
    WELL(p, IO_RENAME, rename(path_in(p, "d0/moved"), path_in(p, "new2")));
    WELL(p, IO_RENAME, rename(path_in(p, "d1"), path_in(p, "d1b")));
    WELL(p, IO_LINK, link(path_in(p, "new2"), path_in(p, "hard")));
    WELL(p, IO_SYMLINK, symlink("new2", path_in(p, "soft")));
    WELL(p, IO_STAT, stat(path_in(p, "soft"), &st));
    WELL(p, IO_STAT, lstat(path_in(p, "soft"), &st));
    close(must_open(p, path_in(p, "soft"), O_RDONLY));
    close(must_open(p, path_in(p, "d2/file"), O_WRONLY | O_CREAT));
    FAILS(p, IO_RMDIR, ENOTEMPTY, rmdir(path_in(p, "d2")));
    FAILS(p, IO_RENAME, ENOTEMPTY, rename(path_in(p, "d0"), path_in(p, "d2")));

    fd = must_open(p, places[p], O_RDONLY | O_DIRECTORY);
    while (WELL(p, IO_READDIR, syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
        ;
    close(fd);

    WELL(p, IO_UNLINK, unlink(path_in(p, "hard")));
    WELL(p, IO_UNLINK, unlink(path_in(p, "soft")));
    WELL(p, IO_UNLINK, unlink(path_in(p, "d2/file")));
    WELL(p, IO_RMDIR, rmdir(path_in(p, "d0")));
    WELL(p, IO_RMDIR, rmdir(path_in(p, "d1b")));
    WELL(p, IO_RMDIR, rmdir(path_in(p, "d2")));
}

static void work_special(int p)
{
    int fd = must_open(p, path_in(p, "sync"), O_RDWR | O_CREAT | O_SYNC);

    for (int i = 0; i < 5; i++) /* fsyncs inside the write */
        WELL(p, IO_WRITE, write(fd, block, 777));
    WELL(p, IO_UNLINK, unlink(path_in(p, "sync"))); /* the file continues without a name */
    WELL(p, IO_WRITE, write(fd, block, 333));
    WELL(p, IO_READ, pread(fd, block, 4096, 0));
    close(fd);

    fd = must_open(p, path_in(p, "sparse"), O_RDWR | O_CREAT);
    WELL(p, IO_WRITE, pwrite(fd, block, 1, 1 << 20));
    WELL(p, IO_READ, pread(fd, block, 65536, 0));
    close(fd);
    WELL(p, IO_UNLINK, unlink(path_in(p, "sparse")));

    fd = did_open(p, path_in(p, "direct"), O_RDWR | O_CREAT | O_DIRECT);
    if (fd >= 0) {
        for (int i = 0; i < 4; i++)
            WELL(p, IO_WRITE, pwrite(fd, block, 8192, 8192 * i));
        WELL(p, IO_READ, pread(fd, block, 16384, 0));
        close(fd);
    }
}

/* Pipes, sockets and the kernel's own file systems pass through the same functions. */
static void work_uncounted(void)
{
    int pipes[2], fd = open("/proc/self/stat", O_RDONLY), null = open("/dev/null", O_RDWR);
    struct stat st;

    if (pipe(pipes) < 0 || fd < 0 || null < 0)
        die("work_uncounted");
    if (write(pipes[1], block, 100) != 100 || read(pipes[0], block, 100) != 100)
        die("pipe");
    if (read(fd, block, 100) <= 0 || fstat(fd, &st) < 0 || fstat(pipes[0], &st) < 0 ||
        stat("/sys/kernel", &st) < 0 || write(null, block, 5) != 5 || fstat(null, &st) < 0)
        die("work_uncounted");
    close(pipes[0]);
    close(pipes[1]);
    close(fd);
    close(null);
}

struct thread {
    pthread_t id;
    int place, fd, number;
};

static void *work_thread(void *arg)
{
    const struct thread *thread = arg;
    char own[1000] = "";
    struct stat st;

    for (int i = 0; i < 50; i++) {
        off_t at = (thread->number * 50 + i) * (off_t)sizeof(own);

        WELL(thread->place, IO_WRITE, pwrite(thread->fd, own, sizeof(own), at));
        WELL(thread->place, IO_READ, pread(thread->fd, own, sizeof(own), at));
    }
    WELL(thread->place, IO_STAT, fstat(thread->fd, &st));
    return NULL;
}

static void work_threads(int p)
{
    struct thread threads[THREADS];
    int fd = must_open(p, path_in(p, "threads"), O_RDWR | O_CREAT);

    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.place = p, .fd = fd, .number = i};
        if (pthread_create(&threads[i].id, NULL, work_thread, &threads[i]))
            die("pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].id, NULL);
    close(fd);
}

static void await(pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
        die("a child failed");
}

static void work_tree(int p, int depth)
{
    int fd = must_open(p, path_in(p, "tree"), O_WRONLY | O_CREAT | O_APPEND);

    for (int i = 0; i < 10; i++)
        WELL(p, IO_WRITE, write(fd, block, 512));
    for (int i = 0; i < 3 && depth; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            work_tree(p, depth - 1);
            _exit(0);
        }
        await(pid);
    }
    close(fd);
}

static void join_cgroup(int procs)
{
    if (write(procs, "0", 1) != 1)
        die("cgroup.procs");
}

static int open_procs(const char *cgroup)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        die(path);
    return fd;
}

static void work_nested(int p, int procs)
{
    pid_t pid = fork();

    if (pid == 0) {
        int fd;

        join_cgroup(procs);
        fd = must_open(p, path_in(p, "nested"), O_RDWR | O_CREAT);
        for (int i = 0; i < 20; i++)
            WELL(p, IO_WRITE, write(fd, block, 4321));
        _exit(0);
    }
    await(pid);
}

static void work_fill(int p, const char *path)
{
    int fd = must_open(p, path, O_WRONLY | O_CREAT);

    while (did(p, IO_WRITE, write(fd, block, 5000)) > 0)
        ;
    if (errno != ENOSPC)
        die("no ENOSPC");
    close(fd);
}

/* A process outside of the job that works on the same files. */
static pid_t start_outsider(void)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    for (;;) {
        int fd = open(path_in(1, "outside"), O_RDWR | O_CREAT, 0600);
        struct stat st;

        if (fd < 0 || pwrite(fd, block, 4096, 0) != 4096 || pread(fd, block, 4096, 0) != 4096 ||
            fstat(fd, &st) < 0)
            _exit(1);
        close(fd);
        __atomic_fetch_add(outside, 1, __ATOMIC_RELAXED);
        usleep(1000);
    }
}

/* Find the place of a path and set its work directory. */
static int find_place(const char *path)
{
    char real[PATH_MAX];
    int place;

    if (!realpath(path, real))
        die(path);
    place = place_of(real);
    if (place > DIRECTORIES)
        die("too many places");
    if (!*places[place])
        snprintf(places[place], sizeof(places[place]), "%s/work", path);
    return place;
}

/* The command line. */
struct order {
    const char *copied[8], *small;
    int n_copied, copied_at[8], small_at;
    int n_directories;
};

static bool order_parse(struct order *order, int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "c:s:u")) != -1) {
        if (option == 'c' && order->n_copied < 8)
            order->copied[order->n_copied++] = optarg;
        else if (option == 's')
            order->small = optarg;
        else if (option == 'u')
            paths_are_blind = true;
        else
            return false;
    }
    order->n_directories = argc - optind;
    return true;
}

static void order_find(struct order *order, char **directories)
{
    for (int i = 0; i < order->n_directories; i++) {
        int place = find_place(directories[i]);

        if (mkdir(places[place], 0755) < 0)
            die(places[place]);
    }
    for (int i = 0; i < order->n_copied; i++)
        order->copied_at[i] = find_place(order->copied[i]);
    if (order->small)
        order->small_at = find_place(dirname(strdupa(order->small)));
}

static void order_work(const struct order *order, int nested)
{
    for (int p = 1; p <= order->n_directories; p++) {
        work_data(p);
        work_errors(p);
        work_opens(p);
        work_metadata(p);
        work_special(p);
        work_threads(p);
        work_tree(p, 3);
        work_nested(p, nested);
    }
    for (int i = 0; i < order->n_copied; i++)
        close(must_open(order->copied_at[i], order->copied[i], O_RDWR));
    if (order->small)
        work_fill(order->small_at, order->small);
    work_uncounted();
}

int main(int argc, char **argv)
{
    const char *cgroup = getenv("CGROUP");
    char inner[PATH_MAX], above[PATH_MAX];
    struct order order = {.n_copied = 0};
    int procs, nested, out;
    pid_t outsider;

    if (!order_parse(&order, argc, argv))
        return 2;
    outside =
        mmap(NULL, sizeof(*outside), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!cgroup || outside == MAP_FAILED)
        die("CGROUP");
    truth_init();
    order_find(&order, argv + optind);
    snprintf(inner, sizeof(inner), "%s/inner", cgroup);
    snprintf(above, sizeof(above), "%s/..", cgroup);
    if (mkdir(inner, 0755) < 0)
        die(inner);
    procs = open_procs(cgroup);
    nested = open_procs(inner);
    out = open_procs(above);
    outsider = start_outsider();

    join_cgroup(procs);
    order_work(&order, nested);
    join_cgroup(out);

    kill(outsider, SIGKILL);
    waitpid(outsider, NULL, 0);
    if (!*outside)
        die("the outsider did nothing");
    truth_print("work");
    rmdir(inner);
    return 0;
}
