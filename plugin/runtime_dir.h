/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files in the runtime directory of a jobiod (doc/protocol.md). */
#ifndef JOBIO_PLUGIN_RUNTIME_DIR_H
#define JOBIO_PLUGIN_RUNTIME_DIR_H

#include <limits.h>
#include <stdbool.h>

#include "common/message.h"

#define RUNTIME_DOWN_SECONDS 60

/* Write the fields of `m` (without VERSION and TYPE) to <runtime>/<directory>/<name>, one per line,
 * with rename(2). Makes missing directories. -ENOSPC: also if less than 10 % of the file system is
 * free. */
int runtime_write_file(const char *runtime, const char *directory, const char *name,
                       const struct message *m, struct error *error);

/* The contents of <runtime>/jobs/<jobid>. */
struct runtime_job {
    bool known;     /* the file exists */
    bool ended;     /* the epilog of that run was called */
    bool has_nodes; /* it has GATHER */
    bool mpi;       /* the user wants MPI-IO to be counted */
    uint32_t restart;
};

/* Read it once, so that all fields belong to one run: the first step of the next run replaces it.
 * A missing file is not an error. After an error, *ret is as for a missing file. */
int runtime_read_job(const char *runtime, uint32_t jobid, struct runtime_job *ret,
                     struct error *error);

/* Copy what is the same in each run of the job (ACCOUNT, PARTITION, USER, MPI) from that file, if
 * it exists, into the message. */
int runtime_copy_job(const char *runtime, uint32_t jobid, struct message *m, struct error *error);
/* Add ENDED=1 to that file, if it exists: this run of the job has ended. If it fails, the file is
 * as before. */
int runtime_end_job(const char *runtime, uint32_t jobid, struct error *error);

/* A request timed out less than RUNTIME_DOWN_SECONDS ago, and jobiod has not answered since. */
bool runtime_is_down(const char *runtime);
void runtime_mark_down(const char *runtime);
void runtime_clear_down(const char *runtime);

/* The directory of the pinned maps. -EPROTONOSUPPORT: they have another shape than this plugin
 * knows (bpf/records.h). */
int runtime_pin_directory(const char *runtime, char ret[PATH_MAX], struct error *error);

#endif
