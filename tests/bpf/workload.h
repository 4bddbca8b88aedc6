/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the workloads. Each is a function that prepares, calls begin(), and makes its calls. */
#ifndef JOBIO_TESTS_BPF_WORKLOAD_H
#define JOBIO_TESTS_BPF_WORKLOAD_H

#include <stddef.h>
#include <sys/types.h>

#include "tests/bpf/truth.h"

struct workload {
    const char *name;
    void (*run)(void);
};

/* Ended by an entry without a name. */
extern const struct workload workloads_async[], workloads_cache[], workloads_close[],
    workloads_data[], workloads_lookup[], workloads_meta[], workloads_mount[], workloads_order[],
    workloads_path[], workloads_process[], workloads_stream[], workloads_transfer[],
    workloads_users[];

/* From here on the process and its children are counted. */
void begin(void);
/* From here on they are not counted, until the next begin(). */
void leave(void);

/* The place of the n-th given directory, and a path in it, valid for some calls. */
int place_at(int directory);
const char *at(int directory, const char *name);
/* The same for the first directory. */
#define HERE place_at(0)
#define IN(name) at(0, name)
/* The directory as it was given, without the workload's own one in it. */
const char *given(int directory);
/* The number of directories. */
int directories(void);

/* Make a file with this many bytes, on disk and, if `cold`, not in the page cache; open it for
 * reading and writing. Call it before begin(). */
enum temperature { WARM, COLD };
int make_file(const char *path, size_t size, enum temperature temperature);
void drop_cache(int fd);

/* open(2), noted as an open, and as a create if it creates the file. */
int do_open(int place, const char *path, int flags);

/* close(2) of the last descriptor of a regular file, noted. */
void do_close(int place, int fd);

/* Run `work` in a child and wait for it. */
void in_child(void (*work)(void));
/* Wait for a child that must end with 0. */
void await(pid_t pid);
/* Wait until the thread sleeps in a system call. */
void await_sleep(pid_t thread);

/* Buffer for data, aligned for O_DIRECT. */
#define BLOCK (1 << 20)
extern char block[BLOCK];
/* An address that is not mapped. */
extern void *volatile bad_address;

#endif
