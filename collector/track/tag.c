/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/track/tag.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/job.h"

#define NO_DEFAULT UINT64_MAX
/* The programs cannot follow deeper paths; the length is the kernel's limit. */
#define CGROUP_PATH_MAX 4096
#define VERSION_CHARACTERS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+~-"

/* --- messages --------------------------------------------------------------------------------- */

static const struct number {
    const char *key;
    uint64_t max, fallback;
    size_t offset, size;
} numbers[] = {
#define NUMBER(key, max, fallback, field)                                                 \
    {                                                                                     \
        key, max, fallback, offsetof(struct tag, field), sizeof(((struct tag *)0)->field) \
    }
    NUMBER("JOBID", UINT32_MAX, NO_DEFAULT, jobid),
    NUMBER("RESTART", UINT32_MAX, 0, restart),
    NUMBER("HET", UINT32_MAX, HET_NONE, het),
    NUMBER("STEP", UINT32_MAX, NO_DEFAULT, step),
    NUMBER("UID", UINT32_MAX, NO_DEFAULT, uid),
    NUMBER("CGROUP_ID", UINT64_MAX - 1, NO_DEFAULT, cgroup_id),
    NUMBER("CGROUP_LEVEL", 1024, NO_DEFAULT, level),
    NUMBER("CGROUP_VERSION", 2, 2, version),
    NUMBER("TAGGED_AT", UINT64_MAX - 1, NO_DEFAULT, tagged_at_ns),
    NUMBER("TAGGED_BOOT", UINT64_MAX - 1, NO_DEFAULT, tagged_boot_ns),
    NUMBER("WITHIN", 120000, 200, within_ms),
    NUMBER("NODES", UINT32_MAX, 0, nodes),
    NUMBER("ARRAY_JOB", UINT32_MAX, 0, array_job),
    NUMBER("ARRAY_TASK", UINT32_MAX, 0, array_task),
#undef NUMBER
};

static int take_number(const struct message *m, const struct number *number, struct tag *tag,
                       struct error *error)
{
    char *field = (char *)tag + number->offset;
    uint64_t value;
    uint32_t small;
    int r = message_get_u64(m, number->key, number->max, number->fallback, &value, error);

    if (r < 0)
        return r;
    if (value == NO_DEFAULT)
        return error_set(error, -EINVAL, "%s is missing", number->key);
    small = (uint32_t)value;
    if (number->size == sizeof(value))
        memcpy(field, &value, sizeof(value));
    else
        memcpy(field, &small, sizeof(small));
    return 0;
}

/* The path is joined to the hierarchy's mount: nothing in it may lead out of there. */
static bool is_cgroup_path(const char *path)
{
    size_t n = strlen(path);

    return path[0] == '/' && n > 1 && n < CGROUP_PATH_MAX && !strstr(path, "/../") &&
           (n < 3 || strcmp(path + n - 3, "/..") != 0);
}

/* Older plugins send an empty NAME for the extern step. */
static int copy_text(char **ret, const char *value, struct error *error)
{
    if (!value || !*value)
        return 0;
    *ret = strdup(value);
    return *ret ? 0 : error_set(error, -ENOMEM, "no memory for a step");
}

static int take_texts(const struct message *m, struct tag *tag, struct error *error)
{
    const char *cgroup = message_get(m, "CGROUP");
    int r;

    if (!cgroup)
        return error_set(error, -EINVAL, "CGROUP is missing");
    if (!is_cgroup_path(cgroup))
        return error_set(error, -EINVAL, "CGROUP is not a path below the root of the hierarchy");
    r = copy_text(&tag->cgroup, cgroup, error);
    if (!r)
        r = copy_text(&tag->node, message_get(m, "NODE"), error);
    if (!r)
        r = copy_text(&tag->name, message_get(m, "NAME"), error);
    if (!r)
        r = copy_text(&tag->caller, message_get(m, "TRACEPARENT"), error);
    return r;
}

/* A value that is not a version, or is too long, is ignored. */
static void take_plugin(const struct message *m, struct tag *tag)
{
    const char *version = message_get(m, "PLUGIN");

    if (version && strlen(version) < sizeof(tag->plugin) &&
        !version[strspn(version, VERSION_CHARACTERS)])
        (void)strcpy(tag->plugin, version);
}

void tag_clear(struct tag *tag)
{
    free(tag->cgroup);
    free(tag->node);
    free(tag->name);
    free(tag->caller);
    memset(tag, 0, sizeof(*tag));
}

int tag_parse(const struct message *m, struct tag *ret, struct error *error)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    uint64_t direct, mpi, stacks, trace, paths;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(numbers) && !r; i++)
        r = take_number(m, &numbers[i], &tag, error);
    if (!r)
        r = message_get_u64(m, "DIRECT", 1, 0, &direct, error);
    if (!r)
        r = message_get_u64(m, "MPI", 1, 0, &mpi, error);
    if (!r)
        r = message_get_u64(m, "STACKS", 1, 0, &stacks, error);
    if (!r)
        r = message_get_u64(m, "TRACE", 1, 0, &trace, error);
    if (!r)
        r = message_get_u64(m, "TRACE_PATHS", 1, 0, &paths, error);
    if (!r)
        r = take_texts(m, &tag, error);
    if (r < 0)
        return r;
    if (tag.version != 1 && tag.version != 2)
        return error_set(error, -EINVAL, "CGROUP_VERSION is neither 1 nor 2");
    tag.direct = direct;
    tag.mpi = mpi;
    tag.stacks = stacks;
    tag.trace = trace;
    tag.trace_paths = paths;
    take_plugin(m, &tag);
    /* A word of a newer plugin is ignored, like its keys. */
    (void)trace_of_parse(message_get(m, "TRACE_OF"), &tag.trace_of);
    *ret = tag;
    memset(&tag, 0, sizeof(tag));
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

char *tag_file_name(char buf[TAG_FILE_SIZE], uint32_t jobid, uint32_t restart, uint32_t het,
                    uint32_t step)
{
    (void)snprintf(buf, TAG_FILE_SIZE, "%u.%u.%u.%u", jobid, restart, het, step);
    return buf;
}

bool tag_is_file_name(const char *name)
{
    unsigned dots = 0;

    if (!isdigit((unsigned char)*name))
        return false;
    for (const char *c = name; *c; c++) {
        if (*c == '.' && isdigit((unsigned char)c[1]))
            dots++;
        else if (!isdigit((unsigned char)*c))
            return false;
    }
    return dots == 3;
}

int tag_read_file(int dir_fd, const char *name, const char *type, struct message *ret,
                  struct error *error)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    _fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "re");
    _free_ char *line = NULL;
    size_t size = 0;
    ssize_t n;

    if (!file) {
        if (fd >= 0)
            (void)close(fd);
        return error_errno(error, -errno, "cannot read \"%s\"", name);
    }
    message_init(ret, type);
    while ((n = getline(&line, &size, file)) > 0) {
        char *value = strchr(line, '=');

        if (line[n - 1] != '\n' || !value || value == line || strlen(line) != (size_t)n)
            return error_set(error, -EBADMSG, "\"%s\" is truncated or not a list of KEY=VALUE",
                             name);
        line[n - 1] = '\0';
        *value++ = '\0';
        if (message_put(ret, line, value) < 0)
            return error_set(error, -EBADMSG, "\"%s\" is too long", name);
    }
    return feof(file) ? 0 : error_errno(error, -errno, "cannot read \"%s\"", name);
}

static uint64_t end_of(const struct message *m)
{
    uint64_t boot = 0, real = 0, now = clock_ns(CLOCK_BOOTTIME), ago;

    if (message_get_u64(m, "ENDED_BOOT", UINT64_MAX, 0, &boot, NULL) == 0 && boot)
        return boot;
    if (message_get_u64(m, "ENDED_AT", UINT64_MAX, 0, &real, NULL) < 0 || !real)
        return now;
    ago = clock_ns(CLOCK_REALTIME) - real;
    return ago < now ? now - ago : now;
}

/* The step has ended if the file exists, whatever is in it. */
int tag_ended_boot(int dir_fd, const char *name, uint64_t *ret, struct error *error)
{
    _free_ struct message *m = malloc(sizeof(*m));
    char end[TAG_FILE_SIZE + 4];
    int r;

    *ret = 0;
    if (!m)
        return error_set(error, -ENOMEM, "no memory for a step file");
    (void)snprintf(end, sizeof(end), "%s.end", name);
    r = tag_read_file(dir_fd, end, "end", m, error);
    if (r == 0)
        *ret = end_of(m);
    else if (r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EIO)
        return r;
    else if (r != -ENOENT)
        *ret = clock_ns(CLOCK_BOOTTIME);
    return 0;
}

DIR *tag_open_dir(int dir_fd)
{
    int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        cleanup_close(&fd);
    else
        rewinddir(dir);
    return dir;
}

int tag_read_step(int dir_fd, const char *name, struct tag *ret, uint64_t *ended_boot,
                  struct error *error)
{
    _free_ struct message *m = malloc(sizeof(*m));
    int r;

    if (!m)
        return error_set(error, -ENOMEM, "no memory for a step file");
    r = tag_read_file(dir_fd, name, "tag", m, error);
    if (!r)
        r = tag_parse(m, ret, error);
    if (r < 0)
        return r;
    r = tag_ended_boot(dir_fd, name, ended_boot, error);
    if (r < 0)
        tag_clear(ret);
    return r;
}

void tag_reject_file(int dir_fd, const char *name)
{
    char bad[TAG_FILE_SIZE + 4];

    (void)snprintf(bad, sizeof(bad), "%s.bad", name);
    (void)renameat(dir_fd, name, dir_fd, bad);
}

void tag_remove_files(int dir_fd, const char *name)
{
    char end[TAG_FILE_SIZE + 4];

    (void)snprintf(end, sizeof(end), "%s.end", name);
    (void)unlinkat(dir_fd, end, 0);
    (void)unlinkat(dir_fd, name, 0);
}
