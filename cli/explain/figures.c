/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "cli/explain/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/command.h"
#include "common/cleanup.h"

#define SACCT_MS 10000
#define MOUNTS_MAX 3 /* the busiest; statistics of these are shown */

/* --- Slurm's accounting ----------------------------------------------------------------------- */

/* The errors of sacct if it cannot reach slurmdbd, or slurmctld to find slurmdbd. */
static bool is_out_of_reach(const char *text)
{
    static const char *const signs[] = {"dns_srv",           "slurmdbd",
                                        "Unable to contact", "Connection refused",
                                        "fetch_config",      "Could not establish a configuration"};

    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

int figures_read_sacct(const struct job_account *job, struct figures *figures)
{
    char id[16];
    char *argv[] = {"sacct", "-P", "-n", "--noconvert",
                    "-j",    id,   "-o", "JobIDRaw,TRESUsageInTot,TRESUsageOutTot",
                    NULL};
    _free_ char *text = NULL;
    uint64_t read, written;
    struct error error;
    int rc;

    (void)snprintf(id, sizeof(id), "%" PRIu32, job->key.jobid);
    rc = command_read(argv, SACCT_MS, FIGURES_SLURP_MAX, &text, &error);
    if (rc == -ENOENT)
        return figures_miss(figures, EXPLAIN_SACCT, NULL, "there is no sacct on this machine");
    if (rc < 0)
        return figures_miss(figures, EXPLAIN_SACCT, NULL,
                            is_out_of_reach(error.text)
                                ? "not reachable from here: run this on a login node"
                                : error.text);
    rc = explain_parse_sacct(text, &read, &written);
    if (rc == -ENOENT)
        return figures_miss(figures, EXPLAIN_SACCT, NULL,
                            "Slurm's accounting does not know this job (any more)");
    if (rc == -ENODATA)
        return figures_miss(figures, EXPLAIN_SACCT, NULL,
                            job->ended ? "Slurm gathered nothing (see JobAcctGatherType)"
                                       : "Slurm writes it down when a step ends");
    return rc < 0 ? rc : figures_add(figures, EXPLAIN_SACCT, NULL, read, written);
}

/* --- mounts ----------------------------------------------------------------------------------- */

static int read_nfs(const struct io_mount *m, struct figures *figures)
{
    _free_ char *text = NULL;
    struct explain_nfs nfs;
    size_t size = 0;
    int rc = figures_slurp(AT_FDCWD, "/proc/self/mountstats", &text, &size);

    if (rc == 0 && size == FIGURES_SLURP_MAX)
        rc = -EFBIG; /* there may be more of the mount */
    if (rc == 0)
        rc = explain_parse_mountstats(text, m->mount, &nfs);
    if (rc == -ENOENT)
        return figures_miss(figures, EXPLAIN_NFS_CALLS, m->mount, "not mounted on this node");
    if (rc < 0)
        return figures_miss(figures, EXPLAIN_NFS_CALLS, m->mount, strerror(-rc));
    rc = figures_add(figures, EXPLAIN_NFS_CALLS, m->mount, nfs.read, nfs.written);
    return rc < 0
               ? rc
               : figures_add(figures, EXPLAIN_NFS_WIRE, m->mount, nfs.from_server, nfs.to_server);
}

static const char *lustre_reason(int rc)
{
    return rc == -EACCES || rc == -EPERM ? "only root may read it" : "no such Lustre client here";
}

static int read_lustre(const struct io_mount *m, struct figures *figures)
{
    static const char *const roots[] = {"/proc/fs/lustre", "/sys/kernel/debug/lustre", NULL};
    struct figures_lustre lustre;
    int rc = figures_read_lustre(roots, m->source, &lustre);

    if (rc < 0)
        return figures_miss(figures, EXPLAIN_LUSTRE, m->mount, lustre_reason(rc));
    rc = figures_add(figures, EXPLAIN_LUSTRE, m->mount, lustre.read, lustre.written);
    if (rc < 0 || figures->n == FIGURES_MAX)
        return rc;
    if (lustre.wire < 0)
        return figures_miss(figures, EXPLAIN_LUSTRE_WIRE, m->mount, lustre_reason(lustre.wire));
    rc =
        figures_add(figures, EXPLAIN_LUSTRE_WIRE, m->mount, lustre.from_servers, lustre.to_servers);
    figures->items[figures->n - 1].rpcs = lustre.rpcs;
    return rc;
}

static const struct {
    const char *fstype;
    int (*read)(const struct io_mount *m, struct figures *figures);
} statistics[] = {{"nfs", read_nfs}, {"nfs4", read_nfs}, {"lustre", read_lustre}};

typedef int (*read_f)(const struct io_mount *m, struct figures *figures);

static read_f reader_of(const struct io_mount *m)
{
    for (size_t i = 0; !m->private && i < ARRAY_SIZE(statistics); i++)
        if (strcmp(m->fstype, statistics[i].fstype) == 0)
            return statistics[i].read;
    return NULL;
}

static bool is_in(const struct io_mount *const *list, size_t n, const struct io_mount *m)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == m)
            return true;
    return false;
}

int figures_read_mounts(const struct job_account *job, struct figures *figures)
{
    const struct io_mount *shown[MOUNTS_MAX];

    for (size_t n = 0; n < MOUNTS_MAX; n++) {
        const struct io_mount *best = NULL;
        int rc;

        for (size_t i = 0; i < job->mounts.n; i++) {
            const struct io_mount *m = &job->mounts.items[i];

            if (reader_of(m) && !is_in(shown, n, m) &&
                (!best || io_account_all(&m->io).bytes > io_account_all(&best->io).bytes))
                best = m;
        }
        if (!best)
            return 0;
        shown[n] = best;
        rc = reader_of(best)(best, figures);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

int figures_read(const struct job_account *job, struct figures *ret)
{
    struct figures figures = {.n = 0};
    int rc = figures_read_sacct(job, &figures);

    if (rc == 0)
        rc = figures_read_processes(job, &figures);
    if (rc == 0 && !job->ended)
        rc = figures_read_mounts(job, &figures);
    if (rc == 0)
        *ret = figures;
    else
        figures_clear(&figures);
    return rc;
}
