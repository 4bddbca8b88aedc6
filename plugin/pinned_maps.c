/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/pinned_maps.h"

#include <limits.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "plugin/runtime_dir.h"

/* The type that union bpf_attr has for addresses. */
#define ADDRESS(p) ((__u64)(uintptr_t)(p))

static int open_map(const char *directory, const char *name, struct error *error)
{
    char path[PATH_MAX];
    union bpf_attr attr;
    long fd;

    if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
        return error_set(error, -ENAMETOOLONG, "the pin directory's path is too long");
    memset(&attr, 0, sizeof(attr));
    attr.pathname = ADDRESS(path);
    fd = syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
    if (fd < 0)
        return error_errno(error, -errno, "open the map \"%s\"", path);
    return (int)fd;
}

static int put_step(const char *directory, const struct cgroup *cgroup, struct error *error)
{
    struct step_record record;
    __u64 key = step_key(cgroup->id, cgroup->version);
    _close_ int fd = open_map(directory, "steps", error);
    union bpf_attr attr;

    if (fd < 0)
        return fd;
    memset(&record, 0, sizeof(record));
    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (__u32)fd;
    attr.key = ADDRESS(&key);
    attr.value = ADDRESS(&record);
    attr.flags = BPF_NOEXIST;
    if (syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "put the step into its map");
    return 0;
}

/* Through a mapping, because an update by system call could clear a bit that another process sets.
 */
static int put_level(const char *directory, const struct cgroup *cgroup, struct error *error)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    _close_ int fd = open_map(directory, "levels", error);
    struct levels_record *levels;

    if (fd < 0)
        return fd;
    levels = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (levels == MAP_FAILED)
        return error_errno(error, -errno, "map the levels");
    levels_add(levels, cgroup->level, cgroup->version);
    (void)munmap(levels, size);
    return 0;
}

int pinned_maps_tag(const char *runtime, const struct cgroup *cgroup, struct error *error)
{
    char directory[PATH_MAX];
    int r;

    if (level_bit(cgroup->level) == 0)
        return error_set(error, -ERANGE, "the cgroup is %u levels deep; at most %d are counted",
                         cgroup->level, JOBIO_MAX_LEVELS - 1);
    r = runtime_pin_directory(runtime, directory, error);
    if (r == 0)
        r = put_step(directory, cgroup, error);
    if (r == 0)
        r = put_level(directory, cgroup, error);
    return r;
}
