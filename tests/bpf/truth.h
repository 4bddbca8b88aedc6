/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program did, call by call, as jobio must count it: the program notes the results of its
 * own calls and prints the sums as JSON. All processes that it forks share the sums. Calls whose
 * number or size it cannot know are noted as such and not compared.
 */
#ifndef JOBIO_TESTS_BPF_TRUTH_H
#define JOBIO_TESTS_BPF_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io_op.h"

/* The place of calls that reached no file system. */
#define NOWHERE 0

/* The page cache's part of the account. */
enum truth_cache {
    CACHE_HIT,
    CACHE_MISS,
    CACHE_FILL_READ,
    CACHE_FILL_FAULT,
    CACHE_FILL_PREFETCH,
    CACHE_FILL_WRITE,
    CACHE_COUNT
};

/* Call this first, in the first process. */
void truth_init(void);
/* Note that the start of the program opened its file there. */
void truth_exec(int place);
/* Note that a child starts the same program again. */
void did_exec(void);
/* Print one JSON document on stdout. Closes are compared once one of them is noted; the program's
 * own file is then closed at the end. */
void truth_print(const char *workload);

/* Returns the place (super block) of this path, which must not contain symbolic links. */
int place_of(const char *path);
/* Returns the place of this memfd: the kernel's own tmpfs. */
int place_of_memory(int fd);
/* The file system of the place is gone. If another one gets its number, that is another place. */
void place_gone(int place);
/* Set the name of the place in the program's mount namespace. */
void place_name(int place, const char *name);

/* Note a call that returned `result`, with errno. Returns the result. */
long did(int place, enum io_op op, long result);
/* The same for an asynchronous call (libaio, io_uring): on error `result` is a negative errno. */
void did_async(int place, enum io_op op, long result);
/* Note the order of a read or write: it started where the previous one on the same open file ended,
 * or elsewhere, or that is unknown. Order is compared once one of them is noted. Returns the
 * result. */
enum truth_order { SEQUENTIAL, RANDOM, UNKNOWN };
long did_in_order(int place, enum io_op op, long result, enum truth_order order);
/* The order of this many requests is unknown. */
void did_in_crowd(int place, enum io_op op);
/* The bytes of all requests of an operation are in this range. */
void did_between(int place, enum io_op op, uint64_t least, uint64_t most);
/* Note bytes in an unknown number of requests. */
void did_bytes(int place, enum io_op op, uint64_t bytes);
/* Allow any number of requests with any result. */
void did_perhaps(int place, enum io_op op);
/* Note bytes of the page cache. All of its numbers are compared once one of them is noted. */
void did_cache(int place, enum truth_cache what, uint64_t bytes);
/* Pages that a write brings in may be dropped and brought in again during the write. */
void did_refill(int place);
/* From here on, compare the readers and writers of all mounts: each call is noted by the thread
 * that makes it. limit: of processes, each with one thread, beyond which jobio reports only that
 * there are at least as many; 0: none. Each process calls it before it creates threads. */
void did_users(uint64_t limit);
/* Returns true if the path does not exist, without a call that jobio counts. */
bool is_absent(const char *path);
/* Returns true if the place is on a file system of this type. */
bool place_is(int place, const char *fstype);

/* Print what failed, with errno, and exit. */
void die(const char *what) __attribute__((noreturn));

/* A call that must succeed. Returns the result. */
#define WELL(place, op, call) did_well(place, op, call, #call)
/* A call that must fail with this errno. */
#define FAILS(place, op, code, call) did_fail(place, op, call, code, #call)
/* A call that must succeed and is not noted. */
#define MUST(call) must(call, #call)

long did_well(int place, enum io_op op, long result, const char *what);
void did_fail(int place, enum io_op op, long result, int code, const char *what);
long must(long result, const char *what);

#endif
