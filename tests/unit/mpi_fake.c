/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "tests/unit/test.h"

#include "tests/unit/mpi_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/cleanup.h"

struct mpi_links {
    int unused;
};

struct fake_mpi fake_mpi = {.gate = PTHREAD_MUTEX_INITIALIZER};

int mpi_probe_create(struct mpi_probe **ret, const struct probe *probe, struct error *error)
{
    bool fails;

    (void)probe;
    (void)pthread_mutex_lock(&fake_mpi.gate);
    (void)pthread_mutex_unlock(&fake_mpi.gate);
    fails = fake_mpi.fails; /* before a test sees the attempt */
    fake_mpi.attempts++;
    if (fails)
        return error_set(error, -ENOTSUP, "this kernel is too old");
    *ret = calloc(1, sizeof(**ret));
    (*ret)->fd = eventfd(0, EFD_CLOEXEC);
    fake_mpi.loaded++;
    return 0;
}

void mpi_probe_destroy(struct mpi_probe *mpi)
{
    if (!mpi)
        return;
    close(mpi->fd);
    free(mpi);
    fake_mpi.loaded--;
}

int mpi_probe_add(struct mpi_probe *mpi, uint32_t step, struct error *error)
{
    (void)mpi;
    (void)step;
    if (fake_mpi.full)
        return error_set(error, -E2BIG, "too many steps");
    fake_mpi.added++;
    return 0;
}

void mpi_probe_remove(struct mpi_probe *mpi, uint32_t step)
{
    (void)mpi;
    (void)step;
    fake_mpi.removed++;
}

int mpi_probe_attach(struct mpi_probe *mpi, int fd, const struct mpi_file *file,
                     struct mpi_links **ret, struct error *error)
{
    (void)mpi;
    (void)fd;
    (void)file;
    (void)error;
    *ret = calloc(1, sizeof(**ret));
    fake_mpi.links++;
    return 0;
}

void mpi_links_destroy(struct mpi_links *links)
{
    fake_mpi.links -= links != NULL;
    free(links);
}

int mpi_probe_fd(const struct mpi_probe *mpi)
{
    return mpi->fd;
}

int mpi_probe_execs(struct mpi_probe *mpi, mpi_exec_f each, void *arg, struct error *error)
{
    (void)mpi;
    (void)each;
    (void)arg;
    (void)error;
    (void)pthread_mutex_lock(&fake_mpi.gate);
    (void)pthread_mutex_unlock(&fake_mpi.gate);
    return 0;
}

bool mpi_probe_knows(const struct mpi_probe *mpi, uint32_t step, uint32_t pid)
{
    (void)mpi;
    for (size_t i = 0; i < fake_mpi.n_seen; i++)
        if (fake_mpi.seen[i].step == step && fake_mpi.seen[i].pid == pid)
            return true;
    return fake_mpi.knows;
}

int mpi_probe_processes(const struct mpi_probe *mpi, struct mpi_process **ret, size_t *n,
                        size_t *max, struct error *error)
{
    (void)mpi;
    (void)error;
    *ret = calloc(fake_mpi.n_seen + 1, sizeof(**ret));
    memcpy(*ret, fake_mpi.seen, fake_mpi.n_seen * sizeof(**ret));
    *n = fake_mpi.n_seen;
    *max = fake_mpi.room;
    return 0;
}

void mpi_probe_forget(struct mpi_probe *mpi, const struct mpi_process *process)
{
    (void)mpi;
    (void)pthread_mutex_lock(&fake_mpi.gate);
    for (size_t i = 0; i < fake_mpi.n_seen; i++)
        if (!memcmp(&fake_mpi.seen[i], process, sizeof(*process)))
            fake_mpi.seen[i--] = fake_mpi.seen[--fake_mpi.n_seen];
    (void)pthread_mutex_unlock(&fake_mpi.gate);
}

/* A step has as many calls as its number says. */
int mpi_probe_read(const struct mpi_probe *mpi, uint32_t step, struct mpi_account *ret,
                   struct error *error)
{
    (void)mpi;
    (void)error;
    ret->classes[MPI_OPEN].calls = step;
    return 0;
}

int fake_mpi_reset(void **state)
{
    (void)state;
    fake_mpi.added = fake_mpi.removed = fake_mpi.attempts = 0;
    fake_mpi.fails = fake_mpi.full = fake_mpi.knows = false;
    fake_mpi.n_seen = 0;
    fake_mpi.room = ARRAY_SIZE(fake_mpi.seen);
    return 0;
}
