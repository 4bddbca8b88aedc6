/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removal of all that is pinned, by this or another version of jobio. */
#include "collector/probe/probe_impl.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/numbers.h"

/* What a descriptor of bpf_obj_get() is, as in /proc/self/fd. */
static bool is_kind(int fd, const char *kind)
{
    char path[64], target[64];
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    n = readlink(path, target, sizeof(target) - 1);
    target[n > 0 ? n : 0] = '\0';
    return strstr(target, kind) != NULL;
}

/* The keys of `steps` have this size in all layouts. */
static unsigned count_steps(int fd)
{
    uint64_t key = 0, next;
    unsigned n = 0;

    for (int r = bpf_map_get_next_key(fd, NULL, &next); r == 0;
         r = bpf_map_get_next_key(fd, &key, &next)) {
        key = next;
        n++;
    }
    return n;
}

/* The kernel detaches a link in the background when its pin goes, but at once when the last
 * descriptor is closed. */
static int remove_pin(int dir, const char *directory, const char *name, struct probe_removed *ret,
                      struct error *error)
{
    char path[PATH_MAX];
    struct bpf_map_info info = {0};
    uint32_t size = sizeof(info);
    _close_ int fd = -1;

    if (snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path))
        fd = bpf_obj_get(path);
    if (fd >= 0 && is_kind(fd, "bpf-map")) {
        ret->maps += strncmp(name, "shape_", strlen("shape_")) != 0; /* a second pin of `steps` */
        if (!strcmp(name, "steps") && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
            info.key_size == sizeof(uint64_t))
            ret->steps += count_steps(fd);
    } else if (fd >= 0) {
        ret->links += !is_kind(fd, "bpf-prog");
    }
    return unlinkat(dir, name, 0) < 0 && errno != ENOENT
               ? error_errno(error, -errno, "cannot remove '%s/%s'", directory, name)
               : 0;
}

int probe_detach_layout(const char *directory, struct probe_removed *ret, struct error *error)
{
    _closedir_ DIR *dir = opendir(directory);
    const struct dirent *entry;
    int r = 0;

    if (!dir)
        return error_errno(error, -errno, "cannot open '%s'", directory);
    while (r == 0 && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            r = remove_pin(dirfd(dir), directory, entry->d_name, ret, error);
    kprobe_events_remove_all(directory);
    if (r == 0 && rmdir(directory) < 0 && errno != ENOENT)
        r = error_errno(error, -errno, "cannot remove '%s'", directory);
    ret->layouts += r == 0;
    return r;
}

int probe_detach(const char *pin_dir, struct probe_removed *ret, struct error *error)
{
    _closedir_ DIR *dir = opendir(pin_dir);
    const struct dirent *entry;
    char path[PATH_MAX];
    uint64_t number;
    int r = 0;

    *ret = (struct probe_removed){0};
    if (!dir)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "cannot open '%s'", pin_dir);
    while (r == 0 && (entry = readdir(dir)))
        if (number_parse(entry->d_name, 0, UINT32_MAX, &number) == 0 &&
            snprintf(path, sizeof(path), "%s/%s", pin_dir, entry->d_name) < (int)sizeof(path))
            r = probe_detach_layout(path, ret, error);
    if (r == 0 && rmdir(pin_dir) < 0 && errno != ENOENT)
        r = error_errno(error, -errno, "cannot remove '%s'", pin_dir);
    return r;
}
