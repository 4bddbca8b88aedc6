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
/* At least what trace_file_read_step() needs. */
#define TRACE_FILE_START 512

struct entry {
    char name[TRACE_NAME_SIZE];
    uint64_t bytes, modified_ns;
    struct trace_file_step step; /* set by find_steps() and read_owners() */
    bool gone;
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

static int compare_ages(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->modified_ns > y->modified_ns) - (x->modified_ns < y->modified_ns);
}

/* --- room ------------------------------------------------------------------------------------- */

/* A user, and what the user has in the directory. */
struct owner {
    uint32_t uid;
    uint64_t bytes;
    size_t files; /* that can be removed */
};

struct room {
    const struct trace_directory *directory;
    int dir_fd;
    struct entries entries; /* from the oldest to the youngest */
    uint64_t bytes;         /* of all, and of what is to be put */
    size_t files;
    uint64_t undelivered; /* those that were removed */
    struct owner *owners; /* owned; set if something must be removed that is not too old */
    size_t n_owners;
};

static bool lacks_bytes(const struct room *room)
{
    return room->bytes > room->directory->max_bytes;
}

static bool is_full(const struct room *room)
{
    return lacks_bytes(room) || room->files >= MAX_FILES;
}

/* One that cannot be removed is not tried again. */
static void remove_entry(struct room *room, struct entry *entry)
{
    entry->gone = true;
    if (unlinkat(room->dir_fd, entry->name, 0) < 0)
        return;
    room->bytes -= entry->bytes;
    room->files--;
    room->undelivered += trace_name_is_undelivered(entry->name);
}

static void remove_old(struct room *room)
{
    uint64_t now = clock_ns(CLOCK_REALTIME), keep_ns = room->directory->keep_ns;

    for (size_t i = 0; keep_ns && i < room->entries.n; i++) {
        struct entry *entry = &room->entries.items[i];

        if (entry->modified_ns + keep_ns >= now)
            return;
        remove_entry(room, entry);
    }
}

/* Returns the owner, who is added if necessary: there is room for one of each entry. */
static struct owner *owner_of(struct room *room, uint32_t uid)
{
    struct owner *owner = room->owners;

    for (; owner < room->owners + room->n_owners; owner++)
        if (owner->uid == uid)
            return owner;
    room->n_owners++;
    *owner = (struct owner){.uid = uid};
    return owner;
}

/* Files that are not traces belong to nobody. */
static uint32_t read_owner(int dir_fd, struct entry *entry)
{
    char start[TRACE_FILE_START];
    ssize_t size = read_file(dir_fd, entry->name, start, sizeof(start));

    if (size < 0 || trace_file_read_step(start, (size_t)size, &entry->step) < 0)
        entry->step.uid = UINT32_MAX;
    return entry->step.uid;
}

static int read_owners(struct room *room, uint32_t uid, uint64_t bytes)
{
    room->owners = calloc(room->entries.n + 1, sizeof(*room->owners));
    if (!room->owners)
        return -ENOMEM;
    owner_of(room, uid)->bytes += bytes;
    for (size_t i = 0; i < room->entries.n; i++) {
        struct entry *entry = &room->entries.items[i];
        struct owner *owner;

        if (entry->gone)
            continue;
        owner = owner_of(room, read_owner(room->dir_fd, entry));
        owner->bytes += entry->bytes;
        owner->files++;
    }
    return 0;
}

/* Returns the owner who has the most of what is lacking; NULL: nothing can be removed. */
static struct owner *find_largest(const struct room *room)
{
    struct owner *largest = NULL;
    bool bytes = lacks_bytes(room);

    for (struct owner *owner = room->owners; owner < room->owners + room->n_owners; owner++)
        if (owner->files &&
            (!largest || (bytes ? owner->bytes > largest->bytes : owner->files > largest->files)))
            largest = owner;
    return largest;
}

static void remove_oldest_of(struct room *room, struct owner *owner)
{
    struct entry *entry = room->entries.items;

    while (entry->gone || entry->step.uid != owner->uid)
        entry++;
    owner->bytes -= entry->bytes;
    owner->files--;
    remove_entry(room, entry);
}

static int remove_of_largest(struct room *room, uint32_t uid, uint64_t bytes)
{
    struct owner *owner;
    int r = is_full(room) ? read_owners(room, uid, bytes) : 0;

    while (r == 0 && is_full(room) && (owner = find_largest(room)))
        remove_oldest_of(room, owner);
    free(room->owners);
    return r < 0 ? r : lacks_bytes(room) ? -ENOSPC : 0;
}

/* Remove what is too old. Then, until there is room for so many bytes more of this user, the oldest
 * of the user who has the most: one who traces a lot does not push out the traces of others. */
static int make_room(const struct trace_directory *directory, int dir_fd, uint32_t uid,
                     uint64_t bytes, uint64_t *undelivered)
{
    struct room room = {.directory = directory, .dir_fd = dir_fd, .bytes = bytes};
    int r = bytes > directory->max_bytes ? -ENOSPC : list(dir_fd, &room.entries);

    if (r == 0 && room.entries.n)
        qsort(room.entries.items, room.entries.n, sizeof(*room.entries.items), compare_ages);
    room.files = room.entries.n;
    for (size_t i = 0; i < room.entries.n; i++)
        room.bytes += room.entries.items[i].bytes;
    if (r == 0) {
        remove_old(&room);
        r = remove_of_largest(&room, uid, bytes);
    }
    free(room.entries.items);
    *undelivered = room.undelivered;
    return r;
}

int trace_directory_sweep(const struct trace_directory *directory, uint64_t *undelivered,
                          struct error *error)
{
    _close_ int dir_fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    *undelivered = 0;
    if (dir_fd < 0 && errno == ENOENT)
        return 0;
    r = dir_fd < 0 ? -errno : make_room(directory, dir_fd, UINT32_MAX, 0, undelivered);
    return r < 0 ? error_errno(error, r, "cannot remove old traces in %s", directory->path) : 0;
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
        r = make_room(directory, dir_fd, step->uid, bytes, undelivered);
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

/* Keep the entries of wanted steps only. */
static void find_steps(int dir_fd, const struct trace_query *query, struct entries *entries)
{
    char start[TRACE_FILE_START];
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
