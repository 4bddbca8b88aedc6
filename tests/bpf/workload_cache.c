/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page cache and mappings. Only accesses of which it is known what they bring in. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

#define PAGE 4096
#define SIZE (256 * 1024)

static volatile char sink;

static int cold(void)
{
    return make_file(IN("file"), SIZE, COLD);
}

static void read_hits(int fd, size_t n, off_t at_byte)
{
    did_cache(HERE, CACHE_HIT, (uint64_t)WELL(HERE, IO_READ, pread(fd, block, n, at_byte)));
}

/* Until all of the file is in the page cache: what is on its way could be waited for. */
static void await_pages(int fd)
{
    static unsigned char in_core[SIZE / PAGE];
    char *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
    size_t n = 0;

    if (map == MAP_FAILED)
        die("mmap");
    while (n < SIZE / PAGE) {
        MUST(mincore(map, SIZE, in_core));
        n = 0;
        while (n < SIZE / PAGE && in_core[n] & 1)
            n++;
    }
    munmap(map, SIZE);
}

static void do_cache_warm(void)
{
    int fd = make_file(IN("file"), SIZE, WARM);

    begin();
    for (int i = 0; i < 10; i++)
        read_hits(fd, 10000, 10000 * i);
}

/* Random access without readahead: each page that is not there costs one. */
static void do_cache_random(void)
{
    int fd = cold();

    MUST(-posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
    begin();
    for (int i = 0; i < 16; i++) {
        WELL(HERE, IO_READ, pread(fd, block, PAGE, 3 * PAGE * i));
        did_cache(HERE, CACHE_MISS, PAGE);
        did_cache(HERE, CACHE_FILL_READ, PAGE);
    }
    for (int i = 0; i < 16; i++)
        read_hits(fd, PAGE, 3 * PAGE * i);
}

static void do_cache_direct(void)
{
    int fd;

    close(cold());
    fd = (int)MUST(open(IN("file"), O_RDONLY | O_DIRECT));
    begin();
    for (int i = 0; i < 4; i++)
        WELL(HERE, IO_READ, pread(fd, block, 65536, 65536 * i));
    did_cache(HERE, CACHE_HIT, 0);
}

static void prefetched(int fd)
{
    did_cache(HERE, CACHE_FILL_PREFETCH, SIZE);
    await_pages(fd);
    for (int i = 0; i < 4; i++)
        read_hits(fd, SIZE / 4, SIZE / 4 * i);
}

static void do_cache_fadvise(void)
{
    int fd = cold();

    begin();
    MUST(-posix_fadvise(fd, 0, SIZE, POSIX_FADV_WILLNEED));
    prefetched(fd);
}

static void do_cache_readahead(void)
{
    int fd = cold();

    begin();
    MUST(readahead(fd, 0, SIZE));
    prefetched(fd);
}

static void do_cache_madvise(void)
{
    int fd = cold();
    char *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

    begin();
    MUST(madvise(map, SIZE, MADV_WILLNEED));
    prefetched(fd);
}

/* New pages, and a part of one that lies on the disk. */
static void do_cache_write(void)
{
    int fd = cold();

    begin();
    WELL(HERE, IO_WRITE, pwrite(fd, block, 8 * PAGE, SIZE));
    did_cache(HERE, CACHE_FILL_WRITE, 8 * PAGE);
    WELL(HERE, IO_WRITE, pwrite(fd, block, 10, 5 * PAGE + 5));
    did_cache(HERE, CACHE_FILL_WRITE, PAGE);
    WELL(HERE, IO_WRITE, pwrite(fd, block, 10, 5 * PAGE + 50));
}

/* --- mappings ---------------------------------------------------------------------------------- */

static char *map_file(int fd, int advice)
{
    char *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        die("mmap");
    MUST(madvise(map, SIZE, advice));
    return map;
}

static void touch(const char *map, int step)
{
    for (int i = 0; i < SIZE; i += step)
        sink = map[i];
}

static void do_mmap_random(void)
{
    char *map = map_file(cold(), MADV_RANDOM);

    begin();
    touch(map, 4 * PAGE);
    did_bytes(HERE, IO_MMAP_READ, SIZE / 4);
}

static void do_mmap_sequential(void)
{
    char *map = map_file(cold(), MADV_NORMAL);

    begin();
    touch(map, PAGE);
    did_bytes(HERE, IO_MMAP_READ, SIZE);
}

static void do_mmap_warm(void)
{
    char *map = map_file(make_file(IN("file"), SIZE, WARM), MADV_NORMAL);

    begin();
    touch(map, PAGE);
    did_bytes(HERE, IO_MMAP_READ, 0);
}

static char *map_clean(void)
{
    int fd = make_file(IN("file"), SIZE, WARM);

    MUST(fsync(fd));
    return map_file(fd, MADV_NORMAL);
}

/* No writeback in between (the runner holds it off): each page is dirtied for the first time once. */
static void do_mmap_write(void)
{
    char *map = map_clean();

    begin();
    for (int i = 0; i < SIZE; i += 2 * PAGE) {
        map[i] = 'a';
        map[i + 7] = 'b';
    }
    did_bytes(HERE, IO_MMAP_WRITE, SIZE / 2);
    did_bytes(HERE, IO_MMAP_READ, 0);
}

/* With writeback, what was clean again is dirtied again. */
static void do_mmap_rewrite(void)
{
    char *map = map_clean();

    begin();
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < SIZE; i += PAGE)
            map[i] = (char)round;
        WELL(HERE, IO_FSYNC, msync(map, SIZE, MS_SYNC));
    }
    did_between(HERE, IO_MMAP_WRITE, SIZE, 5 * SIZE);
    did_bytes(HERE, IO_MMAP_READ, 0);
}

const struct workload workloads_cache[] = {
    {"cache_warm", do_cache_warm},
    {"cache_random", do_cache_random},
    {"cache_direct", do_cache_direct},
    {"cache_fadvise", do_cache_fadvise},
    {"cache_readahead", do_cache_readahead},
    {"cache_madvise", do_cache_madvise},
    {"cache_write", do_cache_write},
    {"mmap_random", do_mmap_random},
    {"mmap_sequential", do_mmap_sequential},
    {"mmap_warm", do_mmap_warm},
    {"mmap_write", do_mmap_write},
    {"mmap_rewrite", do_mmap_rewrite},
    {NULL, NULL},
};
