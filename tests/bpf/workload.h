/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the workloads share. Each is a function that prepares, calls begin(), and does its calls. */
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
extern const struct workload workloads_async[], workloads_cache[], workloads_data[],
    workloads_meta[], workloads_mount[], workloads_order[], workloads_path[], workloads_process[],
    workloads_stream[], workloads_transfer[];

/* From here on the process and its children are counted. */
void begin(void);
/* And from here on it is not, until the next begin(). */
void leave(void);

/* The place of the directory that was given first, second... and a path in it, good for some calls.
 */
int place_at(int directory);
const char *at(int directory, const char *name);
/* The same of the first directory. */
#define HERE place_at(0)
#define IN(name) at(0, name)
/* The directory itself as it was given, without the workload's own one below. */
const char *given(int directory);
/* How many directories there are. */
int directories(void);

/* Make a file of that many bytes, on disk and, if `cold`, not in the page cache; open it for
 * reading and writing. To be called before begin(). */
enum temperature { WARM, COLD };
int make_file(const char *path, size_t size, enum temperature temperature);
void drop_cache(int fd);

/* open(2), noted as an open, and as a create if it made the file. */
int do_open(int place, const char *path, int flags);

/* Run `work` in a child and wait for it. */
void in_child(void (*work)(void));
/* Wait for a child that must end with 0. */
void await(pid_t pid);

/* For the calls' data: aligned for O_DIRECT. */
#define BLOCK (1 << 20)
extern char block[BLOCK];
/* Mapped by nobody. */
extern void *volatile bad_address;

#endif
