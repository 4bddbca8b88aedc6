/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* --- create and release ----------------------------------------------------------------------- */

static void mounts_free(struct top_mount *mounts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(mounts[i].mount);
        free(mounts[i].fstype);
        free(mounts[i].source);
    }
    free(mounts);
}

static void who_clear(struct top_who *who)
{
    free(who->user);
    free(who->name);
    mounts_free(who->mounts, who->n);
}

void top_reading_clear(struct top_reading *reading)
{
    for (size_t i = 0; i < reading->n; i++)
        who_clear(&reading->all[i]);
    free(reading->all);
    mounts_free(reading->totals, reading->n_totals);
    free(reading->node);
    free(reading->not_counted);
    free(reading->no_services);
    memset(reading, 0, sizeof(*reading));
}

void top_reading_destroy(struct top_reading *reading)
{
    if (!reading)
        return;
    top_reading_clear(reading);
    free(reading);
}

struct top_who *top_add(struct top_reading *reading, enum top_kind kind, uint64_t number,
                        const char *user, const char *name)
{
    struct top_who *grown = realloc(reading->all, (reading->n + 1) * sizeof(*grown));
    struct top_who *who;

    if (!grown)
        return NULL;
    reading->all = grown;
    who = &grown[reading->n];
    *who = (struct top_who){.kind = kind, .number = number};
    who->user = user ? strdup(user) : NULL;
    who->name = name ? strdup(name) : NULL;
    if ((user && !who->user) || (name && !who->name)) {
        who_clear(who);
        return NULL;
    }
    reading->n++;
    return who;
}

/* --- accounts --------------------------------------------------------------------------------- */

static struct top_mount *mount_get(struct top_mount **mounts, size_t *n, const char *mount,
                                   const char *fstype, const char *source)
{
    struct top_mount *grown, *m;

    for (size_t i = 0; i < *n; i++) {
        m = &(*mounts)[i];
        if (!strcmp(m->mount, mount) && !strcmp(m->fstype, fstype) && !strcmp(m->source, source))
            return m;
    }
    grown = realloc(*mounts, (*n + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    *mounts = grown;
    m = &grown[*n];
    *m = (struct top_mount){strdup(mount), strdup(fstype), strdup(source), true, {0}};
    if (!m->mount || !m->fstype || !m->source) {
        free(m->mount);
        free(m->fstype);
        free(m->source);
        return NULL;
    }
    (*n)++;
    return m;
}

static void add_sizes(struct top_sums *to, const struct io_account *io, enum io_op op)
{
    for (int i = 0; io->ops[op] && i < IO_BUCKETS; i++)
        to->sizes[i] += io->ops[op]->size_log2[i];
}

static void add_account(struct top_sums *to, const struct io_account *io)
{
    const struct io_sum reads = io_account_reads(io), writes = io_account_writes(io);
    const struct io_sum all = io_account_all(io);
    const struct io_counter *in = io->ops[IO_MMAP_READ], *out = io->ops[IO_MMAP_WRITE];

    to->read_bytes += reads.bytes;
    to->read_requests += reads.requests;
    to->write_bytes += writes.bytes;
    to->write_requests += writes.requests;
    to->meta_requests += io_account_meta(io).requests;
    to->errors += all.errors;
    to->wait_ns += all.time_ns;
    to->events += all.requests;
    to->mmap_read_bytes += in ? in->bytes : 0;
    to->mmap_write_bytes += out ? out->bytes : 0;
    add_sizes(to, io, IO_READ);
    add_sizes(to, io, IO_COPY_READ);
    add_sizes(to, io, IO_WRITE);
    add_sizes(to, io, IO_COPY_WRITE);
}

int top_add_mounts(struct top_who *who, const struct io_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *from = &mounts->items[i];
        struct top_mount *m =
            mount_get(&who->mounts, &who->n, from->mount, from->fstype, from->source);

        if (!m)
            return -ENOMEM;
        m->labelled = from->labelled;
        add_account(&m->sums, &from->io);
    }
    return 0;
}

int top_add_totals(struct top_reading *reading, const struct io_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *from = &mounts->items[i];
        struct top_mount *m =
            mount_get(&reading->totals, &reading->n_totals,
                      from->labelled ? from->mount : "(private)", from->fstype, "");

        if (!m)
            return -ENOMEM;
        add_account(&m->sums, &from->io);
    }
    return 0;
}
