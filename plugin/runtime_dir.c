/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/runtime_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "bpf/records.h"
#include "common/cleanup.h"

/* KEY=VALUE lines; a newline in a value becomes a space. */
static size_t format_lines(const struct message *m, char *ret)
{
    const char *field = message_next(m, message_next(m, message_next(m, NULL)));
    size_t n = 0;

    for (; field; field = message_next(m, field)) {
        for (const char *p = field; *p; p++)
            ret[n++] = *p == '\n' ? ' ' : *p;
        ret[n++] = '\n';
    }
    return n;
}

static int make_directory(const char *path, struct error *error)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "make \"%s\"", path);
    return 0;
}

/* The files accumulate while jobiod does not run. A full /run would break other programs, too. */
static int check_free_space(const char *directory, struct error *error)
{
    struct statvfs fs;

    if (statvfs(directory, &fs) < 0)
        return error_errno(error, -errno, "check the free space of \"%s\"", directory);
    if (fs.f_bavail < fs.f_blocks / 10 || fs.f_favail < fs.f_files / 10)
        return error_set(error, -ENOSPC, "less than 10 %% of \"%s\" is free", directory);
    return 0;
}

static int write_file(const char *path, const char *text, size_t size, struct error *error)
{
    _close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    ssize_t n;

    if (fd < 0)
        return error_errno(error, -errno, "make \"%s\"", path);
    n = write(fd, text, size);
    if (n < 0 || (size_t)n != size)
        return error_errno(error, n < 0 ? -errno : -ENOSPC, "write \"%s\"", path);
    return 0;
}

int runtime_write_file(const char *runtime, const char *directory, const char *name,
                       const struct message *m, struct error *error)
{
    static char text[MESSAGE_MAX];
    char path[PATH_MAX], new_path[PATH_MAX];
    int r;

    (void)snprintf(path, sizeof(path), "%s/%s", runtime, directory);
    r = make_directory(runtime, error);
    if (r == 0)
        r = make_directory(path, error);
    if (r == 0)
        r = check_free_space(path, error);
    if (r < 0)
        return r;
    (void)snprintf(path, sizeof(path), "%s/%s/%s", runtime, directory, name);
    (void)snprintf(new_path, sizeof(new_path), "%s/%s/.%s.%d", runtime, directory, name,
                   (int)getpid());
    r = write_file(new_path, text, format_lines(m, text), error);
    if (r == 0 && rename(new_path, path) < 0)
        r = error_errno(error, -errno, "rename to \"%s\"", path);
    if (r < 0)
        (void)unlink(new_path);
    return r;
}

typedef void (*line_handler)(char *line, void *arg);

/* The file of a job, line by line. Returns 1, or 0 if there is none. */
static int read_job_lines(const char *runtime, uint32_t jobid, line_handler handler, void *arg,
                          struct error *error)
{
    char path[PATH_MAX], line[1024];
    _fclose_ FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "%s/jobs/%u", runtime, jobid);
    f = fopen(path, "re");
    if (!f)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "open \"%s\"", path);
    while (fgets(line, sizeof(line), f))
        handler(line, arg);
    return ferror(f) ? error_errno(error, -errno, "read \"%s\"", path) : 1;
}

static void read_job_line(char *line, void *arg)
{
    struct runtime_job *job = arg;

    (void)sscanf(line, "RESTART=%9u", &job->restart);
    job->ended |= strncmp(line, "ENDED=1", 7) == 0;
    job->has_nodes |= strncmp(line, "GATHER=", 7) == 0;
    job->mpi |= strncmp(line, "MPI=1", 5) == 0;
}

int runtime_read_job(const char *runtime, uint32_t jobid, struct runtime_job *ret,
                     struct error *error)
{
    struct runtime_job job = {.known = false};
    int r = read_job_lines(runtime, jobid, read_job_line, &job, error);

    job.known = r > 0;
    if (r < 0)
        job = (struct runtime_job){.known = false};
    *ret = job;
    return r < 0 ? r : 0;
}

static const char *format_down_path(const char *runtime, char ret[PATH_MAX])
{
    (void)snprintf(ret, PATH_MAX, "%s/down", runtime);
    return ret;
}

static bool is_same_in_each_run(const char *line)
{
    static const char *const keys[] = {"ACCOUNT=", "PARTITION=", "USER=", "MPI="};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static void copy_job_line(char *line, void *arg)
{
    char *value = strchr(line, '=');

    line[strcspn(line, "\n")] = '\0';
    if (!is_same_in_each_run(line))
        return;
    *value++ = '\0';
    (void)message_put(arg, line, value);
}

int runtime_copy_job(const char *runtime, uint32_t jobid, struct message *m, struct error *error)
{
    int r = read_job_lines(runtime, jobid, copy_job_line, m, error);

    return r < 0 ? r : 0;
}

/* Append all of it or nothing: the next line must not continue a part of this one. */
static int append_line(int fd, const char *path, const char *line, struct error *error)
{
    struct stat before;
    ssize_t n;
    int r;

    if (fstat(fd, &before) < 0)
        return error_errno(error, -errno, "stat \"%s\"", path);
    n = write(fd, line, strlen(line));
    if (n >= 0 && (size_t)n == strlen(line))
        return 0;
    r = error_errno(error, n < 0 ? -errno : -ENOSPC, "write \"%s\"", path);
    if (n > 0 && ftruncate(fd, before.st_size) < 0)
        r = error_errno(error, -errno, "remove a part of a line from \"%s\"", path);
    return r;
}

int runtime_end_job(const char *runtime, uint32_t jobid, struct error *error)
{
    char path[PATH_MAX];
    _close_ int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/jobs/%u", runtime, jobid);
    fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "open \"%s\"", path);
    return append_line(fd, path, "ENDED=1\n", error);
}

bool runtime_is_down(const char *runtime)
{
    char path[PATH_MAX];
    struct stat st;
    time_t now = time(NULL);

    if (stat(format_down_path(runtime, path), &st) < 0)
        return false;
    return st.st_mtime <= now && now - st.st_mtime < RUNTIME_DOWN_SECONDS;
}

void runtime_mark_down(const char *runtime)
{
    char path[PATH_MAX];
    _close_ int fd =
        open(format_down_path(runtime, path), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void)futimens(fd, NULL);
}

void runtime_clear_down(const char *runtime)
{
    char path[PATH_MAX];

    (void)unlink(format_down_path(runtime, path));
}

int runtime_pin_directory(const char *runtime, char ret[PATH_MAX], struct error *error)
{
    char path[PATH_MAX], line[PATH_MAX], pin[PATH_MAX / 2] = "";
    _fclose_ FILE *f = NULL;
    unsigned layout = 0, shape = 0;

    (void)snprintf(path, sizeof(path), "%s/probe", runtime);
    f = fopen(path, "re");
    if (!f)
        return error_errno(error, -errno, "open \"%s\"", path);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "PIN=", 4) == 0)
            (void)snprintf(pin, sizeof(pin), "%.*s", (int)sizeof(pin) - 1, line + 4);
        else if (sscanf(line, "LAYOUT=%9u", &layout) != 1)
            (void)sscanf(line, "SHAPE=%9u", &shape);
    }
    if (pin[0] != '/')
        return error_set(error, -EINVAL, "\"%s\" has no PIN", path);
    if (layout != JOBIO_LAYOUT && (shape < JOBIO_FIRST_SHAPE || shape > JOBIO_SHAPE))
        return error_set(error, -EPROTONOSUPPORT, "the maps have layout %u, the plugin knows %d",
                         layout, JOBIO_LAYOUT);
    (void)snprintf(ret, PATH_MAX, "%s/%u", pin, layout);
    return 0;
}
