/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "tests/bpf/truth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/errno_names.h"

#define PLACES 112
#define ERRNOS 140
#define USERS 8192 /* processes and threads of a workload */

struct tally {
    uint64_t requests, async, bytes, errors, errnos[ERRNOS], sizes[IO_BUCKETS];
    uint64_t least, most; /* bounds of the bytes, if `ranged` */
    uint64_t unknown;     /* requests whose order is unknown */
    uint64_t ranged, perhaps;
    uint64_t order[UNKNOWN + 1], crowded;
};

struct truth {
    struct tally tallies[PLACES][IO_OP_COUNT];
    uint64_t closes;
    uint64_t cache[PLACES][CACHE_COUNT], has_cache[PLACES], refills[PLACES];
    uint64_t has_users, user_limit, next_user;
    uint8_t threads[PLACES][IO_USER_KINDS][USERS], processes[PLACES][IO_USER_KINDS][USERS];
};

struct place {
    char mount[PATH_MAX], fstype[64];
    unsigned major, minor;
    bool private;
};

/* Their names in JSON (doc/json.md). */
static const char *const op_names[IO_OP_COUNT] = {
    [IO_READ] = "read",
    [IO_WRITE] = "write",
    [IO_COPY_READ] = "copy_read",
    [IO_COPY_WRITE] = "copy_write",
    [IO_CLONE] = "clone",
    [IO_MMAP_READ] = "mmap_read",
    [IO_MMAP_WRITE] = "mmap_write",
    [IO_OPEN] = "open",
    [IO_CREATE] = "create",
    [IO_STAT] = "stat",
    [IO_READDIR] = "readdir",
    [IO_MKDIR] = "mkdir",
    [IO_RMDIR] = "rmdir",
    [IO_UNLINK] = "unlink",
    [IO_RENAME] = "rename",
    [IO_LINK] = "link",
    [IO_SYMLINK] = "symlink",
    [IO_MKNOD] = "mknod",
    [IO_TRUNCATE] = "truncate",
    [IO_FALLOCATE] = "fallocate",
    [IO_FSYNC] = "fsync",
    [IO_SETATTR] = "setattr",
    [IO_GETXATTR] = "getxattr",
    [IO_SETXATTR] = "setxattr",
    [IO_CLOSE] = "close",
    [IO_LOCK] = "lock",
    [IO_LOOKUP] = "lookup",
};

static struct truth *truth;
static struct place places[PLACES] = {{.mount = "(no mount)", .fstype = "none"}};
static int n_places = 1, exec_place;

void die(const char *what)
{
    perror(what);
    exit(1);
}

long must(long result, const char *what)
{
    if (result < 0)
        die(what);
    return result;
}

void truth_init(void)
{
    truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (truth == MAP_FAILED)
        die("mmap");
}

/* --- places ----------------------------------------------------------------------------------- */

struct mount_line {
    unsigned major, minor;
    char root[1024], where[1024], fstype[64];
};

/* Space, tab, newline, backslash and, in newer kernels, '#' are \\ooo in the table. */
static void unescape(char *text)
{
    char *to = text;

    for (unsigned byte; *text; *to++ = (char)byte) {
        byte = (unsigned char)*text;
        text += *text == '\\' && sscanf(text, "\\%3o", &byte) == 1 ? 4 : 1;
    }
    *to = '\0';
}

static bool parse_line(const char *line, struct mount_line *mount)
{
    const char *dash = strstr(line, " - ");

    if (!dash ||
        sscanf(line, "%*d %*d %u:%u %1023s %1023s", &mount->major, &mount->minor, mount->root,
               mount->where) != 4 ||
        sscanf(dash, " - %63s", mount->fstype) != 1)
        return false;
    unescape(mount->where);
    return true;
}

/* Find the super block of the longest mount point that contains the path; the last mount wins. */
static void find_super(FILE *file, const char *path, struct place *place)
{
    struct mount_line mount;
    char line[4096];
    size_t best = 0;

    while (fgets(line, sizeof(line), file)) {
        size_t n;

        if (!parse_line(line, &mount))
            continue;
        n = strcmp(mount.where, "/") ? strlen(mount.where) : 0;
        if (n < best || strncmp(path, mount.where, n) || (path[n] && path[n] != '/'))
            continue;
        best = n;
        place->major = mount.major;
        place->minor = mount.minor;
        snprintf(place->fstype, sizeof(place->fstype), "%s", mount.fstype);
    }
}

/* The name of a super block: prefer mounts of its root, then the shortest path. */
static void find_name(FILE *file, struct place *place)
{
    struct mount_line mount;
    char line[4096];
    bool whole = false;

    place->mount[0] = '\0';
    while (fgets(line, sizeof(line), file)) {
        bool is_root, better;

        if (!parse_line(line, &mount) || mount.major != place->major || mount.minor != place->minor)
            continue;
        is_root = !strcmp(mount.root, "/");
        better = is_root == whole && strlen(mount.where) < strlen(place->mount);
        if (place->mount[0] && !better && (whole || !is_root))
            continue;
        whole = is_root;
        snprintf(place->mount, sizeof(place->mount), "%s", mount.where);
    }
}

/* Returns true if the host's mount namespace does not have it. */
static bool is_private(const struct place *place)
{
    FILE *file = fopen("/proc/1/mountinfo", "re");
    struct mount_line mount;
    char line[4096];
    bool found = false;

    if (!file)
        die("/proc/1/mountinfo");
    while (!found && fgets(line, sizeof(line), file))
        found =
            parse_line(line, &mount) && mount.major == place->major && mount.minor == place->minor;
    fclose(file);
    return !found;
}

int place_of(const char *path)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    struct place *place = &places[n_places];

    if (!file || n_places == PLACES)
        die(path);
    find_super(file, path, place);
    for (int i = 1; i < n_places; i++) {
        if (places[i].major != place->major || places[i].minor != place->minor)
            continue;
        fclose(file);
        return i;
    }
    rewind(file);
    find_name(file, place);
    fclose(file);
    place->private = is_private(place);
    return n_places++;
}

int place_of_memory(int fd)
{
    struct place *place = &places[n_places];
    struct stat st;

    if (n_places == PLACES)
        die("memory");
    must(fstat(fd, &st), "fstat");
    place->major = major(st.st_dev);
    place->minor = minor(st.st_dev);
    snprintf(place->mount, sizeof(place->mount), "(memory)");
    snprintf(place->fstype, sizeof(place->fstype), "tmpfs");
    return n_places++;
}

/* A handle of no bytes is too small for a file that exists. */
bool is_absent(const char *path)
{
    struct file_handle none = {.handle_bytes = 0};
    int mount;

    return name_to_handle_at(AT_FDCWD, path, &none, &mount, 0) < 0 &&
           (errno == ENOENT || errno == ENOTDIR);
}

void place_gone(int place)
{
    places[place].major = UINT_MAX;
}

void place_name(int place, const char *name)
{
    snprintf(places[place].mount, sizeof(places[place].mount), "%s", name);
}

/* --- notes ------------------------------------------------------------------------------------ */

static void add(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Numbers of the calling thread and its process, which no other one has. */
static void find_user(uint64_t *thread, uint64_t *process)
{
    static __thread uint64_t own;
    static __thread pid_t known;
    static uint64_t first;
    static pid_t first_known;

    if (known != gettid()) { /* a new thread or child */
        own = __atomic_fetch_add(&truth->next_user, 1, __ATOMIC_RELAXED);
        known = gettid();
    }
    /* Threads of a process may get here at once, but they start when their parent has been here. */
    if (first_known != getpid()) {
        first = __atomic_fetch_add(&truth->next_user, 1, __ATOMIC_RELAXED);
        first_known = getpid();
    }
    if (own >= USERS || first >= USERS)
        die("too many users");
    *thread = own;
    *process = first;
}

static void note_user(int place, enum io_op op)
{
    enum io_user_kind kind = IO_READS & 1ull << op ? IO_READERS : IO_WRITERS;
    uint64_t thread, process;

    if (!((IO_READS | IO_WRITES) & 1ull << op))
        return;
    find_user(&thread, &process);
    truth->threads[place][kind][thread] = 1;
    truth->processes[place][kind][process] = 1;
}

void did_users(uint64_t limit)
{
    uint64_t thread, process;

    truth->has_users = 1;
    truth->user_limit = limit;
    find_user(&thread, &process);
}

static struct tally *note(int place, enum io_op op, long result, int code)
{
    struct tally *tally = &truth->tallies[place][op];

    if (op == IO_CLOSE)
        truth->closes = 1;
    if (truth->has_users)
        note_user(place, op);
    add(&tally->requests, 1);
    if (result < 0) {
        add(&tally->errors, 1);
        add(&tally->errnos[code], 1);
    } else if (op < IO_OP_FIRST_META) {
        unsigned bucket = 0;

        while (bucket < IO_BUCKETS - 1 && (uint64_t)result > 1ull << bucket)
            bucket++;
        add(&tally->bytes, (uint64_t)result);
        add(&tally->sizes[bucket], 1);
    }
    return tally;
}

long did(int place, enum io_op op, long result)
{
    note(place, op, result, errno);
    return result;
}

void truth_exec(int place)
{
    exec_place = place;
    did(place, IO_OPEN, 0);
}

void did_exec(void)
{
    did(exec_place, IO_OPEN, 0);
}

void did_async(int place, enum io_op op, long result)
{
    add(&note(place, op, result, (int)-result)->async, 1);
}

long did_in_order(int place, enum io_op op, long result, enum truth_order order)
{
    add(&truth->tallies[place][op].order[order], 1);
    return result;
}

void did_in_crowd(int place, enum io_op op)
{
    truth->tallies[place][op].crowded = 1;
}

void did_between(int place, enum io_op op, uint64_t least, uint64_t most)
{
    struct tally *tally = &truth->tallies[place][op];

    tally->ranged = tally->unknown = 1;
    tally->least = least;
    tally->most = most;
}

void did_bytes(int place, enum io_op op, uint64_t bytes)
{
    truth->tallies[place][op].unknown = 1;
    add(&truth->tallies[place][op].bytes, bytes);
}

void did_perhaps(int place, enum io_op op)
{
    truth->tallies[place][op].perhaps = 1;
}

void did_cache(int place, enum truth_cache what, uint64_t bytes)
{
    truth->has_cache[place] = 1;
    add(&truth->cache[place][what], bytes);
}

bool place_is(int place, const char *fstype)
{
    return !strcmp(places[place].fstype, fstype);
}

void did_refill(int place)
{
    truth->refills[place] = 1;
}

long did_well(int place, enum io_op op, long result, const char *what)
{
    if (did(place, op, result) < 0)
        die(what);
    return result;
}

void did_fail(int place, enum io_op op, long result, int code, const char *what)
{
    if (result >= 0 || errno != code)
        die(what);
    did(place, op, result);
}

/* --- printing --------------------------------------------------------------------------------- */

static void print_errnos(const struct tally *tally)
{
    const char *comma = "";

    printf("\"errno\":{");
    for (int i = 0; i < ERRNOS; i++) {
        if (!tally->errnos[i])
            continue;
        printf("%s\"%s\":%" PRIu64, comma, errno_name(i), tally->errnos[i]);
        comma = ",";
    }
    printf("}");
}

static void print_sizes(const struct tally *tally)
{
    int last = IO_BUCKETS - 1;

    while (last >= 0 && !tally->sizes[last])
        last--;
    printf(",\"size_log2\":[");
    for (int i = 0; i <= last; i++)
        printf("%s%" PRIu64, i ? "," : "", tally->sizes[i]);
    printf("]");
}

static void print_order(const struct tally *tally)
{
    const uint64_t *order = tally->order;

    if (!order[SEQUENTIAL] && !order[RANDOM] && !order[UNKNOWN])
        return;
    printf(tally->crowded ? ",\"sequential_requests\":[1,%" PRIu64
                            "],\"random_requests\":[1,%" PRIu64 "]"
                          : ",\"sequential_requests\":%" PRIu64 ",\"random_requests\":%" PRIu64,
           order[SEQUENTIAL], order[RANDOM]);
}

/* Missing fields are not compared; a pair is a range. */
static void print_tally(const struct tally *tally, enum io_op op)
{
    printf("\"%s\":{", op_names[op]);
    if (!tally->perhaps) {
        if (tally->ranged)
            printf("\"bytes\":[%" PRIu64 ",%" PRIu64 "],", tally->least, tally->most);
        else
            printf("\"bytes\":%" PRIu64 ",", tally->bytes);
        if (!tally->unknown)
            printf("\"requests\":%" PRIu64 ",\"async_requests\":%" PRIu64 ",", tally->requests,
                   tally->async);
        printf("\"errors\":%" PRIu64 ",", tally->errors);
        print_errnos(tally);
        if (!tally->unknown)
            print_sizes(tally);
        print_order(tally);
    }
    printf("}");
}

static void print_cache(const uint64_t *cache, bool refills)
{
    uint64_t written = cache[CACHE_FILL_WRITE];

    printf(",\"cache\":{\"hit_bytes\":%" PRIu64 ",\"miss_bytes\":%" PRIu64
           ",\"fill_bytes\":{\"read\":%" PRIu64 ",\"fault\":%" PRIu64 ",\"prefetch\":%" PRIu64
           ",\"write\":",
           cache[CACHE_HIT], cache[CACHE_MISS], cache[CACHE_FILL_READ], cache[CACHE_FILL_FAULT],
           cache[CACHE_FILL_PREFETCH]);
    printf(refills ? "[%" PRIu64 ",%" PRIu64 "]}}" : "%" PRIu64 "}}", written, 2 * written);
}

static uint64_t count_users(const uint8_t *users)
{
    uint64_t n = 0;

    for (int i = 0; i < USERS; i++)
        n += users[i];
    return n;
}

static uint64_t up_to_limit(uint64_t n)
{
    return truth->user_limit && n > truth->user_limit ? truth->user_limit : n;
}

static void print_users(int p)
{
    static const char *const names[IO_USER_KINDS] = {"readers", "writers"};

    printf(",\"has_users\":true");
    for (int kind = 0; kind < IO_USER_KINDS; kind++) {
        uint64_t processes = count_users(truth->processes[p][kind]);

        if (!processes)
            continue;
        printf(",\"%s\":{\"processes\":%" PRIu64 ",\"threads\":%" PRIu64 ",\"at_least\":%s}",
               names[kind], up_to_limit(processes),
               up_to_limit(count_users(truth->threads[p][kind])),
               up_to_limit(processes) < processes ? "true" : "false");
    }
}

static bool is_noted(const struct tally *tally)
{
    return tally->requests || tally->unknown || tally->perhaps;
}

static bool print_place(int p, const char *comma)
{
    bool any = false;

    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct tally *tally = &truth->tallies[p][op];

        if (!is_noted(tally))
            continue;
        if (!any)
            printf("%s{\"mount\":\"%s\",\"dev\":\"%u:%u\",\"fstype\":\"%s\","
                   "\"private\":%s,\"ops\":{",
                   comma, places[p].mount, places[p].major, places[p].minor, places[p].fstype,
                   places[p].private ? "true" : "false");
        else
            printf(",");
        print_tally(tally, op);
        any = true;
    }
    if (!any)
        return false;
    printf("}");
    if (truth->has_cache[p])
        print_cache(truth->cache[p], truth->refills[p]);
    if (truth->has_users)
        print_users(p);
    printf("}");
    return true;
}

void truth_print(const char *workload)
{
    const char *comma = "";

    if (truth->closes)
        did(exec_place, IO_CLOSE, 0);
    printf("{\"workload\":\"%s\",\"exec\":\"%s\",\"closes\":%s,\"mounts\":[", workload,
           places[exec_place].mount, truth->closes ? "true" : "false");
    for (int p = 0; p < n_places; p++)
        if (print_place(p, comma))
            comma = ",\n";
    printf("]}\n");
}
