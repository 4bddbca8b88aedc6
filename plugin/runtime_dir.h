/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of an instance's runtime directory (doc/protocol.md). */
#ifndef JOBIO_PLUGIN_RUNTIME_DIR_H
#define JOBIO_PLUGIN_RUNTIME_DIR_H

#include <limits.h>
#include <stdbool.h>

#include "common/message.h"

#define RUNTIME_DOWN_SECONDS 60

/* Put the fields of `m` (without VERSION and TYPE) into <runtime>/<directory>/<name>, a line each,
 * with rename(2). Folders are made if they are missing. -ENOSPC: also while less than a tenth of
 * the file system is free. */
int runtime_save(const char *runtime, const char *directory, const char *name,
                 const struct message *m, struct error *error);

/* What <runtime>/jobs/<jobid> says. */
struct runtime_job {
    bool known;     /* there is such a file */
    bool ended;     /* the epilog of that run has come */
    bool has_nodes; /* GATHER */
    uint32_t restart;
};

/* Read it once, so that all of it is of one run: the first step of the next one replaces it. */
struct runtime_job runtime_read_job(const char *runtime, uint32_t jobid);

/* Put ACCOUNT, PARTITION and USER of that file into the message. */
void runtime_put_owner(const char *runtime, uint32_t jobid, struct message *m);
/* Say in that file, if it is there, that this run of the job is over: ENDED=1. */
int runtime_end_job(const char *runtime, uint32_t jobid, struct error *error);

/* A hook met its deadline less than RUNTIME_DOWN_SECONDS ago, and jobiod has not answered since. */
bool runtime_is_down(const char *runtime);
void runtime_mark_down(const char *runtime);
void runtime_clear_down(const char *runtime);

/* Where the maps of this plugin's layout are pinned. -EPROTONOSUPPORT: another layout. */
int runtime_pin_folder(const char *runtime, char ret[PATH_MAX], struct error *error);

#endif
