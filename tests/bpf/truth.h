/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program did, call by call, as jobio must count it: the program notes its own calls by
 * their results as they return, and prints the sums as JSON. The sums are shared by all processes
 * that it forks. A call whose number or size a program cannot know is noted as such, and not
 * compared.
 */
#ifndef JOBIO_TESTS_BPF_TRUTH_H
#define JOBIO_TESTS_BPF_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io_op.h"

/* Calls that reached no file system. */
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

/* Before all else, in the first process. */
void truth_init(void);
/* The program's own start opened its file there. */
void truth_exec(int place);
/* One JSON document on stdout. */
void truth_print(const char *workload);

/* The place (a super block) that this path lies on. Paths without symbolic links only. */
int place_of(const char *path);
/* Its file system has gone, and another one may get its number: that is another place. */
void place_gone(int place);
/* It is called so, there where the program is. */
void place_name(int place, const char *name);

/* Note a call that returned `result`, with errno, and hand the result through. */
long did(int place, enum io_op op, long result);
/* The same of a call that nobody waited for (libaio, io_uring): `result` is a negative errno. */
void did_async(int place, enum io_op op, long result);
/* Where a read or write began that was noted: where the one before on the same open file ended, or
 * elsewhere; or nobody can tell. Order is compared once one of them is noted. Hands the result
 * through. */
enum truth_order { SEQUENTIAL, RANDOM, UNKNOWN };
long did_in_order(int place, enum io_op op, long result, enum truth_order order);
/* Of some of them nobody can tell. */
void did_in_crowd(int place, enum io_op op);
/* The bytes of an operation lie in this range, over all its requests. */
void did_between(int place, enum io_op op, uint64_t least, uint64_t most);
/* Bytes in a number of requests that only the kernel knows. */
void did_bytes(int place, enum io_op op, uint64_t bytes);
/* Any number of requests, of any result: jobio may or may not have counted such calls. */
void did_perhaps(int place, enum io_op op);
/* Bytes for the page cache's account, which is compared as a whole once one of them is noted. */
void did_cache(int place, enum truth_cache what, uint64_t bytes);
/* Pages that a write brings in may be dropped and brought in again before it is done. */
void did_refill(int place);
/* Is the place on a file system of this type? */
bool place_is(int place, const char *fstype);

/* Print what failed, with errno, and end. */
void die(const char *what) __attribute__((noreturn));

/* A call of which it is known that it works: hands the result through. */
#define WELL(place, op, call) did_well(place, op, call, #call)
/* One that must fail with this errno. */
#define FAILS(place, op, code, call) did_fail(place, op, call, code, #call)
/* One that works and is not noted. */
#define MUST(call) must(call, #call)

long did_well(int place, enum io_op op, long result, const char *what);
void did_fail(int place, enum io_op op, long result, int code, const char *what);
long must(long result, const char *what);

#endif
