/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the named workload in some directories and prints its calls as JSON: `jobio run -- workload
 * NAME DIRECTORY...` must count exactly these. It leaves the cgroup of the run at once, prepares,
 * and returns for the work. Linked statically, so that its exec opens only one file.
 */
#include "config.h"

#include "tests/bpf/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIRECTORIES 4

char block[BLOCK] __attribute__((aligned(4096)));
void *volatile bad_address = (void *)8;

static const struct workload *const tables[] = {
    workloads_async,  workloads_cache,    workloads_close, workloads_data, workloads_lookup,
    workloads_meta,   workloads_mount,    workloads_order, workloads_path, workloads_process,
    workloads_stream, workloads_transfer, workloads_users,
};

static struct {
    char given[PATH_MAX / 2], own[PATH_MAX - 300];
    int place;
} directory_list[DIRECTORIES];
static int n_directories, job_procs, root_procs;
static const struct workload *workload;

static void move_to(int procs)
{
    if (write(procs, "0", 1) != 1)
        die("cgroup.procs");
}

void begin(void)
{
    move_to(job_procs);
}

void leave(void)
{
    move_to(root_procs);
}

int place_at(int directory)
{
    return directory_list[directory].place;
}

const char *given(int directory)
{
    return directory_list[directory].given;
}

int directories(void)
{
    return n_directories;
}

const char *at(int directory, const char *name)
{
    static __thread char paths[4][PATH_MAX];
    static __thread unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", directory_list[directory].own, name);
    return path;
}

void drop_cache(int fd)
{
    MUST(fsync(fd));
    MUST(-posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
}

int make_file(const char *path, size_t size, enum temperature temperature)
{
    int fd = MUST(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));

    for (size_t done = 0; done < size;) {
        size_t left = size - done < BLOCK ? size - done : BLOCK;

        done += (size_t)MUST(pwrite(fd, block, left, (off_t)done));
    }
    if (temperature == COLD)
        drop_cache(fd);
    return fd;
}

int do_open(int place, const char *path, int flags)
{
    bool made = (flags & O_CREAT) && is_absent(path);
    int fd = (int)WELL(place, IO_OPEN, open(path, flags | O_CLOEXEC, 0644));

    if (made)
        did(place, IO_CREATE, 0);
    return fd;
}

void do_close(int place, int fd)
{
    WELL(place, IO_CLOSE, close(fd));
}

void await(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) < 0 || status) {
        errno = ECHILD;
        die("a child failed");
    }
}

void await_sleep(pid_t thread)
{
    char path[64], state;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)thread);
    do {
        FILE *file;

        usleep(50000);
        file = fopen(path, "re");
        if (!file || fscanf(file, "%*d %*s %c", &state) != 1)
            die(path);
        fclose(file);
    } while (state != 'S');
}

void in_child(void (*work)(void))
{
    pid_t pid = (pid_t)MUST(fork());

    if (pid == 0) {
        work();
        _exit(0);
    }
    await(pid);
}

/* --- start and end ---------------------------------------------------------------------------- */

/* The root of cgroup v2, whether or not v1 is mounted, too. */
static const char *cgroup_root(void)
{
    return access("/sys/fs/cgroup/unified", F_OK) < 0 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";
}

static int open_procs(const char *cgroup)
{
    char path[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s%s/cgroup.procs", cgroup_root(), cgroup);
    return (int)MUST(open(path, O_WRONLY | O_CLOEXEC));
}

static int open_own_procs(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX];
    int fd = -1;

    while (file && fd < 0 && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "0::", 3))
            continue;
        line[strcspn(line, "\n")] = '\0';
        fd = open_procs(line + 3);
    }
    if (fd < 0)
        die("own cgroup");
    fclose(file);
    return fd;
}

/* Make the workload's own directory, unless the file system does not allow it. */
static void add_directory(const char *directory)
{
    if (n_directories == DIRECTORIES)
        die("too many directories");
    snprintf(directory_list[n_directories].given, sizeof(directory_list[0].given), "%s", directory);
    snprintf(directory_list[n_directories].own, sizeof(directory_list[0].own), "%s/%s.%d.%d",
             directory, workload->name, n_directories, (int)getpid());
    if (mkdir(directory_list[n_directories].own, 0777) < 0) {
        if (errno != EROFS && errno != ENOSYS && errno != EACCES)
            die(directory);
        snprintf(directory_list[n_directories].own, sizeof(directory_list[0].own), "%s", directory);
    }
    directory_list[n_directories].place = place_of(directory);
    n_directories++;
}

static const struct workload *find(const char *name)
{
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
        for (const struct workload *w = tables[t]; w->name; w++)
            if (!strcmp(w->name, name))
                return w;
    return NULL;
}

static void note_exec(void)
{
    char path[PATH_MAX];
    ssize_t n = MUST(readlink("/proc/self/exe", path, sizeof(path) - 1));

    path[n] = '\0';
    truth_exec(place_of(path));
}

/* Use a child: on 5.10 a process with io_uring threads cannot leave its cpuset. */
static void print_truth(void)
{
    leave();
    truth_print(workload->name);
    if (fflush(stdout))
        die("stdout");
}

int main(int argc, char **argv)
{
    workload = argc > 2 ? find(argv[1]) : NULL;
    root_procs = open_procs("");
    job_procs = open_own_procs();
    leave();
    if (!workload) {
        fprintf(stderr, "usage: workload NAME DIRECTORY...\n");
        return 2;
    }
    MUST(setresuid(0, 0, 0));
    umask(022);
    truth_init();
    note_exec();
    memset(block, 'x', sizeof(block));
    for (int i = 2; i < argc; i++)
        add_directory(argv[i]);
    workload->run();
    in_child(print_truth);
    return 0;
}
