/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/mpi_writes.h"

#include "common/numbers.h"

static const struct {
    enum mpi_class classes[3];
    size_t n;
} kinds[] = {
    [MPI_WRITES_COLLECTIVE] = {{MPI_WRITE_ALL, MPI_WRITE_ALL_SPLIT, MPI_WRITE_ALL_NONBLOCKING}, 3},
    [MPI_WRITES_INDEPENDENT] = {{MPI_WRITE, MPI_WRITE_NONBLOCKING}, 2},
};

/* Returns false if the bytes of a call are not known. */
static bool add_class(const struct mpi_counter *c, struct mpi_writes *to, uint64_t *time_ns)
{
    for (int i = 1; i < IO_BUCKETS; i++)
        add_saturating(&to->calls, c->size_log2[i]);
    add_saturating(&to->bytes, c->bytes);
    add_saturating(&to->bytes, c->requested_bytes);
    add_saturating(time_ns, c->time_ns);
    return !c->unknown_calls;
}

bool mpi_writes_of(const struct job_account *job, enum mpi_writes_kind kind, struct mpi_writes *ret)
{
    struct mpi_writes writes = {0};
    uint64_t time_ns = 0, written = 0;

    if (!job_is_complete(job) || !job_mpi_is_complete(job))
        return false;
    for (size_t i = 0; i < kinds[kind].n; i++)
        if (!add_class(&job->mpi->classes[kinds[kind].classes[i]], &writes, &time_ns))
            return false;
    for (size_t i = 0; i < job->mounts.n; i++)
        add_saturating(&written, io_account_writes(&job->mounts.items[i].io).bytes);
    if (!writes.calls || written < writes.bytes)
        return false;
    writes.other = written - writes.bytes;
    writes.threads = job->elapsed_ns ? (double)time_ns / (double)job->elapsed_ns : 0;
    *ret = writes;
    return true;
}

double mpi_writes_share(const struct mpi_writes *writes, const struct io_mount *mount)
{
    uint64_t written = io_account_writes(&mount->io).bytes;

    /* The calls are those of the job: most of what they wrote must be here. */
    if ((double)written < MPI_WRITES_SHARE * (double)writes->bytes)
        return 0;
    return written > writes->other ? (double)(written - writes->other) / (double)written : 0;
}
