/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/job_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "collector/daemon/limited_log.h"
#include "collector/daemon/recorder.h"
#include "common/clock.h"

/* Other nodes choose the jobs that are queried: remember few, and do not load slurmctld. */
#define ENTRIES 64
#define FRESH NS_PER_MINUTE
#define GAP NS_PER_S

struct entry {
    uint32_t jobid, restart; /* 0: unused */
    uint64_t answered_ns;    /* CLOCK_MONOTONIC */
    bool failed;             /* Slurm was not reached */
    char *list;              /* NULL: Slurm has not given one */
};

struct job_nodes {
    struct recorder *recorder;
    job_nodes_learned_f learned;
    void *arg;
    struct entry entries[ENTRIES];
    bool asking;
    struct job_key asked; /* without the cluster */
    uint64_t asked_ns;    /* CLOCK_MONOTONIC */
};

struct job_nodes *job_nodes_create(struct recorder *recorder, job_nodes_learned_f learned,
                                   void *arg)
{
    struct job_nodes *nodes = calloc(1, sizeof(*nodes));

    if (nodes)
        *nodes = (struct job_nodes){.recorder = recorder, .learned = learned, .arg = arg};
    return nodes;
}

void job_nodes_destroy(struct job_nodes *nodes)
{
    if (!nodes)
        return;
    for (size_t i = 0; i < ENTRIES; i++)
        free(nodes->entries[i].list);
    free(nodes);
}

static const struct entry *find(const struct job_nodes *nodes, const struct job_key *key)
{
    for (size_t i = 0; i < ENTRIES; i++)
        if (nodes->entries[i].jobid == key->jobid && nodes->entries[i].restart == key->restart)
            return &nodes->entries[i];
    return NULL;
}

/* That of the job, or the oldest. */
static struct entry *get(struct job_nodes *nodes, const struct job_key *key)
{
    struct entry *oldest = &nodes->entries[0];

    for (size_t i = 0; i < ENTRIES; i++) {
        struct entry *e = &nodes->entries[i];

        if (e->jobid == key->jobid && e->restart == key->restart)
            return e;
        if (e->answered_ns < oldest->answered_ns)
            oldest = e;
    }
    free(oldest->list);
    *oldest = (struct entry){.jobid = key->jobid, .restart = key->restart};
    return oldest;
}

static void on_nodes(int result, const char *list, const struct error *error, void *arg)
{
    struct job_nodes *nodes = arg;
    struct entry *e = get(nodes, &nodes->asked);
    char *copy = result == 0 ? strdup(list) : NULL;

    nodes->asking = false;
    e->answered_ns = clock_ns(CLOCK_MONOTONIC);
    e->failed = !copy && result != -ESRCH;
    if (e->failed)
        log_limited("peers-slurm", 60,
                    "peers: job %u: Slurm cannot be queried for its nodes, accounts of other nodes "
                    "wait: %s",
                    nodes->asked.jobid, error->text);
    if (!copy)
        return;
    free(e->list);
    e->list = copy;
    nodes->learned(&nodes->asked, copy, nodes->arg);
}

const char *job_nodes_get(const struct job_nodes *nodes, const struct job_key *key)
{
    const struct entry *e = find(nodes, key);

    return e ? e->list : NULL;
}

bool job_nodes_learn(struct job_nodes *nodes, const struct job_key *key)
{
    const struct entry *e = find(nodes, key);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (e && now - e->answered_ns < FRESH)
        return e->failed;
    if (nodes->asking || (nodes->asked_ns && now - nodes->asked_ns < GAP))
        return true;
    if (recorder_list_nodes(nodes->recorder, key->jobid, key->restart, on_nodes, nodes, NULL) < 0)
        return true;
    nodes->asking = true;
    nodes->asked_ns = now;
    nodes->asked = (struct job_key){.jobid = key->jobid, .restart = key->restart};
    return true;
}
