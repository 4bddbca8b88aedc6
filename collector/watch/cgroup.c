/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/watch/cgroup.h"

#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"

#define CGROUP2_DEFAULT "/sys/fs/cgroup"
/* linux/proc_ns.h: PROC_CGROUP_INIT_INO, the namespace of the host. */
#define HOST_CGROUP_NAMESPACE 0xEFFFFFFBu

struct cgroup {
    char *directory;
    char *own; /* our own directory, to which remaining processes are moved */
    char *top;
    uint64_t id;
    unsigned level;
};

/* --- where cgroup2 is ------------------------------------------------------------------------- */

/* mountinfo writes a blank, tab, newline and backslash as three octal digits. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *p = text; *p;) {
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
            p[3] >= '0' && p[3] <= '7') {
            *to++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
            p += 4;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
}

/* The fourth and fifth field of a line whose type, behind " - ", is cgroup2. */
static bool line_is_cgroup2(char *line, char **root, char **mount)
{
    static const char mark[] = " - cgroup2 ";
    char *save = NULL, *field;

    if (!strstr(line, mark))
        return false;
    field = strtok_r(line, " ", &save);
    for (int i = 1; field && i < 4; i++)
        field = strtok_r(NULL, " ", &save);
    *root = field;
    *mount = strtok_r(NULL, " ", &save);
    return *root && *mount;
}

int cgroup2_find(FILE *mountinfo, char **ret_mount, char **ret_root)
{
    _free_ char *line = NULL, *best_mount = NULL, *best_root = NULL;
    size_t size = 0;

    while (getline(&line, &size, mountinfo) > 0) {
        char *root, *mount;

        if (!line_is_cgroup2(line, &root, &mount))
            continue;
        unescape(mount);
        unescape(root);
        if (best_mount && strcmp(mount, CGROUP2_DEFAULT) != 0)
            continue;
        free(best_mount);
        free(best_root);
        best_mount = strdup(mount);
        best_root = strdup(root);
        if (!best_mount || !best_root)
            return -ENOMEM;
    }
    if (!best_mount)
        return -ENOTSUP;
    *ret_mount = TAKE_PTR(best_mount);
    *ret_root = TAKE_PTR(best_root);
    return 0;
}

int cgroup2_own(FILE *self_cgroup, char **ret)
{
    _free_ char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, self_cgroup) > 0) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        *ret = strdup(line + 3);
        return *ret ? 0 : -ENOMEM;
    }
    return -ENOTSUP;
}

char *cgroup2_directory(const char *mount, const char *root, const char *path)
{
    size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const char *below = path + n;

    if (strncmp(path, root, n) != 0 || (*below && *below != '/'))
        return NULL;
    if (strcmp(below, "/") == 0)
        below = "";
    return text_format("%s%s", mount, below);
}

unsigned cgroup_depth(const char *path)
{
    unsigned depth = 0;

    for (const char *p = path; *p; p++)
        depth += *p == '/' && p[1] && p[1] != '/';
    return depth;
}

/* --- files of a cgroup ------------------------------------------------------------------------ */

static int file_write(const char *directory, const char *name, const char *text)
{
    _free_ char *path = NULL;
    _close_ int fd = -1;

    if (asprintf(&path, "%s/%s", directory, name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static FILE *file_open(const char *directory, const char *name)
{
    _free_ char *path = NULL;

    if (asprintf(&path, "%s/%s", directory, name) < 0) {
        path = NULL;
        return NULL;
    }
    return fopen(path, "re");
}

static int pid_write(const char *directory, pid_t pid)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    return file_write(directory, "cgroup.procs", text);
}

/* --- the tree --------------------------------------------------------------------------------- */

/* The command may have mounted something there: leave that alone. */
static bool is_cgroup(const char *directory)
{
    struct statfs fs;

    return statfs(directory, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Call `each` for the cgroup and all below it, children first. */
static void tree_walk(const struct cgroup *cgroup, void (*each)(const char *directory, void *arg),
                      void *arg)
{
    char *const paths[] = {cgroup->directory, NULL};
    FTS *fts = is_cgroup(cgroup->directory)
                   ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL)
                   : NULL;
    const FTSENT *entry;

    while (fts && (entry = fts_read(fts))) {
        if (entry->fts_info == FTS_DP)
            each(entry->fts_path, arg);
    }
    if (fts)
        (void)fts_close(fts);
}

static void remove_one(const char *directory, void *arg)
{
    const struct cgroup *cgroup = arg;
    _fclose_ FILE *procs = file_open(directory, "cgroup.procs");
    int pid;

    while (procs && fscanf(procs, "%d", &pid) == 1)
        (void)pid_write(cgroup->own, pid);
    (void)rmdir(directory);
}

static void count_one(const char *directory, void *arg)
{
    _fclose_ FILE *procs = file_open(directory, "cgroup.procs");
    size_t *n = arg;
    int pid;

    while (procs && fscanf(procs, "%d", &pid) == 1)
        ++*n;
}

/* --- processes -------------------------------------------------------------------------------- */

static bool is_populated(int events_fd)
{
    char text[256];
    ssize_t n = pread(events_fd, text, sizeof(text) - 1, 0);

    if (n < 0)
        return false;
    text[n] = '\0';
    return strstr(text, "populated 1") != NULL;
}

static unsigned elapsed_ms(uint64_t since_ns)
{
    return (unsigned)((clock_ns(CLOCK_MONOTONIC) - since_ns) / NS_PER_MS);
}

/* Wait until it is empty, up to that time. A process that is about to end is still in it, though
 * cgroup.procs does not list it. */
static bool wait_empty(const struct cgroup *cgroup, unsigned wait_ms)
{
    _fclose_ FILE *events = file_open(cgroup->directory, "cgroup.events");
    uint64_t start_ns;
    unsigned used;

    if (!events)
        return true;
    start_ns = clock_ns(CLOCK_MONOTONIC);
    while (is_populated(fileno(events)) && (used = elapsed_ms(start_ns)) < wait_ms) {
        struct pollfd p = {.fd = fileno(events), .events = POLLPRI};

        (void)poll(&p, 1, (int)(wait_ms - used));
    }
    return !is_populated(fileno(events));
}

size_t cgroup_processes(const struct cgroup *cgroup, unsigned wait_ms)
{
    size_t n = 0;

    if (!wait_empty(cgroup, wait_ms))
        tree_walk(cgroup, count_one, &n);
    return n;
}

struct task_list {
    uint32_t *pids;
    size_t n, max;
};

static void list_one(const char *directory, void *arg)
{
    _fclose_ FILE *procs = file_open(directory, "cgroup.procs");
    struct task_list *list = arg;

    while (procs && list->n < list->max && fscanf(procs, "%" SCNu32, &list->pids[list->n]) == 1)
        list->n++;
}

size_t cgroup_tasks(const struct cgroup *cgroup, uint32_t *pids, size_t max)
{
    struct task_list list = {.pids = pids, .max = max};

    tree_walk(cgroup, list_one, &list);
    return list.n;
}

/* --- start and stop
 * --------------------------------------------------------------------------------------
 */

int cgroup_remove(struct cgroup *cgroup, struct error *error)
{
    _free_ char *directory = cgroup->directory;
    int r = 0;

    /* Repeat: processes may fork meanwhile, and one that is about to end cannot be moved. */
    for (int tries = 0; directory && access(directory, F_OK) == 0 && tries < 100; tries++) {
        tree_walk(cgroup, remove_one, cgroup);
        (void)wait_empty(cgroup, 20);
    }
    if (directory && access(directory, F_OK) == 0)
        r = error_set(error, -EBUSY, "the cgroup \"%s\" stays: a process or a mount keeps it",
                      directory);
    cgroup->directory = NULL;
    return r;
}

void cgroup_destroy(struct cgroup *cgroup)
{
    if (!cgroup)
        return;
    (void)cgroup_remove(cgroup, NULL);
    free(cgroup->own);
    free(cgroup->top);
    free(cgroup);
}
DEFINE_CLEANUP(struct cgroup, cgroup_destroy)

/* A threaded cgroup may have children, but these cannot have processes. */
static bool takes_processes(const char *directory)
{
    _fclose_ FILE *type = file_open(directory, "cgroup.type");
    char word[32] = "";

    return type && fgets(word, sizeof(word), type) && strncmp(word, "domain invalid", 14) != 0;
}

/* Remove what a killed jobio with the same process number has left. */
static int make_directory(const char *directory)
{
    if (mkdir(directory, 0755) == 0)
        return 0;
    if (errno != EEXIST || rmdir(directory) < 0)
        return -errno;
    return mkdir(directory, 0755) < 0 ? -errno : 0;
}

/* Make `parent`/jobio-run-PID. `path` is that of the parent in the hierarchy. */
static int cgroup_make(struct cgroup *cgroup, const char *parent, const char *path)
{
    struct stat st;
    char *directory;
    int rc;

    if (asprintf(&directory, "%s/jobio-run-%d", parent, (int)getpid()) < 0)
        return -ENOMEM;
    rc = make_directory(directory);
    if (rc < 0) {
        free(directory);
        return rc;
    }
    if (stat(directory, &st) < 0 || !takes_processes(directory)) {
        (void)rmdir(directory);
        free(directory);
        return -EOPNOTSUPP;
    }
    cgroup->directory = directory;
    cgroup->id = st.st_ino;
    cgroup->level = cgroup_depth(path) + 1;
    return 0;
}

/* The namespace matters: below another one's root, paths do not tell the depth. */
static int check_namespace(struct error *error)
{
    struct stat st;

    if (stat("/proc/self/ns/cgroup", &st) == 0 && st.st_ino != HOST_CGROUP_NAMESPACE)
        return error_set(error, -ENOTSUP,
                         "this is a cgroup namespace (a container?): run jobio on the host, or "
                         "start the container with the host's cgroup namespace");
    return 0;
}

static int find_paths(char **mount, char **root, char **path, struct error *error)
{
    _fclose_ FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    _fclose_ FILE *self = fopen("/proc/self/cgroup", "re");

    if (!mountinfo || !self)
        return error_errno(error, -errno, "read /proc/self");
    if (cgroup2_find(mountinfo, mount, root) < 0 || cgroup2_own(self, path) < 0)
        return error_set(error, -ENOTSUP,
                         "no cgroup2 file system is mounted: 'mount -t cgroup2 cgroup2 "
                         "/sys/fs/cgroup/unified' (the directory must exist) mounts one");
    return 0;
}

int cgroup_create(struct cgroup **ret, struct error *error)
{
    CLEANUP(cgroup_destroyp) struct cgroup *cgroup = NULL;
    _free_ char *mount = NULL, *root = NULL, *path = NULL, *own = NULL;
    int rc = check_namespace(error);

    if (rc == 0)
        rc = find_paths(&mount, &root, &path, error);
    if (rc < 0)
        return rc;
    own = cgroup2_directory(mount, root, path);
    rc = -ENOENT;
    cgroup = calloc(1, sizeof(*cgroup));
    if (cgroup && own)
        rc = cgroup_make(cgroup, own, path);
    if (cgroup && rc < 0)
        rc = cgroup_make(cgroup, mount, root);
    if (!cgroup || rc < 0)
        return error_errno(error, cgroup ? rc : -ENOMEM, "make a cgroup below \"%s\"", mount);
    cgroup->own = own ? TAKE_PTR(own) : strdup(mount);
    cgroup->top = TAKE_PTR(mount);
    *ret = TAKE_PTR(cgroup);
    return 0;
}

uint64_t cgroup_id(const struct cgroup *cgroup)
{
    return cgroup->id;
}

unsigned cgroup_level(const struct cgroup *cgroup)
{
    return cgroup->level;
}

const char *cgroup_top(const struct cgroup *cgroup)
{
    return cgroup->top;
}

int cgroup_enter(const struct cgroup *cgroup, pid_t pid, struct error *error)
{
    int rc = pid_write(cgroup->directory, pid);

    return rc < 0 ? error_errno(error, rc, "move a process to \"%s\"", cgroup->directory) : 0;
}
