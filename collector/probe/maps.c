/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

/* Create the map here instead of in libbpf, which would write its initial value: before 5.15 the
 * kernel needs contiguous memory of that size for the write and may have none. An error for lack of
 * privileges is reported by the load. */
static void make_memory(struct data_bpf *skel)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    _close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "memory", sizeof(__u32),
                                    bpf_map__value_size(skel->maps.bss), 1, &options);

    if (fd >= 0)
        (void)bpf_map__reuse_fd(skel->maps.bss, fd);
}

struct data_bpf *maps_skeleton(const struct kernel_features *features)
{
    static const size_t maps[] = {offsetof(struct data_bpf, maps.tasks),
                                  offsetof(struct data_bpf, maps.saved_calls)};
    struct data_bpf *skel = data_bpf__open_opts(features_types());

    if (!skel)
        return NULL;
    make_memory(skel);
    for (size_t i = 0; i < ARRAY_SIZE(maps) && !features->task_storage; i++) {
        struct bpf_map *map = *(struct bpf_map **)((char *)skel + maps[i]);

        (void)bpf_map__set_type(map, BPF_MAP_TYPE_HASH);
        (void)bpf_map__set_map_flags(map, 0);
        (void)bpf_map__set_key_size(map, sizeof(__u64));
        (void)bpf_map__set_max_entries(map, JOBIO_MAX_THREADS);
    }
    if (!features->task_storage) /* then no program uses it */
        (void)bpf_map__set_max_entries(skel->maps.saved_calls, 1);
    return skel;
}

/* Only programs that may trace use these maps: they are pinned together with such programs. */
static bool is_of_traces(const struct bpf_map *map)
{
    return !strcmp(bpf_map__name(map), "spans") || !strcmp(bpf_map__name(map), "traces");
}

/* The same for stacks. */
static bool is_of_stacks(const struct bpf_map *map)
{
    return !strcmp(bpf_map__name(map), "stacks") || !strcmp(bpf_map__name(map), "stack_steps");
}

/* Returns the name to pin a map by, or NULL if it is not always pinned: the data of one process's
 * programs, and of traces, stacks and slots. `memory` is not matched here by its section, but by
 * the name that make_memory() gave it. */
static const char *pin_name(const struct bpf_map *map)
{
    const char *name = bpf_map__name(map);

    if (!strcmp(name, ".data.levels"))
        return "levels";
    if (!strcmp(name, "new_mounts"))
        return "sightings"; /* as in earlier layouts */
    if (is_of_traces(map) || is_of_stacks(map) || !strcmp(name, "new_mount_locks"))
        return NULL;
    return strchr(name, '.') ? NULL : name;
}

static int pin_path(char path[PATH_MAX], const char *directory, const char *name,
                    struct error *error)
{
    if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
        return error_set(error, -ENAMETOOLONG, "the path '%s/%s' is too long", directory, name);
    return 0;
}

bool maps_fit(const struct bpf_map *map, int fd)
{
    struct bpf_map_info info = {0};
    uint32_t size = sizeof(info);

    return bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.type == bpf_map__type(map) &&
           info.key_size == bpf_map__key_size(map) && info.value_size == bpf_map__value_size(map);
}

/* Returns a descriptor of the pinned map, or a negative errno; -ENOENT also if it does not fit. */
static int open_pin(const struct bpf_map *map, const char *directory, struct error *error)
{
    const char *name = pin_name(map);
    char path[PATH_MAX];
    int fd, r = pin_path(path, directory, name ? name : bpf_map__name(map), error);

    if (r < 0)
        return r;
    fd = bpf_obj_get(path);
    if (fd == -ENOENT)
        return fd;
    if (fd < 0)
        return error_errno(error, fd, "cannot open the pinned map '%s'", path);
    if (maps_fit(map, fd))
        return fd;
    (void)close(fd);
    return -ENOENT;
}

int maps_adopt(struct data_bpf *skel, const char *directory, struct error *error)
{
    struct bpf_map *map;
    int r;

    /* All or none: a process that was killed while it pinned leaves an incomplete set. */
    bpf_object__for_each_map(map, skel->obj)
    {
        _close_ int fd = pin_name(map) ? open_pin(map, directory, error) : -1;

        if (pin_name(map) && fd == -ENOENT)
            return maps_unpin(directory, error);
        if (pin_name(map) && fd < 0)
            return fd;
    }
    bpf_object__for_each_map(map, skel->obj)
    {
        _close_ int fd = pin_name(map) ? open_pin(map, directory, error) : -1;

        if (!pin_name(map))
            continue;
        r = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
        if (r < 0)
            return error_errno(error, r, "cannot take over the pinned map '%s'", pin_name(map));
    }
    return 1;
}

/* Both maps, or none. */
static int adopt_pair(struct bpf_map *const maps[2], const char *directory, struct error *error)
{
    int fds[2], r = 1;

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = open_pin(maps[i], directory, error);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        if (fds[i] < 0 && r >= 0)
            r = fds[i] == -ENOENT ? 0 : fds[i];
    for (size_t i = 0; i < ARRAY_SIZE(fds) && r > 0; i++) {
        int failed = bpf_map__reuse_fd(maps[i], fds[i]);

        if (failed < 0)
            r = error_errno(error, failed, "cannot take over the pinned map '%s'",
                            bpf_map__name(maps[i]));
    }
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    return r;
}

int maps_adopt_traces(struct data_bpf *skel, const char *directory, struct error *error)
{
    struct bpf_map *const maps[] = {skel->maps.spans, skel->maps.traces};

    return adopt_pair(maps, directory, error);
}

int maps_adopt_stacks(struct data_bpf *skel, const char *directory, struct error *error)
{
    struct bpf_map *const maps[] = {skel->maps.stacks, skel->maps.stack_steps};

    return adopt_pair(maps, directory, error);
}

int maps_share(const struct probe *probe, struct bpf_object *object)
{
    struct bpf_map *map = bpf_object__find_map_by_name(object, ".bss"), *other;
    /* Another layout has maps, but no programs and so no data of theirs. */
    int bss = bpf_map__fd(probe->skel->maps.bss);
    int r = map && bss >= 0 ? bpf_map__reuse_fd(map, bss) : 0;

    bpf_object__for_each_map(map, object)
    {
        if (strstr(bpf_map__name(map), "rodata"))
            continue;
        other = bpf_object__find_map_by_name(probe->skel->obj, bpf_map__name(map));
        if (other && bpf_map__fd(other) >= 0 && r == 0) /* it may lack those that are not pinned */
            r = bpf_map__reuse_fd(map, bpf_map__fd(other));
    }
    return r;
}

static int pin(const struct bpf_map *map, const char *directory, const char *name,
               struct error *error)
{
    char path[PATH_MAX];
    int r = pin_path(path, directory, name, error);

    if (r < 0)
        return r;
    r = bpf_obj_pin(bpf_map__fd(map), path);
    return r < 0 ? error_errno(error, r, "cannot pin '%s'", path) : 0;
}

/* Those of traces and stacks first: if all others are there, these are, too. */
int maps_pin(struct data_bpf *skel, bool traces, bool stacks, const char *directory,
             struct error *error)
{
    struct bpf_map *map;
    int r = 0;

    if (traces)
        r = pin(skel->maps.spans, directory, "spans", error);
    if (traces && r == 0)
        r = pin(skel->maps.traces, directory, "traces", error);
    if (stacks && r == 0)
        r = pin(skel->maps.stacks, directory, "stacks", error);
    if (stacks && r == 0)
        r = pin(skel->maps.stack_steps, directory, "stack_steps", error);
    bpf_object__for_each_map(map, skel->obj)
    {
        if (r == 0 && pin_name(map))
            r = pin(map, directory, pin_name(map), error);
    }
    return r;
}

int maps_unpin(const char *directory, struct error *error)
{
    _closedir_ DIR *dir = opendir(directory);
    struct dirent *entry;

    if (!dir)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "cannot open '%s'", directory);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT)
            return error_errno(error, -errno, "cannot remove '%s/%s'", directory, entry->d_name);
    }
    if (rmdir(directory) < 0 && errno != ENOENT)
        return error_errno(error, -errno, "cannot remove '%s'", directory);
    return 0;
}

static int make_fence(int fence[2])
{
    LIBBPF_OPTS(bpf_map_create_opts, options);
    int key = 4, value = 4;

    fence[0] = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, key, value, 1, NULL);
    if (fence[0] < 0)
        return fence[0];
    options.inner_map_fd = fence[0];
    fence[1] = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, NULL, key, value, 1, &options);
    if (fence[1] >= 0)
        return 0;
    (void)close(fence[0]);
    fence[0] = 0;
    return fence[1];
}

/* Do not use the skeleton's `data_levels`: since libbpf 1.5, for an adopted map it is private
 * memory of this process, which no program reads. */
int maps_open(struct probe *probe, struct error *error)
{
    void *at = mmap(NULL, sizeof(*probe->levels), PROT_READ | PROT_WRITE, MAP_SHARED,
                    bpf_map__fd(probe->skel->maps.data_levels), 0);
    int r;

    if (at == MAP_FAILED)
        return error_errno(error, -errno, "cannot map the BPF map 'levels'");
    probe->levels = at;
    r = make_fence(probe->fence);
    return r < 0 ? error_errno(error, r, "cannot create a BPF map of maps") : 0;
}

void maps_close(struct probe *probe)
{
    if (probe->levels)
        (void)munmap(probe->levels, sizeof(*probe->levels));
    for (size_t i = 0; i < ARRAY_SIZE(probe->fence); i++)
        if (probe->fence[i] > 0)
            (void)close(probe->fence[i]);
}

/* An update of a map of maps returns when no program can see the old map any more, since commit
 * 1ae80cf31938 ("bpf: wait for running BPF programs when updating map-in-map"), 4.20. */
int maps_wait(const struct probe *probe, struct error *error)
{
    const uint32_t key = 0;
    int r = bpf_map_update_elem(probe->fence[1], &key, &probe->fence[0], 0);

    return r < 0 ? error_errno(error, r, "cannot wait for the BPF programs") : 0;
}
