/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/trace/file.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

/* Beyond it, the oldest are removed even if there is room: each put looks at all of them. */
#define MAX_FILES 10000
#define UNFINISHED ".new" /* one thread writes */

struct entry {
    char name[TRACE_NAME_SIZE];
    uint64_t bytes, modified_ns;
    struct trace_file_step step; /* set by find_steps() */
};

struct entries {
    struct entry *items; /* owned */
    size_t n, room;
};

static int add_entry(struct entries *entries, int dir_fd, const char *name)
{
    struct entry *grown;
    struct stat st;

    if (name[0] == '.' || strlen(name) >= TRACE_NAME_SIZE ||
        fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (entries->n == entries->room) {
        size_t room = entries->room ? entries->room * 2 : 64;

        grown = reallocarray(entries->items, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        entries->items = grown;
        entries->room = room;
    }
    grown = &entries->items[entries->n++];
    *grown = (struct entry){.bytes = (uint64_t)st.st_size,
                            .modified_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S +
                                           (uint64_t)st.st_mtim.tv_nsec};
    memcpy(grown->name, name, strlen(name) + 1);
    return 0;
}

bool trace_name_is_undelivered(const char *name)
{
    size_t length = strlen(name), end = strlen(TRACE_UNDELIVERED);

    return length > end && !strcmp(name + length - end, TRACE_UNDELIVERED);
}

static int list(int dir_fd, struct entries *ret)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    if (!dir && fd >= 0)
        (void)close(fd);
    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir)))
        r = add_entry(ret, dir_fd, entry->d_name);
    return r;
}

/* --- put -------------------------------------------------------------------------------------- */

static int open_directory(const char *path, struct error *error)
{
    int fd;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "cannot make %s", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? error_errno(error, -errno, "cannot open %s", path) : fd;
}

static int write_file(int dir_fd, const struct step_trace *step, uint64_t *bytes)
{
    _close_ int fd =
        openat(dir_fd, UNFINISHED, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    long size;
    int r;

    if (!out)
        return -errno;
    fd = -1;
    r = trace_file_write(step, out);
    size = ftell(out);
    if (fclose(out) != 0 && r == 0)
        r = -errno;
    *bytes = size < 0 ? 0 : (uint64_t)size;
    return r;
}

static int compare_ages(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->modified_ns > y->modified_ns) - (x->modified_ns < y->modified_ns);
}

/* Remove the oldest, until there is room for so many bytes more. */
static int make_room(const struct trace_directory *directory, int dir_fd, uint64_t bytes,
                     uint64_t *undelivered)
{
    struct entries entries = {0};
    uint64_t now = clock_ns(CLOCK_REALTIME), used = bytes;
    int r = bytes > directory->max_bytes ? -ENOSPC : list(dir_fd, &entries);

    if (r == 0 && entries.n)
        qsort(entries.items, entries.n, sizeof(*entries.items), compare_ages);
    for (size_t i = 0; i < entries.n; i++)
        used += entries.items[i].bytes;
    for (size_t i = 0; i < entries.n; i++) {
        const struct entry *entry = &entries.items[i];
        bool old = directory->keep_ns && entry->modified_ns + directory->keep_ns < now;

        if (!old && used <= directory->max_bytes && entries.n - i < MAX_FILES)
            break;
        if (unlinkat(dir_fd, entry->name, 0) < 0)
            continue;
        used -= entry->bytes;
        *undelivered += trace_name_is_undelivered(entry->name);
    }
    free(entries.items);
    return r < 0 ? r : used <= directory->max_bytes ? 0 : -ENOSPC;
}

static void format_name(char name[TRACE_NAME_SIZE], const struct step_trace *step, bool deliver)
{
    (void)snprintf(name, TRACE_NAME_SIZE, "%u.%u.%u.%u.%" PRIu64 "%s", step->jobid, step->restart,
                   step->het, step->step, step->start_ns, deliver ? TRACE_UNDELIVERED : "");
}

static int replace(int dir_fd, const struct step_trace *step, const char *name, bool deliver)
{
    char other[TRACE_NAME_SIZE];

    if (renameat(dir_fd, UNFINISHED, dir_fd, name) < 0)
        return -errno;
    format_name(other, step, !deliver);
    (void)unlinkat(dir_fd, other, 0);
    return 0;
}

int trace_directory_put(const struct trace_directory *directory, const struct step_trace *step,
                        uint64_t *undelivered, struct error *error)
{
    _close_ int dir_fd = open_directory(directory->path, error);
    char name[TRACE_NAME_SIZE];
    uint64_t bytes = 0;
    int r;

    *undelivered = 0;
    if (dir_fd < 0)
        return dir_fd;
    format_name(name, step, directory->deliver);
    r = write_file(dir_fd, step, &bytes);
    if (r == 0)
        r = make_room(directory, dir_fd, bytes, undelivered);
    if (r == 0)
        r = replace(dir_fd, step, name, directory->deliver);
    if (r == 0)
        return 0;
    (void)unlinkat(dir_fd, UNFINISHED, 0);
    return error_errno(error, r, "cannot write %s/%s", directory->path, name);
}

/* --- get -------------------------------------------------------------------------------------- */

static bool is_wanted(const struct trace_file_step *step, const struct trace_query *query)
{
    bool same = query->is_task ? step->array_job == query->jobid && step->array_task == query->task
                               : step->jobid == query->jobid;

    return same && (!query->is_step || step->step == query->step) &&
           (query->uid == UINT32_MAX || step->uid == query->uid);
}

/* Read the start of a file, or all of it. Returns the number of bytes, or a negative errno. */
static ssize_t read_file(int dir_fd, const char *name, void *to, size_t size)
{
    _close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t done = 0;

    if (fd < 0)
        return -errno;
    while (done < size) {
        ssize_t n = read(fd, (char *)to + done, size - done);

        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Keep the entries of wanted steps only. */
static void find_steps(int dir_fd, const struct trace_query *query, struct entries *entries)
{
    char start[512];
    size_t n = 0;

    for (size_t i = 0; i < entries->n; i++) {
        struct entry *entry = &entries->items[i];
        ssize_t size = read_file(dir_fd, entry->name, start, sizeof(start));

        if (size > 0 && trace_file_read_step(start, (size_t)size, &entry->step) == 0 &&
            is_wanted(&entry->step, query))
            entries->items[n++] = *entry;
    }
    entries->n = n;
}

/* Of the newest run, and of the job that has the number now. */
static void keep_newest(struct entries *entries)
{
    const struct entry *newest = NULL;
    uint32_t jobid, restart;
    size_t n = 0;

    for (size_t i = 0; i < entries->n; i++)
        if (!newest || entries->items[i].step.start_ns > newest->step.start_ns)
            newest = &entries->items[i];
    if (!newest)
        return;
    jobid = newest->step.jobid;
    restart = newest->step.restart;
    for (size_t i = 0; i < entries->n; i++)
        if (entries->items[i].step.jobid == jobid && entries->items[i].step.restart == restart)
            entries->items[n++] = entries->items[i];
    entries->n = n;
}

static int compare_starts(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->step.start_ns > y->step.start_ns) - (x->step.start_ns < y->step.start_ns);
}

static int read_step(int dir_fd, const char *name, uint64_t bytes, struct step_trace *ret)
{
    _free_ char *data = malloc(bytes + 1);
    ssize_t size;

    if (!data)
        return -ENOMEM;
    size = read_file(dir_fd, name, data, bytes);
    return size < 0 ? (int)size : trace_file_read(data, (size_t)size, ret);
}

int trace_directory_read(const char *path, const char *name, struct step_trace *ret)
{
    _close_ int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (dir_fd < 0 || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? read_step(dir_fd, name, (uint64_t)st.st_size, ret) : -EBADMSG;
}

static int read_steps(int dir_fd, const struct entries *entries, uint64_t max_bytes,
                      struct step_trace *ret, size_t *n, size_t *left_out)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < entries->n; i++) {
        int r;

        bytes += entries->items[i].bytes;
        if (bytes > max_bytes) {
            *left_out = entries->n - i;
            return 0;
        }
        r = read_step(dir_fd, entries->items[i].name, entries->items[i].bytes, &ret[*n]);
        if (r == -ENOMEM)
            return r;
        *n += r == 0;
    }
    return 0;
}

int trace_directory_get(const char *path, const struct trace_query *query, uint64_t max_bytes,
                        struct step_trace **ret, size_t *n, size_t *left_out, struct error *error)
{
    _close_ int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct entries entries = {0};
    struct step_trace *steps = NULL;
    size_t found = 0;
    int r = 0;

    if (dir_fd < 0 && errno != ENOENT)
        return error_errno(error, -errno, "cannot open %s", path);
    if (dir_fd >= 0)
        r = list(dir_fd, &entries);
    if (dir_fd >= 0 && r == 0) {
        find_steps(dir_fd, query, &entries);
        keep_newest(&entries);
        if (entries.n)
            qsort(entries.items, entries.n, sizeof(*entries.items), compare_starts);
    }
    steps = calloc(entries.n + 1, sizeof(*steps));
    *left_out = 0;
    if (!steps)
        r = -ENOMEM;
    if (r == 0)
        r = read_steps(dir_fd, &entries, max_bytes, steps, &found, left_out);
    free(entries.items);
    if (r < 0) {
        trace_directory_free(steps, found);
        return error_errno(error, r, "cannot read the traces in %s", path);
    }
    *ret = steps;
    *n = found;
    return 0;
}

void trace_directory_free(struct step_trace *steps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        step_trace_clear(&steps[i]);
    free(steps);
}
