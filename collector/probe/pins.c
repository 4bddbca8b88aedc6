/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The pin that is made last and removed first. */
#define LAST "last_link"

/* Returns the name of a map's pin, or NULL if the object shares the map with others, or only its
 * programs use it: the constants, "rpc_bpf.rodata". */
static const char *name_of(const struct bpf_map *map, const char *prefix)
{
    static const char data[] = ".data.";
    const char *name = bpf_map__name(map);

    if (!strncmp(name, data, strlen(data)))
        name += strlen(data);
    return strncmp(name, prefix, strlen(prefix)) || strchr(name, '.') ? NULL : name;
}

static int map_path(char path[PATH_MAX], const char *directory, const char *name)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", directory, name);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int last_path(char path[PATH_MAX], const char *directory, const char *prefix)
{
    int n = snprintf(path, PATH_MAX, "%s/%s" LAST, directory, prefix);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Of link `at` of n. */
static int link_path(char path[PATH_MAX], const char *directory, const char *prefix, size_t at,
                     size_t n)
{
    if (at + 1 == n)
        return last_path(path, directory, prefix);
    return snprintf(path, PATH_MAX, "%s/%slink_%zu", directory, prefix, at) < PATH_MAX
               ? 0
               : -ENAMETOOLONG;
}

static int program_path(char path[PATH_MAX], const char *directory, const char *prefix, size_t at)
{
    int n = snprintf(path, PATH_MAX, "%s/%sprogram_%zu", directory, prefix, at);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* --- adoption --------------------------------------------------------------------------------- */

static int adopt_map(struct bpf_map *map, const char *directory, const char *name)
{
    char path[PATH_MAX];
    int r = map_path(path, directory, name);
    _close_ int fd = r < 0 ? r : bpf_obj_get(path);

    if (fd < 0)
        return fd;
    return maps_fit(map, fd) ? bpf_map__reuse_fd(map, fd) : -ENOENT;
}

/* Returns whether all n links are pinned: one that somebody has removed is detached. */
static bool is_complete(const char *directory, const char *prefix, size_t n)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < n; i++)
        if (link_path(path, directory, prefix, i, n) < 0 || access(path, F_OK) < 0)
            return false;
    return true;
}

int pins_adopt(struct bpf_object *object, size_t n, const char *directory, const char *prefix,
               struct error *error)
{
    struct bpf_map *map;
    int r = is_complete(directory, prefix, n) ? 0 : -ENOENT;

    bpf_object__for_each_map(map, object)
    {
        const char *name = name_of(map, prefix);

        if (name && r == 0)
            r = adopt_map(map, directory, name);
    }
    if (r == -ENOENT)
        return pins_remove(directory, prefix, error);
    return r < 0 ? error_errno(error, r, "cannot take over the maps of '%s'", prefix) : 1;
}

/* --- making ----------------------------------------------------------------------------------- */

static int pin_maps(struct bpf_object *object, const char *directory, const char *prefix)
{
    struct bpf_map *map;
    char path[PATH_MAX];
    int r = 0;

    bpf_object__for_each_map(map, object)
    {
        const char *name = name_of(map, prefix);

        if (name && r == 0)
            r = map_path(path, directory, name);
        if (name && r == 0)
            r = bpf_obj_pin(bpf_map__fd(map), path);
    }
    return r;
}

static int pin_links(struct bpf_link *const *links, size_t n, const char *directory,
                     const char *prefix)
{
    char path[PATH_MAX];
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = link_path(path, directory, prefix, i, n);
        if (r == 0)
            r = bpf_obj_pin(bpf_link__fd(links[i]), path);
    }
    return r;
}

static int pin_programs(struct bpf_program *const *programs, size_t n, const char *directory,
                        const char *prefix)
{
    char path[PATH_MAX];
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = program_path(path, directory, prefix, i);
        if (r == 0)
            r = bpf_obj_pin(bpf_program__fd(programs[i]), path);
    }
    return r;
}

int pins_make(struct bpf_object *object, struct bpf_link *const *links,
              struct bpf_program *const *programs, size_t n, const char *directory,
              const char *prefix, struct error *error)
{
    int r = pin_maps(object, directory, prefix);

    if (r == 0 && programs)
        r = pin_programs(programs, n, directory, prefix);
    if (r == 0)
        r = pin_links(links, n, directory, prefix);
    if (r == 0)
        return 0;
    (void)pins_remove(directory, prefix, NULL);
    return error_errno(error, r, "cannot pin the programs of '%s'", prefix);
}

int pins_programs(const char *directory, const char *prefix, int *fds, size_t n)
{
    char path[PATH_MAX];
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = program_path(path, directory, prefix, i);
        fds[i] = r < 0 ? r : bpf_obj_get(path);
        r = fds[i] < 0 ? fds[i] : 0;
    }
    return r;
}

/* --- removal ---------------------------------------------------------------------------------- */

/* The last one first: after a failure the rest is not taken for complete. */
int pins_remove(const char *directory, const char *prefix, struct error *error)
{
    _closedir_ DIR *dir = opendir(directory);
    const struct dirent *entry;
    char path[PATH_MAX];

    if (!dir)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "cannot open '%s'", directory);
    if (last_path(path, directory, prefix) == 0)
        (void)unlink(path);
    while ((entry = readdir(dir)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
            unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT)
            return error_errno(error, -errno, "cannot remove '%s/%s'", directory, entry->d_name);
    return 0;
}
