/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/stacks/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"

/* What is beyond these limits has no name. Bytes that are read of a map, and its functions: */
#define FILE_BYTES (16 << 20)
#define MAX_FUNCTIONS (64 << 10)
/* The different names in all maps, and their bytes. */
#define MAX_NAMES (128 << 10)
#define NAMES_BYTES (16 << 20)
/* Bytes of a line, and of each part of its name. */
#define LINE_BYTES 8192
#define PART_BYTES 255
/* Descriptors: the map that was opened last stays open. */
#define MAX_OPEN 64

/* Before the names of Python functions; other lines are not of CPython. */
#define PREFIX "py::"

#define NO_NAME UINT32_MAX

struct function {
    uint64_t start;
    uint32_t size;
    uint32_t name; /* number; NO_NAME: not a Python function, or beyond the limits */
};

struct name {
    uint32_t number;
    char text[];
};

struct perf_maps {
    void *tree;          /* tsearch tree of the names, by text */
    struct name **names; /* owned, like each name */
    size_t n, room, bytes;
    struct perf_map *open[MAX_OPEN];
    size_t oldest; /* which the next one replaces */
};

struct perf_map {
    struct perf_maps *maps;
    int fd;       /* owned; -1: it is closed */
    dev_t device; /* of the file that was read */
    ino_t inode;
    off_t position;             /* what was read of it */
    bool in_line;               /* which is too long; its rest is skipped */
    struct function *functions; /* owned; in the order of the file */
    size_t n, room;
};

struct perf_maps *perf_maps_create(void)
{
    return calloc(1, sizeof(struct perf_maps));
}

static void keep(void *node)
{
    (void)node;
}

void perf_maps_destroy(struct perf_maps *maps)
{
    if (!maps)
        return;
    tdestroy(maps->tree, keep);
    for (size_t i = 0; i < maps->n; i++)
        free(maps->names[i]);
    free(maps->names);
    free(maps);
}

const char *perf_maps_name(const struct perf_maps *maps, uint64_t number)
{
    return maps->names[number]->text;
}

/* --- names ------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* Returns the array of n items with room for one more; NULL on out-of-memory. */
static void *grow(void *items, size_t n, size_t *room, size_t size)
{
    size_t wanted = *room ? *room * 2 : 64;
    void *grown;

    if (n < *room)
        return items;
    grown = reallocarray(items, wanted, size);
    if (grown)
        *room = wanted;
    return grown;
}

/* Returns the part of the path that is shown: most names of packages are those of directories. */
static const char *shown_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    bool is_directory = slash && (!strcmp(slash, "/__init__.py") || !strcmp(slash, "/__main__.py"));

    if (is_directory && slash > path)
        slash = memrchr(path, '/', (size_t)(slash - path));
    return slash ? slash + 1 : path;
}

/* Returns "FUNCTION<tab>FILE" of "FUNCTION:PATH"; NULL: it is not such a name, or out-of-memory. */
static struct name *make_name(const char *text)
{
    const char *colon = strchr(text, ':');
    const char *file = colon ? shown_part(colon + 1) : "";
    int function = colon ? (int)(colon - text) : 0;
    struct name *name;

    if (!function || !*file || strchr(text, '\t'))
        return NULL;
    function = function < PART_BYTES ? function : PART_BYTES;
    name = malloc(sizeof(*name) + 2 * PART_BYTES + 2);
    if (name)
        (void)snprintf(name->text, 2 * PART_BYTES + 2, "%.*s\t%.*s", function, text, PART_BYTES,
                       file);
    return name;
}

/* Takes over the new name. */
static bool add_name(struct perf_maps *maps, struct name *name)
{
    size_t size = sizeof(*name) + strlen(name->text) + 1;
    struct name *smaller = realloc(name, size);
    struct name **names = grow(maps->names, maps->n, &maps->room, sizeof(*names));

    name = smaller ? smaller : name;
    maps->names = names ? names : maps->names;
    if (names && maps->n < MAX_NAMES && maps->bytes + size <= NAMES_BYTES &&
        tsearch(name, &maps->tree, compare)) {
        name->number = (uint32_t)maps->n;
        maps->names[maps->n++] = name;
        maps->bytes += size;
        return true;
    }
    free(name);
    return false;
}

/* Returns the number of the name. */
static uint32_t find_name(struct perf_maps *maps, const char *text)
{
    _free_ struct name *made = make_name(text);
    struct name **found = made ? tfind(made, &maps->tree, compare) : NULL;

    if (found)
        return (*found)->number;
    return made && add_name(maps, TAKE_PTR(made)) ? (uint32_t)maps->n - 1 : NO_NAME;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* "START SIZE NAME", the numbers hexadecimal. */
static void add_line(struct perf_map *map, const char *line)
{
    struct function function = {.name = NO_NAME}, *functions;
    uint64_t size;
    int at = 0;

    if (map->n == MAX_FUNCTIONS ||
        sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &function.start, &size, &at) < 2 || !at ||
        !size || size > UINT32_MAX)
        return;
    functions = grow(map->functions, map->n, &map->room, sizeof(*functions));
    if (!functions)
        return;
    map->functions = functions;
    function.size = (uint32_t)size;
    if (!strncmp(line + at, PREFIX, strlen(PREFIX)))
        function.name = find_name(map->maps, line + at + strlen(PREFIX));
    map->functions[map->n++] = function;
}

/* Returns the bytes of its complete lines. */
static size_t add_lines(struct perf_map *map, char *text, size_t n)
{
    char *end = memrchr(text, '\n', n), *line = text;

    if (!end)
        return 0;
    while (line <= end) {
        char *newline = memchr(line, '\n', (size_t)(end - line) + 1);

        *newline = '\0';
        if (!map->in_line && strlen(line) == (size_t)(newline - line))
            add_line(map, line);
        map->in_line = false;
        line = newline + 1;
    }
    return (size_t)(line - text);
}

void perf_map_read(struct perf_map *map, int fd)
{
    char text[LINE_BYTES];
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) < 0)
        return;
    if (st.st_dev != map->device || st.st_ino != map->inode) { /* another file */
        map->device = st.st_dev;
        map->inode = st.st_ino;
        map->position = 0;
        map->in_line = false;
    }
    while (map->position < FILE_BYTES && (n = pread(fd, text, sizeof(text), map->position)) > 0) {
        size_t used = add_lines(map, text, (size_t)n);

        if (!used && n < (ssize_t)sizeof(text))
            return; /* it is being written */
        map->in_line |= !used;
        map->position += used ? (off_t)used : n;
    }
}

/* --- files ------------------------------------------------------------------------------------ */

struct perf_map *perf_map_create(struct perf_maps *maps)
{
    struct perf_map *map = calloc(1, sizeof(*map));

    if (!map)
        return NULL;
    map->maps = maps;
    map->fd = -1;
    return map;
}

void perf_map_close(struct perf_map *map)
{
    cleanup_close(&map->fd);
    map->fd = -1;
    for (size_t i = 0; i < MAX_OPEN; i++)
        if (map->maps->open[i] == map)
            map->maps->open[i] = NULL;
}

void perf_map_destroy(struct perf_map *map)
{
    if (!map)
        return;
    perf_map_close(map);
    free(map->functions);
    free(map);
}

int perf_map_open_path(const char *path, uid_t uid)
{
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) && (st.st_uid == uid || st.st_uid == 0) ? TAKE_FD(fd) : -EPERM;
}

/* Returns the number of the process in its namespace. */
static bool find_own_pid(uint32_t pid, uint32_t *ret)
{
    _fclose_ FILE *in = NULL;
    _free_ char *line = NULL;
    size_t room = 0;
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
    in = fopen(path, "re");
    while (in && getline(&line, &room, in) > 0)
        if (!strncmp(line, "NSpid:", strlen("NSpid:")))
            return sscanf(strrchr(line, '\t'), "%" SCNu32, ret) == 1;
    return false;
}

/* The path in the mount namespace of the process. Its directory in /proc has the user that the
 * process has; root, if it may not be read. */
static int open_own(uint32_t pid)
{
    uint32_t own_pid;
    struct stat st;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
    if (stat(path, &st) < 0 || !find_own_pid(pid, &own_pid))
        return -ESRCH;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%" PRIu32 ".map", pid,
                   own_pid);
    return perf_map_open_path(path, st.st_uid);
}

bool perf_map_open(struct perf_map *map, uint32_t pid)
{
    struct perf_map **oldest = &map->maps->open[map->maps->oldest];

    if (map->fd >= 0)
        return false;
    map->fd = open_own(pid);
    if (map->fd < 0)
        return false;
    if (*oldest)
        perf_map_close(*oldest);
    *oldest = map;
    map->maps->oldest = (map->maps->oldest + 1) % MAX_OPEN;
    return true;
}

/* --- lookups ---------------------------------------------------------------------------------- */

static const struct function *find(const struct perf_map *map, uint64_t address)
{
    for (size_t i = map->n; i-- > 0;) {
        const struct function *function = &map->functions[i];

        if (address >= function->start && address - function->start < function->size)
            return function;
    }
    return NULL;
}

bool perf_map_find(struct perf_map *map, uint64_t address, struct perf_function *ret)
{
    const struct function *function;

    if (map->fd >= 0)
        perf_map_read(map, map->fd);
    function = find(map, address);
    if (!function || function->name == NO_NAME)
        return false;
    *ret = (struct perf_function){.start = function->start, .name = function->name};
    return true;
}
