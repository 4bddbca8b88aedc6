/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/cgroup/hierarchy.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"

struct hierarchy {
    char *mountinfo;
    char *v2, *freezer; /* where they are mounted; NULL: not (yet) */
};

/* --- mounts ----------------------------------------------------------------------------------- */

/* Fields: id parent dev root mount options... - type source super-options. Mount points of cgroup
 * hierarchies have no blanks, so nothing is unescaped here. */
static void take_line(struct hierarchy *h, char *line)
{
    char *dash = strstr(line, " - "), *save = NULL, *root, *mount;
    bool is_v2 = dash && !strncmp(dash, " - cgroup2 ", 11);
    bool is_v1 = dash && !strncmp(dash, " - cgroup ", 10) && strstr(dash, "freezer");
    char **slot = is_v2 ? &h->v2 : &h->freezer;

    if (!is_v2 && !is_v1)
        return;
    (void)strtok_r(line, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    root = strtok_r(NULL, " ", &save);
    mount = strtok_r(NULL, " ", &save);
    if (!root || !mount || strcmp(root, "/") != 0 || *slot)
        return;
    *slot = strdup(mount);
}

static int read_mounts(struct hierarchy *h, struct error *error)
{
    _fclose_ FILE *file = fopen(h->mountinfo, "re");
    _free_ char *line = NULL;
    size_t size = 0;

    if (!file)
        return error_errno(error, -errno, "cannot open %s", h->mountinfo);
    free(TAKE_PTR(h->v2));
    free(TAKE_PTR(h->freezer));
    while (getline(&line, &size, file) > 0)
        take_line(h, line);
    return 0;
}

void hierarchy_destroy(struct hierarchy *h)
{
    if (!h)
        return;
    free(h->mountinfo);
    free(h->v2);
    free(h->freezer);
    free(h);
}
DEFINE_CLEANUP(struct hierarchy, hierarchy_destroy)

int hierarchy_create(struct hierarchy **ret, const char *mountinfo, struct error *error)
{
    CLEANUP(hierarchy_destroyp) struct hierarchy *h = calloc(1, sizeof(*h));
    int r;

    if (h)
        h->mountinfo = strdup(mountinfo);
    if (!h || !h->mountinfo)
        return error_set(error, -ENOMEM, "no memory for the cgroup hierarchies");
    r = read_mounts(h, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(h);
    return 0;
}

static const char *mount_of(struct hierarchy *h, int version)
{
    char **slot = version == 1 ? &h->freezer : &h->v2;

    if (!*slot)
        (void)read_mounts(h, NULL);
    return *slot;
}

/* --- questions -------------------------------------------------------------------------------- */

int hierarchy_check(struct hierarchy *h, int version, const char *path, uint64_t id,
                    struct error *error)
{
    const char *mount = mount_of(h, version);
    _free_ char *full = NULL;
    struct stat st;

    if (!mount)
        return error_set(error, -ENOTSUP, "no cgroup v%d hierarchy is mounted", version);
    if (asprintf(&full, "%s%s", mount, path) < 0) {
        full = NULL;
        return error_set(error, -ENOMEM, "no memory for a path");
    }
    if (stat(full, &st) < 0)
        return error_errno(error, -errno, "cgroup \"%s\"", path);
    if (!S_ISDIR(st.st_mode) || st.st_ino != id)
        return error_set(error, -ESTALE, "cgroup \"%s\" has the id %llu, not %llu", path,
                         (unsigned long long)st.st_ino, (unsigned long long)id);
    return 0;
}

static bool read_small(const char *path, char *buf, size_t size)
{
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

    buf[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

bool hierarchy_is_deserted(struct hierarchy *h, int version, const char *path)
{
    const char *mount = mount_of(h, version), *slash = strrchr(path, '/');
    _free_ char *events = NULL;
    char text[256];

    if (version != 2 || !mount || !slash || slash == path)
        return false;
    if (asprintf(&events, "%s%.*s/cgroup.events", mount, (int)(slash - path), path) < 0) {
        events = NULL;
        return false;
    }
    return read_small(events, text, sizeof(text)) && strstr(text, "populated 0");
}

size_t hierarchy_processes(struct hierarchy *h, const char *path)
{
    const char *mount = mount_of(h, 2);
    _fclose_ FILE *procs = NULL;
    char full[1100], text[256];
    size_t n = 0;

    (void)snprintf(full, sizeof(full), "%s%s/cgroup.events", mount ? mount : "", path);
    if (!mount || !read_small(full, text, sizeof(text)) || !strstr(text, "populated 1"))
        return 0;
    (void)snprintf(full, sizeof(full), "%s%s/cgroup.procs", mount, path);
    procs = fopen(full, "re");
    while (procs && fgets(text, sizeof(text), procs))
        n++;
    return n ? n : 1;
}

struct task_list {
    uint32_t *pids;
    size_t n, max;
};

static void list_tasks(int parent, const char *name, struct task_list *list)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    _closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int procs = dir ? openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC) : -1;
    _fclose_ FILE *file = procs < 0 ? NULL : fdopen(procs, "re");
    struct dirent *entry;

    while (file && list->n < list->max && fscanf(file, "%" SCNu32, &list->pids[list->n]) == 1)
        list->n++;
    while (dir && list->n < list->max && (entry = readdir(dir)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            list_tasks(fd, entry->d_name, list);
}

size_t hierarchy_tasks(struct hierarchy *h, int version, const char *path, uint32_t *pids,
                       size_t max)
{
    struct task_list list = {.pids = pids, .max = max};
    const char *mount = mount_of(h, version);
    _free_ char *full = NULL;

    if (!mount || asprintf(&full, "%s%s", mount, path) < 0) {
        full = NULL;
        return 0;
    }
    list_tasks(AT_FDCWD, full, &list);
    return list.n;
}

#define OTHER_CGROUP "start it in another cgroup, such as a new login session"

/* A line is ID:CONTROLLERS:PATH. */
static char *find_line(char *text, int version)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *path = strstr(line, ":/");
        bool is_freezer = strstr(line, "freezer") && strstr(line, "freezer") < path;

        if (path && (version == 2 ? !strncmp(line, "0::", 3) : is_freezer))
            return path + 1;
    }
    return NULL;
}

static int path_of(pid_t pid, int version, char buf[512], struct error *error)
{
    _fclose_ FILE *file = NULL;
    _free_ char *text = NULL;
    size_t size = 0;
    char name[64], *path;

    (void)snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
    file = fopen(name, "re");
    /* All of it: a truncated path would be that of another cgroup. */
    if (!file || getdelim(&text, &size, '\0', file) <= 0)
        return error_set(error, -ESRCH, "process %d is gone", (int)pid);
    path = find_line(text, version);
    if (!path)
        return error_set(error, -ENOTSUP, "process %d is in no cgroup v%d", (int)pid, version);
    if (strlen(path) >= 512)
        return error_set(error, -ENAMETOOLONG,
                         "process %d: the path of its cgroup is too long (%zu bytes, at most "
                         "511): " OTHER_CGROUP,
                         (int)pid, strlen(path));
    (void)snprintf(buf, 512, "%s", path);
    return 0;
}

int hierarchy_of(pid_t pid, char buf[512], struct error *error)
{
    return path_of(pid, 2, buf, error);
}

int hierarchy_freezer_of(pid_t pid, char buf[512], struct error *error)
{
    return path_of(pid, 1, buf, error);
}

/* --- leaves ----------------------------------------------------------------------------------- */

static int write_small(const char *path, const char *text)
{
    _close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static unsigned depth(const char *path)
{
    unsigned n = 0;

    for (; *path; path++)
        n += *path == '/' && path[1];
    return n;
}

static int leaf_fill(const char *full, const char *path, struct hierarchy_leaf *ret)
{
    struct stat st;

    if (stat(full, &st) < 0)
        return -errno;
    (void)snprintf(ret->path, sizeof(ret->path), "%s", path);
    ret->id = st.st_ino;
    ret->level = depth(path);
    return 0;
}

static int leaf_make(const char *mount, const char *parent, pid_t pid, const char *name,
                     struct hierarchy_leaf *ret)
{
    char path[512], full[1024], procs[1100], number[16];
    int r;

    r = snprintf(path, sizeof(path), "%s/%s", strcmp(parent, "/") ? parent : "", name);
    if (r >= (int)sizeof(path))
        return -ENAMETOOLONG;
    (void)snprintf(full, sizeof(full), "%s%s", mount, path);
    (void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", full);
    (void)snprintf(number, sizeof(number), "%d", (int)pid);
    if (mkdir(full, 0755) < 0)
        return -errno;
    r = write_small(procs, number);
    if (!r)
        r = leaf_fill(full, path, ret);
    if (r < 0)
        (void)rmdir(full);
    return r;
}

static int level_of(const char *path)
{
    int level = 0;

    for (; *path; path++)
        level += *path == '/';
    return level;
}

int hierarchy_children(struct hierarchy *h, const char *path, hierarchy_child_f each, void *arg)
{
    const char *mount = mount_of(h, 2);
    struct hierarchy_leaf child;
    char full[1024];
    _closedir_ DIR *dir = NULL;
    struct dirent *entry;
    struct stat st;

    if (!mount)
        return -ENOTSUP;
    (void)snprintf(full, sizeof(full), "%s%s", mount, path);
    dir = opendir(full);
    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (snprintf(child.path, sizeof(child.path), "%s/%s", path, entry->d_name) >=
            (int)sizeof(child.path))
            continue;
        child.id = st.st_ino;
        child.level = (unsigned)level_of(child.path);
        each(&child, arg);
    }
    return 0;
}

void hierarchy_find(struct hierarchy *h, int version, const char *pattern, hierarchy_child_f each,
                    void *arg)
{
    const char *mount = mount_of(h, version);
    struct hierarchy_leaf leaf;
    char full[1024];
    glob_t found;
    struct stat st;

    if (!mount)
        return;
    (void)snprintf(full, sizeof(full), "%s%s", mount, pattern);
    if (glob(full, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *path = found.gl_pathv[i];

            if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
                strlen(path) - strlen(mount) >= sizeof(leaf.path))
                continue;
            strcpy(leaf.path, path + strlen(mount));
            leaf.id = st.st_ino;
            leaf.level = (unsigned)level_of(leaf.path);
            each(&leaf, arg);
        }
    }
    globfree(&found);
}

bool hierarchy_is_mounted(struct hierarchy *h, int version)
{
    return mount_of(h, version) != NULL;
}

static const char *describe_refusal(int r)
{
    switch (r) {
    case -ENAMETOOLONG:
        return "the path of its cgroup is too long";
    case -EAGAIN:
        return "its cgroup.max.descendants or cgroup.max.depth allows no more";
    case -EOPNOTSUPP:
        return "its cgroup is threaded";
    default:
        return strerror(-r);
    }
}

int hierarchy_enclose(struct hierarchy *h, pid_t pid, const char *name, struct hierarchy_leaf *ret,
                      struct error *error)
{
    const char *mount = mount_of(h, 2);
    char own[512];
    int r = hierarchy_of(pid, own, error);

    if (r < 0)
        return r;
    if (!mount)
        return error_set(error, -ENOTSUP, "no cgroup v2 hierarchy is mounted");
    r = leaf_make(mount, own, pid, name, ret);
    if (!r)
        return 0;
    return error_set(error, r, "cannot make a cgroup below that of process %d: %s: " OTHER_CGROUP,
                     (int)pid, describe_refusal(r));
}

int hierarchy_enclose_anywhere(struct hierarchy *h, pid_t pid, const char *name,
                               struct hierarchy_leaf *ret, struct error *error)
{
    const char *mount = mount_of(h, 2);
    char ours[1024];
    int r = hierarchy_enclose(h, pid, name, ret, error);

    if (!r || !mount || r == -ESRCH)
        return r;
    (void)snprintf(ours, sizeof(ours), "%s/jobio", mount);
    if (mkdir(ours, 0755) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "cannot make the cgroup /jobio");
    r = leaf_make(mount, "/jobio", pid, name, ret);
    return r < 0 ? error_errno(error, r, "cannot make a cgroup for process %d", (int)pid) : 0;
}

int hierarchy_remove(struct hierarchy *h, const char *path)
{
    const char *mount = mount_of(h, 2);
    char full[1024];

    if (!mount)
        return 0;
    (void)snprintf(full, sizeof(full), "%s%s", mount, path);
    return rmdir(full) < 0 && errno != ENOENT ? -errno : 0;
}
