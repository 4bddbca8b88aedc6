/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the nodes of a job. */
#include "report/advice/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "report/nodes.h"

/* A mean of fewer calls or a median of fewer nodes is not reliable. */
#define LEAST_CALLS 100
#define LEAST_NODES 3

/* The calls of a node on a mount. */
struct calls {
    const char *node;
    uint64_t requests, time_ns;
};

static int by_node(const void *a, const void *b)
{
    return strcmp(((const struct calls *)a)->node, ((const struct calls *)b)->node);
}

static double mean_ns(const struct calls *c)
{
    return (double)c->time_ns / (double)c->requests;
}

static int by_mean(const void *a, const void *b)
{
    double x = mean_ns(a), y = mean_ns(b);

    return (x > y) - (x < y);
}

/* Fills in the calls of each step on the mount; returns how many. */
static size_t calls_of_steps(const struct job_account *job, const struct io_mount *mount,
                             struct calls *calls)
{
    size_t n = 0;

    for (size_t i = 0; i < job->n_steps; i++) {
        const struct io_mount *own = io_mounts_find(&job->steps[i].mounts, mount->mount,
                                                    mount->fstype, mount->source, mount->private);
        struct io_sum sum = own ? nodes_look_ups(&own->io) : (struct io_sum){0};

        if (own && job->steps[i].node)
            calls[n++] = (struct calls){job->steps[i].node, sum.requests, sum.time_ns};
    }
    return n;
}

/* The same for each node that has reported. */
static size_t calls_of_nodes(const struct job_account *job, const struct io_mount *mount,
                             struct calls *calls)
{
    const struct io_mount *own =
        io_mounts_find(&job->mounts, mount->mount, mount->fstype, mount->source, mount->private);
    size_t n = 0, at = own ? (size_t)(own - job->mounts.items) : SIZE_MAX;

    for (size_t i = 0; i < job->n_nodes; i++) {
        const struct node_account *node = &job->nodes[i];

        if (at < node->n_mounts && node->node)
            calls[n++] =
                (struct calls){node->node, node->look_ups[at].requests, node->look_ups[at].time_ns};
    }
    return n;
}

/* Sums steps up by node and keeps nodes with enough calls; returns how many. */
static size_t join_nodes(struct calls *calls, size_t n)
{
    size_t nodes = 0, kept = 0;

    qsort(calls, n, sizeof(*calls), by_node);
    for (size_t i = 0; i < n; i++) {
        if (!nodes || strcmp(calls[nodes - 1].node, calls[i].node) != 0) {
            calls[nodes++] = calls[i];
            continue;
        }
        calls[nodes - 1].requests += calls[i].requests;
        calls[nodes - 1].time_ns += calls[i].time_ns;
    }
    for (size_t i = 0; i < nodes; i++)
        if (calls[i].requests >= LEAST_CALLS)
            calls[kept++] = calls[i];
    return kept;
}

int advice_slowest_node(const struct job_account *job, const struct io_mount *mount,
                        struct advice_slowest *ret)
{
    _free_ struct calls *calls = calloc(job->n_nodes + job->n_steps + 1, sizeof(*calls));
    size_t n;

    if (!calls)
        return -ENOMEM;
    n = job->n_nodes ? calls_of_nodes(job, mount, calls) : calls_of_steps(job, mount, calls);
    n = join_nodes(calls, n);
    *ret = (struct advice_slowest){"", 0};
    if (n < LEAST_NODES)
        return 0;
    qsort(calls, n, sizeof(*calls), by_mean);
    if (calls[n / 2].time_ns)
        *ret = (struct advice_slowest){calls[n - 1].node,
                                       mean_ns(&calls[n - 1]) / mean_ns(&calls[n / 2])};
    return 0;
}

/* The largest node over the mean of all. */
static int imbalance(const struct job_account *job, enum node_measure measure, double *ret)
{
    _free_ struct node_sum *nodes = NULL;
    size_t n;

    if (nodes_sum(job, &nodes, &n) < 0)
        return -ENOMEM;
    *ret = nodes_imbalance(nodes, n, job->nodes_reported, measure);
    return 0;
}

int advice_evenness(const struct job_account *job, double *ret)
{
    return imbalance(job, NODE_WAIT_NS, ret);
}

int advice_writer(const struct job_account *job, double *ret)
{
    int r = imbalance(job, NODE_WRITE_BYTES, ret);

    if (r == 0 && job->nodes_reported)
        *ret /= job->nodes_reported;
    return r;
}
