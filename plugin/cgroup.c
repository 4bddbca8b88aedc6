/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/job.h"

/* The cgroups of a process in the two supported hierarchies; empty: none. */
struct membership {
    char v2[CGROUP_PATH_MAX];
    char freezer[CGROUP_PATH_MAX];
};

static bool has_word(const char *list, const char *word)
{
    size_t size = strlen(word);

    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, size) == 0 && (p[size] == ',' || p[size] == '\0'))
            return true;
    }
    return false;
}

/* One line of /proc/PID/cgroup: "hierarchy:controllers:path". */
static void parse_line(char *line, struct membership *ret)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;

    if (!path || strlen(path + 1) >= CGROUP_PATH_MAX)
        return;
    *controllers++ = '\0';
    *path++ = '\0';
    if (strcmp(line, "0") == 0 && *controllers == '\0')
        strcpy(ret->v2, path);
    else if (has_word(controllers, "freezer"))
        strcpy(ret->freezer, path);
}

static int read_membership(const char *proc, const char *who, struct membership *ret,
                           struct error *error)
{
    char name[PATH_MAX], line[CGROUP_PATH_MAX + 256];
    _fclose_ FILE *f = NULL;

    memset(ret, 0, sizeof(*ret));
    (void)snprintf(name, sizeof(name), "%s/%s/cgroup", proc, who);
    f = fopen(name, "re");
    if (!f)
        return error_errno(error, -errno, "open \"%s\"", name);
    while (fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        parse_line(line, ret);
    }
    return 0;
}

/* If this line of mountinfo mounts the hierarchy: the mount point and the cgroup at its root. */
static bool parse_mount(char *line, int version, char mount[PATH_MAX], char root[CGROUP_PATH_MAX])
{
    char *tail = strstr(line, " - ");
    char type[32], options[1024];

    if (!tail || sscanf(tail, " - %31s %*s %1023s", type, options) != 2)
        return false;
    if (strcmp(type, version == 2 ? "cgroup2" : "cgroup") != 0)
        return false;
    if (version == 1 && !has_word(options, "freezer"))
        return false;
    return sscanf(line, "%*d %*d %*s %1023s %4095s", root, mount) == 2;
}

static int find_hierarchy(const char *proc, int version, char mount[PATH_MAX],
                          char root[CGROUP_PATH_MAX], struct error *error)
{
    char name[PATH_MAX], line[2 * PATH_MAX];
    _fclose_ FILE *f = NULL;

    (void)snprintf(name, sizeof(name), "%s/self/mountinfo", proc);
    f = fopen(name, "re");
    if (!f)
        return error_errno(error, -errno, "open \"%s\"", name);
    while (fgets(line, sizeof(line), f)) {
        if (parse_mount(line, version, mount, root))
            return 0;
    }
    return error_set(error, -ENOENT, "no mounted cgroup v%d hierarchy%s", version,
                     version == 1 ? " with the freezer" : "");
}

static unsigned count_components(const char *path)
{
    unsigned n = 0;

    for (; *path; path++)
        n += *path == '/' && path[1] != '/' && path[1] != '\0';
    return n;
}

/* The inode number of the cgroup is the id that the BPF programs see. */
static int look_up(const char *proc, int version, const char *path, struct cgroup *ret,
                   struct error *error)
{
    char mount[PATH_MAX], root[CGROUP_PATH_MAX], name[PATH_MAX + CGROUP_PATH_MAX];
    const char *below = path;
    struct stat st;
    int r;

    if (path[0] != '/' || strstr(path, "/../"))
        return error_set(error, -EINVAL, "the cgroup \"%s\" is outside the namespace", path);
    r = find_hierarchy(proc, version, mount, root, error);
    if (r < 0)
        return r;
    if (strcmp(root, "/") != 0) {
        size_t size = strlen(root);

        if (strncmp(path, root, size) != 0 || (path[size] != '/' && path[size] != '\0'))
            return error_set(error, -ENOENT, "the cgroup \"%s\" is not below \"%s\"", path, mount);
        below = path + size;
    }
    (void)snprintf(name, sizeof(name), "%s%s", mount, below);
    if (stat(name, &st) < 0)
        return error_errno(error, -errno, "the cgroup \"%s\"", name);
    if (!S_ISDIR(st.st_mode))
        return error_set(error, -ENOTDIR, "the cgroup \"%s\" is not a directory", name);
    ret->version = version;
    ret->level = count_components(path);
    ret->id = st.st_ino;
    (void)snprintf(ret->path, sizeof(ret->path), "%s", path);
    return 0;
}

/* Replace or append the last component; `path` is unchanged on -ENAMETOOLONG. */
static int set_component(char path[CGROUP_PATH_MAX], size_t size, const char *component)
{
    if (size + strlen(component) + 2 > CGROUP_PATH_MAX)
        return -ENAMETOOLONG;
    path[size] = '/';
    strcpy(path + size + 1, component);
    return 0;
}

int cgroup_of_step(const char *proc, bool is_extern, struct cgroup *ret, struct error *error)
{
    struct membership own;
    struct error detail = {"slurmstepd is in no cgroup of a step"};
    const char *last;
    int r;

    r = read_membership(proc, "self", &own, error);
    if (r < 0)
        return r;
    /* v2: slurmstepd is in `slurm`, the user's processes will be below its sibling `user`. */
    last = strrchr(own.v2, '/');
    if (last && strcmp(last, "/slurm") == 0 &&
        set_component(own.v2, (size_t)(last - own.v2), "user") == 0 &&
        look_up(proc, 2, own.v2, ret, &detail) == 0)
        return 0;
    /* v1: slurmstepd is in the directory of the job. The extern step has no task, but its directory
     * already exists. */
    if (is_extern && own.freezer[0] &&
        set_component(own.freezer, strlen(own.freezer), "step_extern") == 0 &&
        look_up(proc, 1, own.freezer, ret, &detail) == 0)
        return 0;
    return error_set(error, -EAGAIN, "%s", detail.text);
}

static bool is_within(const char *path, const char *ancestor)
{
    size_t size = strlen(ancestor);

    if (strcmp(ancestor, "/") == 0)
        return true;
    return strncmp(path, ancestor, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

/* Reduce the directory of a task to that of its step. False if slurmstepd is in it, too: then it
 * may be that of slurmd, with all jobs. */
static bool reduce_to_step(char *task, const char *own)
{
    char *last = strrchr(task, '/');

    if (!last)
        return false;
    if (strncmp(last, "/task_", 6) == 0)
        *last = '\0';
    return task[0] != '\0' && !is_within(own, task);
}

int cgroup_of_task(const char *proc, pid_t pid, struct cgroup *ret, struct error *error)
{
    struct membership own, task;
    char who[16];
    int r;

    (void)snprintf(who, sizeof(who), "%d", (int)pid);
    r = read_membership(proc, "self", &own, error);
    if (r == 0)
        r = read_membership(proc, who, &task, error);
    if (r < 0)
        return r;
    if (reduce_to_step(task.v2, own.v2))
        return look_up(proc, 2, task.v2, ret, error);
    if (reduce_to_step(task.freezer, own.freezer))
        return look_up(proc, 1, task.freezer, ret, error);
    return error_set(error, -ENOENT, "the step has no cgroup of its own");
}

uint32_t cgroup_het(const struct cgroup *cgroup)
{
    const char *plus = strrchr(cgroup->path, '+');
    unsigned component;
    char after;
    int n;

    if (!plus)
        return HET_NONE;
    n = sscanf(plus, "+%9u%c", &component, &after);
    return n == 1 || (n == 2 && after == '/') ? component : HET_NONE;
}
