/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page cache and memory-mapped files. mincore(2) shows which pages are in the cache. Advice
 * disables readahead where its size would be the kernel's choice, so that a read or a fault brings
 * in only the pages that it needs.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

#define PAGE 4096
#define PAGES 512
#define TAIL 1000 /* bytes of the file's last page */
#define SIZE (PAGES * PAGE + TAIL)

/* The number of pages of the file that are in the cache, from `first` on. */
static size_t resident(int fd, size_t first, size_t pages)
{
    unsigned char in_core[PAGES + 1];
    void *map = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, fd, (off_t)(first * PAGE));
    size_t n = 0;

    if (map == MAP_FAILED || mincore(map, pages * PAGE, in_core) < 0)
        die("mincore");
    for (size_t i = 0; i < pages; i++)
        n += in_core[i] & 1;
    munmap(map, pages * PAGE);
    return n;
}

/* Wait until this many are; readahead needs a moment. */
static void await_resident(int fd, size_t first, size_t pages, size_t n)
{
    for (int i = 0; i < 20000 && resident(fd, first, pages) != n; i++)
        usleep(1000);
    if (resident(fd, first, pages) != n) {
        fprintf(stderr, "%zu pages in the cache, not %zu\n", resident(fd, first, pages), n);
        exit(1);
    }
}

/* A file that is not in the cache, without readahead. */
static int make_cold(const char *path)
{
    int fd = make_file(path, SIZE, COLD);

    for (int i = 0; i < 1000 && resident(fd, 0, PAGES + 1); i++) {
        drop_cache(fd);
        sched_yield();
    }
    await_resident(fd, 0, PAGES + 1, 0);
    MUST(-posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
    return fd;
}

static char *map_file(int fd, int protection, int flags)
{
    char *map = mmap(NULL, SIZE, protection, flags, fd, 0);

    if (map == MAP_FAILED || madvise(map, SIZE, MADV_RANDOM) < 0)
        die("mmap");
    return map;
}

static void did_fill(int place, enum truth_cache cause, size_t pages)
{
    did_cache(place, cause, pages * PAGE);
}

static void hit(int fd, size_t size, size_t at_byte)
{
    did_cache(HERE, CACHE_HIT,
              (uint64_t)WELL(HERE, IO_READ, pread(fd, block, size, (off_t)at_byte)));
}

/* ... and this many pages must be read. */
static void miss(int fd, size_t size, size_t at_byte, size_t pages)
{
    size_t before = resident(fd, 0, PAGES + 1);

    did_cache(HERE, CACHE_MISS,
              (uint64_t)WELL(HERE, IO_READ, pread(fd, block, size, (off_t)at_byte)));
    did_fill(HERE, CACHE_FILL_READ, pages);
    await_resident(fd, 0, PAGES + 1, before + pages);
}

static void do_cache_read(void)
{
    int fd = make_cold(IN("file"));

    begin();
    miss(fd, 64 * PAGE, 0, 64);
    hit(fd, 64 * PAGE, 0);
    hit(fd, 1, 5);
    miss(fd, 1, 300 * PAGE + 7, 1);
    hit(fd, PAGE, 300 * PAGE);
    miss(fd, 100, 301 * PAGE - 50, 1);   /* the first half is there */
    miss(fd, 2 * PAGE, PAGES * PAGE, 1); /* short */
    hit(fd, 10, SIZE);                   /* nothing */
    for (size_t i = 100; i < 200; i += 7)
        miss(fd, PAGE, i * PAGE, 1);
}

static void do_cache_warm(void)
{
    int fd = make_file(IN("file"), SIZE, WARM);

    begin();
    for (size_t i = 0; i < PAGES; i += 100)
        hit(fd, PAGE, i * PAGE);
}

/* As programs read: the kernel reads 4 pages for the first, and 8 more when the second is used;
 * with large folios, which hold both, at once. */
static void do_cache_ahead(void)
{
    int fd = make_cold(IN("file"));

    MUST(-posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL));
    begin();
    did_cache(HERE, CACHE_MISS, (uint64_t)WELL(HERE, IO_READ, pread(fd, block, PAGE, 0)));
    did_fill(HERE, CACHE_FILL_READ, 4);
    hit(fd, PAGE, PAGE);
    did_fill(HERE, CACHE_FILL_PREFETCH, 8);
    await_resident(fd, 0, PAGES + 1, 12);
    hit(fd, PAGE, 2 * PAGE);
}

static void do_cache_advice(void)
{
    int fd = make_cold(IN("file"));
    char *map = map_file(fd, PROT_READ, MAP_SHARED);

    begin();
    MUST(-posix_fadvise(fd, 0, 16 * PAGE, POSIX_FADV_WILLNEED));
    await_resident(fd, 0, 16, 16);
    hit(fd, 16 * PAGE, 0);
    MUST(readahead(fd, 100 * PAGE, 20 * PAGE));
    await_resident(fd, 100, 20, 20);
    hit(fd, 20 * PAGE, 100 * PAGE);
    MUST(madvise(map + 200 * PAGE, 10 * PAGE, MADV_WILLNEED));
    await_resident(fd, 200, 10, 10);
    hit(fd, 10 * PAGE, 200 * PAGE);
    MUST(-posix_fadvise(fd, 300 * PAGE, PAGE, POSIX_FADV_DONTNEED));
    miss(fd, PAGE, 300 * PAGE, 1);
    await_resident(fd, 0, PAGES + 1, 47);
    did_fill(HERE, CACHE_FILL_PREFETCH, 46);
}

static void do_cache_direct(void)
{
    int fd = make_cold(IN("file")), direct = (int)MUST(open(IN("file"), O_RDONLY | O_DIRECT));

    begin();
    WELL(HERE, IO_READ, pread(direct, block, 32 * PAGE, 0));
    miss(fd, 16 * PAGE, 0, 16);
    WELL(HERE, IO_READ, pread(direct, block, 32 * PAGE, 0)); /* half of it is in the cache */
    await_resident(fd, 0, PAGES + 1, 16);
}

static void do_cache_write(void)
{
    int fd = make_cold(IN("file")), new = (int)MUST(open(IN("new"), O_RDWR | O_CREAT, 0600));

    begin();
    WELL(HERE, IO_WRITE, pwrite(new, block, 16 * PAGE, 0));
    did_fill(HERE, CACHE_FILL_WRITE, 16);
    WELL(HERE, IO_WRITE, pwrite(new, block, 16 * PAGE, 0)); /* in the cache */
    hit(new, 16 * PAGE, 0);
    WELL(HERE, IO_WRITE, pwrite(fd, block, 10, 50 * PAGE + 9)); /* the rest of the page is read */
    did_fill(HERE, CACHE_FILL_WRITE, 1);
    if (place_is(HERE, "xfs")) /* which drops a page if its extent has changed meanwhile */
        did_refill(HERE);
    await_resident(fd, 0, PAGES + 1, 1);
}

/* The first access brings in a page, the second does not. */
static void touch(int place, int fd, const char *map, size_t page)
{
    size_t before = resident(fd, 0, PAGES + 1);

    (void)*(volatile const char *)(map + page * PAGE);
    did(place, IO_MMAP_READ, PAGE);
    did_fill(place, CACHE_FILL_FAULT, 1);
    await_resident(fd, 0, PAGES + 1, before + 1);
    (void)*(volatile const char *)(map + page * PAGE + 100);
}

static void do_mmap_read(void)
{
    int fd = make_cold(IN("file"));
    char *shared = map_file(fd, PROT_READ, MAP_SHARED);
    char *private = map_file(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);

    begin();
    for (size_t i = 0; i < 100; i += 3)
        touch(HERE, fd, shared, i);
    touch(HERE, fd, private, 200);
    private[0] = 1; /* a copy of a cached page */
    touch(HERE, fd, shared, PAGES);
}

/* Cached pages are mapped, not brought in. */
static void do_mmap_warm(void)
{
    char *map = map_file(make_file(IN("file"), SIZE, WARM), PROT_READ, MAP_SHARED);

    begin();
    for (size_t i = 0; i <= PAGES; i++)
        (void)*(volatile const char *)(map + i * PAGE);
}

/* As usual programs do: the kernel chooses how much a fault brings in. */
static void do_mmap_ahead(void)
{
    int fd = make_cold(IN("file"));
    char *map = map_file(fd, PROT_READ, MAP_SHARED);

    MUST(-posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL));
    MUST(madvise(map, SIZE, MADV_NORMAL));
    begin();
    for (size_t i = 0; i <= PAGES; i++)
        (void)*(volatile const char *)(map + i * PAGE);
    did_bytes(HERE, IO_MMAP_READ, (PAGES + 1) * PAGE);
    await_resident(fd, 0, PAGES + 1, PAGES + 1);
}

static void do_mmap_write(void)
{
    int fd = make_file(IN("file"), SIZE, WARM);
    int holes = (int)MUST(open(IN("holes"), O_RDWR | O_CREAT, 0600));
    char *map, *sparse;
    size_t dirtied = 0;

    drop_cache(fd); /* clean, so that each page is dirtied for the first time */
    MUST(pread(fd, block, BLOCK, 0));
    MUST(ftruncate(holes, SIZE));
    map = map_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    sparse = map_file(holes, PROT_READ | PROT_WRITE, MAP_SHARED);
    (void)*(volatile char *)map; /* a readable page becomes writable */
    begin();
    close(do_open(HERE, IN("file"), O_RDONLY)); /* so that the report has the mount */
    for (size_t i = 0; i < 50; i++) {
        dirtied++;
        map[i * PAGE] = 1;
        map[i * PAGE + 1] = 1;
        did(HERE, IO_MMAP_WRITE, PAGE);
    }
    for (size_t i = 0; i <= PAGES; i += 3) {
        dirtied++;
        sparse[i * PAGE] = 1;
        did(HERE, IO_MMAP_READ, PAGE); /* a page of zeros */
        did(HERE, IO_MMAP_WRITE, PAGE);
    }
    if (place_is(HERE, "xfs")) /* which repeats a fault if an extent has changed */
        did_between(HERE, IO_MMAP_WRITE, dirtied * PAGE, 2 * dirtied * PAGE);
}

/* After writeback, clean pages are dirtied again. */
static void do_mmap_rewrite(void)
{
    int fd = make_file(IN("file"), SIZE, WARM);
    char *map = map_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED);

    MUST(fsync(fd));
    begin();
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < 64; i++)
            map[i * PAGE] = (char)round;
        WELL(HERE, IO_FSYNC, msync(map, SIZE, MS_SYNC));
    }
    did_between(HERE, IO_MMAP_WRITE, 64 * PAGE, 5 * 64 * PAGE);
}

/* Faults inside calls: on the last directory's file, and for the mapping alone. */
static void do_mmap_in_calls(void)
{
    int last = place_at(directories() - 1), fd = make_file(IN("file"), SIZE, WARM);
    int mapped = make_cold(at(directories() - 1, "mapped"));
    char *map = map_file(mapped, PROT_READ | PROT_WRITE, MAP_SHARED);

    begin();
    for (size_t i = 0; i < 10; i++) {
        did_cache(HERE, CACHE_HIT,
                  (uint64_t)WELL(HERE, IO_READ, pread(fd, map + i * PAGE, 100, (off_t)i)));
        did(last, IO_MMAP_READ, PAGE);
        did_fill(last, CACHE_FILL_FAULT, 1);
        did(last, IO_MMAP_WRITE, PAGE);
    }
    for (size_t i = 20; i < 25; i++) {
        WELL(HERE, IO_WRITE, pwrite(fd, map + i * PAGE, 100, (off_t)i));
        did(last, IO_MMAP_READ, PAGE);
        did_fill(last, CACHE_FILL_FAULT, 1);
    }
    await_resident(mapped, 0, PAGES + 1, 15);
}

const struct workload workloads_cache[] = {
    {"cache_read", do_cache_read},
    {"cache_warm", do_cache_warm},
    {"cache_ahead", do_cache_ahead},
    {"cache_advice", do_cache_advice},
    {"cache_direct", do_cache_direct},
    {"cache_write", do_cache_write},
    {"mmap_read", do_mmap_read},
    {"mmap_ahead", do_mmap_ahead},
    {"mmap_warm", do_mmap_warm},
    {"mmap_write", do_mmap_write},
    {"mmap_rewrite", do_mmap_rewrite},
    {"mmap_in_calls", do_mmap_in_calls},
    {NULL, NULL},
};
