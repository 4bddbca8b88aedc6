/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what others count for a job: its processes, its mounts on this node, and Slurm's
 * accounting. */
#ifndef JOBIO_CLI_EXPLAIN_FIGURES_H
#define JOBIO_CLI_EXPLAIN_FIGURES_H

#include "common/job.h"
#include "report/explain/explain.h"

#define FIGURES_MAX 16

struct figures {
    struct explain_figure items[FIGURES_MAX];
    char *missing[FIGURES_MAX]; /* owned; texts of the items */
    size_t n;
};

/* Read all figures, in the order of the table. A figure that cannot be read has a reason. Mount
 * names are borrowed from the job. 0 or -ENOMEM. */
int figures_read(const struct job_account *job, struct figures *ret);
void figures_clear(struct figures *figures);

/* Add a row without figures; the text is copied. */
int figures_miss(struct figures *figures, enum explain_kind kind, const char *mount,
                 const char *missing);
int figures_add(struct figures *figures, enum explain_kind kind, const char *mount, uint64_t read,
                uint64_t written);

/* The parts of figures_read(). */
int figures_read_sacct(const struct job_account *job, struct figures *figures);
int figures_read_processes(const struct job_account *job, struct figures *figures);
int figures_read_mounts(const struct job_account *job, struct figures *figures);

/* What a Lustre client counts: what programs read and wrote (llite), and what it transferred (osc).
 */
struct figures_lustre {
    uint64_t read, written;
    uint64_t from_servers, to_servers;
    struct explain_rpcs rpcs;
    int wire; /* 0: these three are known; else a negative errno */
};

/* Read the statistics of the client of the file system `source` below one of `roots`
 * (NULL-terminated; llite and osc may be below different ones). -ENOENT: there is no such client;
 * -EACCES: this user may not read them. */
int figures_read_lustre(const char *const *roots, const char *source, struct figures_lustre *ret);

/* Read a file of /proc or /sys below `dir` (AT_FDCWD), at most its first MiB: malloc'd, or a
 * negative errno. */
#define FIGURES_SLURP_MAX (1u << 20)
int figures_slurp(int dir, const char *path, char **ret, size_t *size);

#endif
