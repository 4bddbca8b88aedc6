/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/watch/mpi.h"

#include <stdlib.h>

#include "collector/mpi/finder.h"
#include "collector/probe/mpi.h"
#include "common/cleanup.h"

#define MAX_PROCESSES 16384

struct watch_mpi {
    const struct cgroup *cgroup;
    struct mpi_probe *probe;
    struct mpi_finder *finder;
    uint32_t pids[MAX_PROCESSES];
    bool overflow; /* there were more at a reading */
};

void watch_mpi_destroy(struct watch_mpi *mpi)
{
    if (!mpi)
        return;
    mpi_finder_destroy(mpi->finder);
    mpi_probe_destroy(mpi->probe);
    free(mpi);
}
DEFINE_CLEANUP(struct watch_mpi, watch_mpi_destroy)
DEFINE_CLEANUP(struct mpi_account, mpi_account_destroy)

int watch_mpi_create(struct watch_mpi **ret, const struct probe *probe, const struct cgroup *cgroup,
                     struct error *error)
{
    CLEANUP(watch_mpi_destroyp) struct watch_mpi *mpi = calloc(1, sizeof(*mpi));
    int rc = mpi ? mpi_probe_create(&mpi->probe, probe, error)
                 : error_errno(error, -ENOMEM, "count MPI");

    if (rc < 0)
        return rc;
    mpi->cgroup = cgroup;
    mpi->finder = mpi_finder_create(mpi->probe);
    if (!mpi->finder)
        return error_errno(error, -ENOMEM, "count MPI");
    mpi_finder_expect(mpi->finder, getenv("LD_LIBRARY_PATH"), getenv("PATH"));
    *ret = TAKE_PTR(mpi);
    return 0;
}

int watch_mpi_start(struct watch_mpi *mpi, uint32_t step, struct error *error)
{
    return mpi ? mpi_probe_add(mpi->probe, step, error) : 0;
}

int watch_mpi_fd(const struct watch_mpi *mpi)
{
    return mpi ? mpi_probe_fd(mpi->probe) : -1;
}

uint64_t watch_mpi_due(const struct watch_mpi *mpi)
{
    return mpi ? mpi_finder_due(mpi->finder) : UINT64_MAX;
}

int watch_mpi_look(struct watch_mpi *mpi, struct error *error)
{
    int rc = mpi_probe_execs(mpi->probe, mpi_finder_exec, mpi->finder, error);

    mpi_finder_clean(mpi->finder);
    while (rc == 0 && mpi_finder_look(mpi->finder))
        ;
    return rc;
}

void watch_mpi_scan(struct watch_mpi *mpi, uint32_t step)
{
    size_t n = cgroup_tasks(mpi->cgroup, mpi->pids, MAX_PROCESSES);

    mpi->overflow |= n == MAX_PROCESSES;
    mpi_finder_scan(mpi->finder, step, mpi->pids, n);
}

int watch_mpi_read(struct watch_mpi *mpi, uint32_t step, struct mpi_account **ret,
                   struct error *error)
{
    CLEANUP(mpi_account_destroyp) struct mpi_account *account = NULL;
    int rc = mpi_finder_read(mpi->finder, step, &account, error);

    if (rc < 0)
        return rc;
    if (mpi->overflow && completeness_add(&account->completeness, MPI_CAUSE_UNSEEN, 1, 0) < 0)
        return error_errno(error, -ENOMEM, "count MPI");
    *ret = TAKE_PTR(account);
    return 0;
}
