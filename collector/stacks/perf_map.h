/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python functions of processes: CPython names them in /tmp/perf-PID.map and runs each through
 * a trampoline in anonymous memory (PYTHONPERFSUPPORT=1, Python 3.12). The file is the user's, who
 * may write anything into it at any time; that only costs names. All of it is bounded.
 */
#ifndef JOBIO_COLLECTOR_STACKS_PERF_MAP_H
#define JOBIO_COLLECTOR_STACKS_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the maps of all processes share: the names, and the descriptors. */
struct perf_maps;

struct perf_maps *perf_maps_create(void);       /* NULL on out-of-memory */
void perf_maps_destroy(struct perf_maps *maps); /* after each of its maps; NULL is fine */
/* The name with this number: "FUNCTION<tab>FILE", untrusted, but with one tab. The file is the last
 * part of its path, with the directory of an __init__.py or __main__.py. */
const char *perf_maps_name(const struct perf_maps *maps, uint64_t number);

/* The map of a process. */
struct perf_map;

struct perf_map *perf_map_create(struct perf_maps *maps); /* NULL on out-of-memory */
void perf_map_destroy(struct perf_map *map);              /* NULL is fine */

/* Open the map of this process. Returns whether it was closed and is open now: the caller must look
 * whether it is still this process, and else close the map. It may be closed again at any time,
 * if those of many other processes are opened. */
bool perf_map_open(struct perf_map *map, uint32_t pid);
void perf_map_close(struct perf_map *map);
/* Returns a descriptor of the map at a path: a regular file of this user or of root; else a
 * negative errno. It does not wait. */
int perf_map_open_path(const char *path, uid_t uid);
/* Read what was appended to the file since it was read. */
void perf_map_read(struct perf_map *map, int fd);

struct perf_function {
    uint64_t start; /* of its trampoline */
    uint64_t name;  /* number; equal functions of all processes have the same one */
};

/* Find the Python function whose trampoline has this address. If the last entry for the address is
 * another function, or if there is none, returns false. Reads what was appended to an open map. */
bool perf_map_find(struct perf_map *map, uint64_t address, struct perf_function *ret);

#endif
