/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the account with what other tools count, and explains the differences. */
#ifndef JOBIO_REPORT_EXPLAIN_EXPLAIN_H
#define JOBIO_REPORT_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/job.h"

struct json_object;

enum explain_kind {
    EXPLAIN_SACCT,       /* fs/disk: rchar and wchar of the job's tasks at Slurm's last sample */
    EXPLAIN_PROC_CALLS,  /* rchar and wchar of /proc/PID/io, of the processes that are alive */
    EXPLAIN_PROC_DISK,   /* read_bytes and write_bytes there */
    EXPLAIN_CGROUP,      /* rbytes and wbytes of the job's io.stat */
    EXPLAIN_NFS_CALLS,   /* /proc/PID/mountstats: what programs read and wrote on a mount */
    EXPLAIN_NFS_WIRE,    /* what was transferred between this node and the server */
    EXPLAIN_LUSTRE,      /* a mount's llite stats */
    EXPLAIN_LUSTRE_WIRE, /* the stats of its object storage targets, and their rpc_stats */
    EXPLAIN_KINDS,
};

/* The requests of a Lustre client to its object storage targets. */
#define EXPLAIN_RPC_SIZES 32
struct explain_rpcs {
    uint64_t reads[EXPLAIN_RPC_SIZES], writes[EXPLAIN_RPC_SIZES]; /* of at most 2^i pages */
    uint32_t page_bytes;
    uint32_t at_once; /* the most at a time to one target; EXPLAIN_RPC_SIZES - 1: or more */
};

/* One row. Borrowed texts. */
struct explain_figure {
    enum explain_kind kind;
    const char *mount; /* of NFS and Lustre: where; else NULL */
    uint64_t read, written;
    const char *missing;      /* why there are no figures; NULL: there are */
    struct explain_rpcs rpcs; /* of EXPLAIN_LUSTRE_WIRE */
};

/* The table, then the reasons, in lines of `columns` (at least 20); malloc'd, NULL: out of memory.
 */
char *report_explain_text(const struct job_account *job, const struct explain_figure *figures,
                          size_t n, unsigned columns);
/* The same as a JSON array, one object a figure (doc/context.schema.json); NULL: out of memory. */
struct json_object *report_explain_json(const struct job_account *job,
                                        const struct explain_figure *figures, size_t n);

/* --- output of other tools -------------------------------------------------------------------- */

/* The lines of `sacct -P -n --noconvert -o JobIDRaw,TRESUsageInTot,TRESUsageOutTot`: the sum of
 * fs/disk over the steps. -ENOENT: no line at all; -ENODATA: no step has it. */
int explain_parse_sacct(const char *text, uint64_t *read, uint64_t *written);
/* /proc/PID/io: adds to all four. -EBADMSG: invalid. */
struct explain_proc_io {
    uint64_t rchar, wchar, read_bytes, write_bytes;
};
int explain_parse_proc_io(const char *text, struct explain_proc_io *to);
/* A cgroup's io.stat (v2): adds rbytes and wbytes of all devices. */
void explain_parse_io_stat(const char *text, uint64_t *read, uint64_t *written);
/* The mount's "bytes:" line in /proc/PID/mountstats. -ENOENT: no such NFS mount. */
struct explain_nfs {
    uint64_t read, written; /* by programs */
    uint64_t from_server, to_server;
};
int explain_parse_mountstats(const char *text, const char *mount, struct explain_nfs *ret);
/* The stats of a Lustre client (llite) or of one of its targets (osc); a missing line counts as 0.
 */
void explain_parse_lustre(const char *text, uint64_t *read, uint64_t *written);
/* A target's rpc_stats: adds the requests by size, and raises at_once. -EBADMSG: not such a file,
 * or out of memory. */
int explain_parse_rpc_stats(const char *text, struct explain_rpcs *to);
/* The path in a cgroup file (/proc/PID/cgroup) down to the job's own directory ("job_ID"), of the
 * v2 hierarchy: malloc'd. NULL: it belongs to another job, or out of memory. */
char *explain_parse_cgroup(const char *text, uint32_t jobid);

#endif
