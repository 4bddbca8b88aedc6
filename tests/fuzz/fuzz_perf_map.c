/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map of Python functions: each name that is found in it has two parts, and reading the map again
 * finds the same one. */
#include "tests/fuzz/fuzz.h"

#include "collector/stacks/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _close_ int fd = perf_map_open_path(fuzz_file("perf_map", data, size), getuid());
    struct perf_maps *maps = perf_maps_create();
    struct perf_map *map = perf_map_create(maps), *again = perf_map_create(maps);
    struct perf_function function, same;

    CHECK(fd >= 0 && map && again);
    perf_map_read(map, fd);
    perf_map_read(map, fd);
    perf_map_read(again, fd);
    for (uint64_t address = 0; address < 64; address++) {
        bool found = perf_map_find(map, address, &function);
        const char *tab = found ? strchr(perf_maps_name(maps, function.name), '\t') : NULL;

        CHECK(found == perf_map_find(again, address, &same));
        CHECK(!found || (function.name == same.name && function.start == same.start));
        CHECK(!found ||
              (tab > perf_maps_name(maps, function.name) && tab[1] && !strchr(tab + 1, '\t')));
        CHECK(!found || function.start <= address);
    }
    perf_map_destroy(map);
    perf_map_destroy(again);
    perf_maps_destroy(maps);
    return 0;
}
