/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

static void add_step(struct node_sum *to, const struct step_account *step)
{
    for (size_t i = 0; i < step->mounts.n; i++) {
        const struct io_sums sums = io_account_sums(&step->mounts.items[i].io);
        const struct io_sums shown = io_account_shown(&step->mounts.items[i].io);

        io_sums_add(&to->sums, &sums);
        io_sums_add(&to->shown, &shown);
    }
    if (step->longest_wait_ns > to->longest_wait_ns)
        to->longest_wait_ns = step->longest_wait_ns;
}

struct io_sum nodes_look_ups(const struct io_account *io)
{
    static const enum io_op alike[] = {IO_OPEN, IO_STAT};
    struct io_sum sum = {0};

    for (size_t i = 0; i < ARRAY_SIZE(alike); i++)
        if (io->ops[alike[i]]) {
            add_saturating(&sum.requests, io->ops[alike[i]]->requests);
            add_saturating(&sum.time_ns, io->ops[alike[i]]->time_ns);
        }
    return sum;
}

static void add_mount(struct node_account *to, const struct job_account *job,
                      const struct io_mount *from)
{
    const struct io_mount *m =
        io_mounts_find(&job->mounts, from->mount, from->fstype, from->source, from->private);
    const struct io_sums sums = io_account_sums(&from->io), shown = io_account_shown(&from->io);

    io_sums_add(&to->sums, &sums);
    io_sums_add(&to->shown, &shown);
    if (m)
        to->look_ups[m - job->mounts.items] = nodes_look_ups(&from->io);
}

int nodes_add(struct job_account *job, const char *node, const struct io_mounts *mounts,
              uint64_t longest_wait_ns)
{
    struct node_account *grown = reallocarray(job->nodes, job->n_nodes + 1, sizeof(*grown)), *to;

    if (!grown)
        return -ENOMEM;
    job->nodes = grown;
    to = &grown[job->n_nodes++]; /* job_account_destroy() frees it even if incomplete */
    *to = (struct node_account){
        .node = strdup(node),
        .longest_wait_ns = longest_wait_ns,
        .look_ups = calloc(job->mounts.n + 1, sizeof(*to->look_ups)),
        .n_mounts = job->mounts.n,
    };
    if (!to->node || !to->look_ups) {
        to->n_mounts = 0;
        return -ENOMEM;
    }
    for (size_t i = 0; i < mounts->n; i++)
        add_mount(to, job, &mounts->items[i]);
    return 0;
}

/* One entry per node that reported, or per step; not sorted. */
static struct node_sum *list(const struct job_account *job, size_t *n)
{
    struct node_sum *sums = calloc(job->n_nodes + job->n_steps + 1, sizeof(*sums));

    *n = job->n_nodes ? job->n_nodes : job->n_steps;
    for (size_t i = 0; sums && i < job->n_nodes; i++) {
        const struct node_account *node = &job->nodes[i];

        sums[i] = (struct node_sum){node->node ? node->node : "", node->sums, node->shown,
                                    node->longest_wait_ns};
    }
    for (size_t i = 0; sums && !job->n_nodes && i < job->n_steps; i++) {
        sums[i].node = job->steps[i].node ? job->steps[i].node : "";
        add_step(&sums[i], &job->steps[i]);
    }
    return sums;
}

static int by_node(const void *a, const void *b)
{
    return strcmp(((const struct node_sum *)a)->node, ((const struct node_sum *)b)->node);
}

int nodes_sum(const struct job_account *job, struct node_sum **ret, size_t *n)
{
    size_t all, used = 0;
    struct node_sum *sums = list(job, &all);

    if (!sums)
        return -ENOMEM;
    qsort(sums, all, sizeof(*sums), by_node);
    for (size_t i = 0; i < all; i++) {
        if (!used || strcmp(sums[used - 1].node, sums[i].node) != 0) {
            sums[used++] = sums[i];
            continue;
        }
        io_sums_add(&sums[used - 1].sums, &sums[i].sums);
        io_sums_add(&sums[used - 1].shown, &sums[i].shown);
        if (sums[i].longest_wait_ns > sums[used - 1].longest_wait_ns)
            sums[used - 1].longest_wait_ns = sums[i].longest_wait_ns;
    }
    *ret = sums;
    *n = used;
    return 0;
}

const char *node_measure_name(enum node_measure measure)
{
    static const char *const names[] = {
        [NODE_READ_BYTES] = "read_bytes",
        [NODE_WRITE_BYTES] = "write_bytes",
        [NODE_META_REQUESTS] = "meta_requests",
        [NODE_WAIT_NS] = "wait_ns",
    };

    return names[measure];
}

static double value_of(const struct node_sum *node, enum node_measure measure)
{
    const uint64_t values[] = {
        [NODE_READ_BYTES] = node->sums.reads.bytes,
        [NODE_WRITE_BYTES] = node->sums.writes.bytes,
        [NODE_META_REQUESTS] = node->sums.meta.requests,
        [NODE_WAIT_NS] = node->sums.all.time_ns,
    };

    return (double)values[measure];
}

double nodes_imbalance(const struct node_sum *nodes, size_t n, size_t total,
                       enum node_measure measure)
{
    double sum = 0, largest = 0;

    for (size_t i = 0; i < n; i++) {
        double value = value_of(&nodes[i], measure);

        sum += value;
        largest = value > largest ? value : largest;
    }
    return total < 2 || sum <= 0 ? 0 : largest * (double)total / sum;
}
