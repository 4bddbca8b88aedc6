/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults: the n-th allocation, system call on files, or call of SQLite fails once. fault.c replaces
 * malloc() and the calls on files in the whole program, libraries and plugins included;
 * fault_sqlite.c adds the memory and the files of SQLite.
 */
#ifndef JOBIO_TESTS_UNIT_FAULT_H
#define JOBIO_TESTS_UNIT_FAULT_H

#include <stdbool.h>

#include "common/error.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_MEMORY, /* malloc() and its family return NULL; not those of SQLite */
    FAULT_FILE,   /* open, write, rename, ... fail: ENOSPC or EMFILE; write a half at first */
    FAULT_SQLITE_MEMORY, /* SQLite's allocations */
    FAULT_SQLITE_IO,     /* SQLite's files: SQLITE_IOERR of each kind, SQLITE_CANTOPEN */
    FAULT_SQLITE_FULL,   /* the n-th write of SQLite: a half is written, then SQLITE_FULL */
};

/* Of all threads, and of children forked from now on, the n-th call of this kind fails. With
 * FAULT_TRACE in the environment it prints where. */
void fault_arm(enum fault_kind kind, unsigned n);
/* Returns whether a call has failed since then. */
bool fault_disarm(void);
/* Count a call; true: it is the one to fail. For fault_sqlite.c. */
bool fault_is_due(enum fault_kind kind);
/* Calls of this thread are not counted between these two; they nest. */
void fault_pause(void);
void fault_resume(void);

/* Blocks of memory and descriptors in use. Blocks: 0 under a sanitizer, which looks for leaks. */
long fault_blocks(void);
long fault_descriptors(void);

/* One run is prepare, run, check. Faults happen only in `run`. */
struct fault_scenario {
    const char *name;
    void (*prepare)(void);
    /* Returns < 0 with a text if something failed. */
    int (*run)(struct error *error);
    /* Whatever `run` has returned: the state is that before or after it, never one between, and a
     * repetition gives the exact result. `hit`: a call has failed. Frees everything. */
    void (*check)(int r, bool hit);
};
/* Run it without a fault, then with call number 1, 1 + step, 1 + 2 * step, ... failing, until none
 * fails. Fails the test if a run leaks memory or descriptors, or fails without a text. */
void fault_each(enum fault_kind kind, const struct fault_scenario *scenario, unsigned step);

/* Before the first use of SQLite. */
void fault_sqlite_set_up(void);

#endif
