/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/fake_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/records.h"
#include "common/numbers.h"

#define MAX 1024

struct row {
    uint32_t step;
    uint64_t dev;
    struct io_account io;
    struct probe_slice slices[PROBE_SLICES];
    struct io_users users[IO_USER_KINDS];
    struct rpc_account rpc;
};

struct probe {
    struct probe_step steps[MAX];
    size_t n_steps;
    struct row rows[MAX];
    size_t n_rows;
    struct probe_mount sights[MAX];
    size_t n_sights, n_known;
    struct probe_hook hooks[2];
    uint64_t gone, gone_ns;
    unsigned passes, sweeps, reads_of_all, read_ms;
    int fail;
    bool adopted;
    const char *blind;
    void (*wait)(void *arg);
    void *wait_arg;
};

struct probe *fake_probe_create(void)
{
    struct probe *probe = calloc(1, sizeof(*probe));

    probe->hooks[0] = (struct probe_hook){
        .function = "vfs_read", .feature = "", .ops = 1 << IO_READ, .backend = PROBE_FENTRY};
    probe->hooks[1] = (struct probe_hook){
        .function = "vfs_write", .feature = "", .ops = 1 << IO_WRITE, .backend = PROBE_FENTRY};
    return probe;
}

void fake_probe_reset(struct probe *probe)
{
    for (size_t i = 0; i < probe->n_rows; i++)
        io_account_clear(&probe->rows[i].io);
    probe->n_steps = probe->n_rows = probe->n_sights = probe->n_known = 0;
}

void fake_probe_adopt(struct probe *probe)
{
    probe->adopted = true;
}

int fake_probe_growth;

int probe_growth(const struct probe *probe)
{
    (void)probe;
    return fake_probe_growth;
}

void fake_probe_go_blind(struct probe *probe, const char *why)
{
    probe->blind = why;
}

static struct row *row_get(struct probe *probe, uint32_t step, uint64_t dev)
{
    for (size_t i = 0; i < probe->n_rows; i++)
        if (probe->rows[i].step == step && probe->rows[i].dev == dev)
            return &probe->rows[i];
    if (probe->n_rows == MAX)
        abort();
    probe->rows[probe->n_rows] = (struct row){.step = step, .dev = dev};
    return &probe->rows[probe->n_rows++];
}

void fake_probe_count(struct probe *probe, uint32_t step, uint64_t dev, enum io_op op,
                      uint64_t requests, uint64_t bytes)
{
    struct io_counter *c = io_account_op(&row_get(probe, step, dev)->io, op);

    c->requests += requests;
    c->bytes += requests * bytes;
    c->time_ns += requests * 1000;
}

struct io_counter *fake_probe_counter(struct probe *probe, uint32_t step, uint64_t dev,
                                      enum io_op op)
{
    return io_account_op(&row_get(probe, step, dev)->io, op);
}

struct io_users *fake_probe_users(struct probe *probe, uint32_t step, uint64_t dev)
{
    return row_get(probe, step, dev)->users;
}

struct rpc_account *fake_probe_rpc(struct probe *probe, uint32_t step, uint64_t dev)
{
    struct row *row = row_get(probe, step, dev);

    row->rpc.known = true;
    return &row->rpc;
}

void fake_probe_wait(struct probe *probe, uint32_t step, uint64_t dev, uint64_t slice,
                     uint64_t wait_ns)
{
    struct probe_slice *s = &row_get(probe, step, dev)->slices[slice % PROBE_SLICES];

    if (slice > s->slice || (slice == s->slice && wait_ns > s->wait_ns))
        *s = (struct probe_slice){slice, wait_ns};
}

uint64_t probe_slice_start_ns(uint64_t slice)
{
    return slice * PROBE_SLICE_NS;
}

struct probe_mount *fake_probe_sight(struct probe *probe, uint32_t step, uint64_t dev,
                                     const char *fstype)
{
    struct probe_mount *m;

    if (probe->n_sights == MAX) {
        memmove(probe->sights, probe->sights + 1, (MAX - 1) * sizeof(*m));
        probe->n_sights--;
        probe->n_known -= probe->n_known > 0;
    }
    m = &probe->sights[probe->n_sights++];
    *m = (struct probe_mount){.step = step, .dev = dev};
    snprintf(m->fstype, sizeof(m->fstype), "%s", fstype);
    return m;
}

void fake_probe_lose_reports(struct probe *probe)
{
    probe->n_known = probe->n_sights;
}

void fake_probe_unmount(struct probe *probe, uint64_t dev, uint64_t at_ns)
{
    probe->gone = dev;
    probe->gone_ns = at_ns;
}

bool probe_is_mounted(struct probe *probe, uint32_t step, uint64_t dev, uint64_t *since_ns)
{
    (void)step;
    *since_ns = (uint32_t)dev == (uint32_t)probe->gone ? probe->gone_ns : 0;
    return (uint32_t)dev != (uint32_t)probe->gone || dev > probe->gone;
}

struct probe_step *fake_probe_step(struct probe *probe, uint32_t step)
{
    for (size_t i = 0; i < probe->n_steps; i++)
        if (probe->steps[i].step == step)
            return &probe->steps[i];
    return NULL;
}

struct probe_hook *fake_probe_hook(struct probe *probe, size_t i)
{
    return &probe->hooks[i];
}

void fake_probe_fail(struct probe *probe, int code)
{
    probe->fail = code;
}

unsigned fake_probe_reads_of_all(const struct probe *probe)
{
    return probe->reads_of_all;
}

void fake_probe_slow_down(struct probe *probe, unsigned ms)
{
    probe->read_ms = ms;
}

void fake_probe_set_wait(struct probe *probe, void (*wait)(void *arg), void *arg)
{
    probe->wait = wait;
    probe->wait_arg = arg;
}

unsigned fake_probe_passes(const struct probe *probe)
{
    return probe->passes;
}

unsigned fake_probe_sweeps(const struct probe *probe)
{
    return probe->sweeps;
}

/* --- the contract ----------------------------------------------------------------------------- */

int probe_create(struct probe **ret, const struct probe_options *options, struct error *error)
{
    (void)options, (void)error;
    *ret = fake_probe_create();
    return 0;
}

int probe_create_blind(struct probe **ret, const char *why, struct error *error)
{
    (void)error;
    *ret = fake_probe_create();
    (*ret)->blind = why;
    return 0;
}

const char *probe_blind(const struct probe *probe)
{
    return probe->blind;
}

void probe_destroy(struct probe *probe)
{
    if (!probe)
        return;
    fake_probe_reset(probe);
    free(probe);
}

int probe_unpin(const char *pin_dir, struct error *error)
{
    (void)pin_dir, (void)error;
    return 0;
}

int probe_detach(const char *pin_dir, struct probe_removed *ret, struct error *error)
{
    (void)pin_dir, (void)error;
    *ret = (struct probe_removed){0};
    return 0;
}

int probe_unpin_others(const struct probe *probe, const char *pin_dir, struct error *error)
{
    (void)probe, (void)pin_dir, (void)error;
    return 0;
}

bool probe_is_adopted(const struct probe *probe)
{
    return probe->adopted;
}

int probe_add(struct probe *probe, uint64_t cgroup_id, unsigned level, int cgroup_version,
              uint32_t *ret, struct error *error)
{
    uint32_t step = step_number(cgroup_id, cgroup_version);

    (void)level;
    if (!fake_probe_step(probe, step)) {
        if (probe->n_steps == MAX)
            return error_set(error, -ENOSPC, "too many steps");
        probe->steps[probe->n_steps++] = (struct probe_step){
            .step = step, .cgroup_id = cgroup_id, .cgroup_version = cgroup_version};
    }
    if (ret)
        *ret = step;
    return 0;
}

void probe_began_late(struct probe *probe, uint32_t step)
{
    (void)probe;
    (void)step;
}

bool probe_has(struct probe *probe, uint64_t cgroup_id, int cgroup_version)
{
    return fake_probe_step(probe, step_number(cgroup_id, cgroup_version));
}

static void drop_step(struct probe *probe, uint32_t step)
{
    struct probe_step *s = fake_probe_step(probe, step);

    if (!s)
        return;
    *s = probe->steps[--probe->n_steps];
    for (size_t i = 0; i < probe->n_rows;)
        if (probe->rows[i].step == step) {
            io_account_clear(&probe->rows[i].io);
            probe->rows[i] = probe->rows[--probe->n_rows];
        } else {
            i++;
        }
}

int probe_drop_many(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                    struct error *error)
{
    (void)error;
    probe->passes++;
    for (size_t i = 0; i < n; i++)
        drop_step(probe, step_number(cgroups[i].id, cgroups[i].version));
    return 0;
}

int probe_drop_start(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                     struct error *error)
{
    (void)probe, (void)cgroups, (void)n, (void)error;
    return 0;
}

int probe_drop_wait(const struct probe *probe, struct error *error)
{
    (void)error;
    if (probe->wait)
        probe->wait(probe->wait_arg);
    return 0;
}

int probe_drop_finish(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                      struct error *error)
{
    return probe_drop_many(probe, cgroups, n, error);
}

int probe_drop(struct probe *probe, uint64_t cgroup_id, int cgroup_version, struct error *error)
{
    return probe_drop_many(probe, &(struct probe_cgroup){cgroup_id, cgroup_version}, 1, error);
}

int probe_sweep(struct probe *probe, struct error *error)
{
    (void)error;
    probe->sweeps++;
    return 0;
}

int probe_shards(struct probe *probe, uint64_t cgroup_id, int cgroup_version, unsigned shards)
{
    (void)probe, (void)cgroup_id, (void)cgroup_version, (void)shards;
    return 0;
}

int probe_steps(struct probe *probe, struct probe_step **ret, size_t *n, struct error *error)
{
    *ret = malloc(sizeof(probe->steps));
    if (!*ret)
        return error_set(error, -ENOMEM, "no memory for the steps");
    memcpy(*ret, probe->steps, sizeof(probe->steps));
    *n = probe->n_steps;
    return 0;
}

int probe_read(struct probe *probe, const uint32_t *steps, size_t n, probe_account_f each,
               void *arg, struct error *error)
{
    static const struct io_cache cache;
    int r = 0;

    if (probe->fail)
        return error_set(error, probe->fail, "the fake probe was told to fail");
    probe->passes++;
    probe->reads_of_all += !steps;
    (void)usleep(probe->read_ms * 1000);
    for (size_t i = 0; i < probe->n_rows && !r && !probe->blind; i++)
        if (!steps || number_is_in(steps, n, probe->rows[i].step))
            r = each(&(struct probe_account){probe->rows[i].step, probe->rows[i].dev,
                                             &probe->rows[i].io, &cache, probe->rows[i].users,
                                             probe->rows[i].rpc.known ? &probe->rows[i].rpc : NULL,
                                             probe->rows[i].slices},
                     arg);
    return r;
}

int probe_fd(const struct probe *probe)
{
    (void)probe;
    return -1;
}

int probe_new_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error)
{
    int r = 0;

    (void)error;
    while (probe->n_known < probe->n_sights && !r)
        r = each(&probe->sights[probe->n_known++], arg);
    return r;
}

int probe_mounts(struct probe *probe, probe_mount_f each, void *arg, struct error *error)
{
    int r = 0;

    (void)error;
    for (size_t i = 0; i < probe->n_known && !r; i++)
        r = each(&probe->sights[i], arg);
    return r;
}

int probe_hooks(struct probe *probe, const struct probe_hook **ret, size_t *n)
{
    *ret = probe->hooks;
    *n = 2;
    return 0;
}

uint64_t probe_unsupported(const struct probe *probe)
{
    uint64_t have = 0;

    for (size_t i = 0; i < 2; i++)
        if (probe->hooks[i].backend != PROBE_NONE)
            have |= probe->hooks[i].ops;
    return ((1ull << IO_OP_COUNT) - 1) & ~have;
}

void probe_tested(struct probe *probe, uint64_t failed, uint64_t ns_per_event)
{
    (void)probe;
    (void)failed;
    (void)ns_per_event;
}

uint64_t probe_distrusted(const struct probe *probe)
{
    (void)probe;
    return 0;
}

uint64_t probe_ns_per_event(const struct probe *probe)
{
    (void)probe;
    return 0;
}

const char *fake_probe_rpc_missing;

const char *probe_rpc_missing(const struct probe *probe)
{
    (void)probe;
    return fake_probe_rpc_missing;
}
