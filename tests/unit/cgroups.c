/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static bool find_mount(struct cgroups *c)
{
    _fclose_ FILE *f = fopen("/proc/self/mounts", "re");
    char line[4096], type[64], options[1024];

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%*s %255s %63s %1023s", c->mount, type, options) != 3)
            continue;
        if (c->version == 2 ? strcmp(type, "cgroup2") == 0
                            : strcmp(type, "cgroup") == 0 && strstr(options, "freezer"))
            return true;
    }
    return false;
}

static bool make(const struct cgroups *c, const char *path)
{
    char full[1024];

    snprintf(full, sizeof(full), "%s%s", c->mount, path);
    return mkdir(full, 0755) == 0 || errno == EEXIST;
}

bool cgroups_create(struct cgroups *c, int version, const char *name)
{
    char step[160];

    memset(c, 0, sizeof(*c));
    c->version = version;
    if (geteuid() != 0 || !find_mount(c))
        return false;
    snprintf(c->job, sizeof(c->job), "/jobio-test-%d", (int)getpid());
    snprintf(step, sizeof(step), "%.64s/%.64s", c->job, name);
    snprintf(c->step, sizeof(c->step), "%s%s", step, version == 2 ? "/user" : "");
    snprintf(c->stepd, sizeof(c->stepd), "%s%s", version == 2 ? step : c->job,
             version == 2 ? "/slurm" : "");
    return make(c, c->job) && make(c, step) && make(c, c->step) && make(c, c->stepd);
}

void cgroups_destroy(struct cgroups *c)
{
    char full[1024];
    const char *paths[] = {c->step, c->stepd};

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        snprintf(full, sizeof(full), "%s%s", c->mount, paths[i]);
        /* Up to the job's directory. */
        while (strlen(full) > strlen(c->mount) && rmdir(full) == 0)
            *strrchr(full, '/') = '\0';
    }
}

bool cgroups_enter(const struct cgroups *c, const char *path)
{
    char full[1024];
    _close_ int fd = -1;

    snprintf(full, sizeof(full), "%s%s/cgroup.procs", c->mount, path);
    fd = open(full, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "0", 1) == 1;
}

uint64_t cgroups_inode(const struct cgroups *c, const char *path)
{
    char full[1024];
    struct stat st;

    snprintf(full, sizeof(full), "%s%s", c->mount, path);
    return stat(full, &st) < 0 ? 0 : st.st_ino;
}
