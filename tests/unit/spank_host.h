/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host for jobio.so: the functions that slurmstepd, sbatch and slurmd give to a SPANK plugin,
 * with answers that a test sets. It is a fake, because slurmstepd cannot run in a unit test; what
 * real Slurm does with the plugin is for the cluster tests.
 */
#ifndef JOBIO_TESTS_UNIT_SPANK_HOST_H
#define JOBIO_TESTS_UNIT_SPANK_HOST_H

#include <stdint.h>
#include <sys/types.h>

#include <slurm/spank.h>

struct spank_handle {
    spank_context_t context;
    uint32_t jobid, stepid, restart, nodes;
    uint32_t array_job, array_task;
    uint32_t tasks,
        nodeid; /* of this node; tasks 0: both items are not set, nor is the task's number */
    int task_id;
    uid_t uid;
    pid_t task;             /* 0: spank_get_item(S_TASK_PID) fails, as for the extern step */
    const char *const *env; /* of the job: NAME=VALUE, NULL at the end; NULL: empty */
};

/* The log of the plugin: lines of "error: ...", "info: ..." or "verbose: ...". In shared memory, so
 * that a test can fork its slurmstepd. */
struct spank_host_log {
    char text[65536];
};
extern struct spank_host_log *spank_host_log;

/* The option that the plugin has registered under this name. Fails the test if there is none. */
const struct spank_option *spank_host_option(const char *name);

/* A loaded plugin. */
struct spank_plugin {
    void *library;
    struct spank_handle *handle;
    int ac;
    char **av; /* the arguments in plugstack.conf */
};

void spank_host_init(void);
/* The plugin; a test may set another file. */
extern const char *spank_host_path;
/* Fails the test if the plugin cannot be loaded. */
void spank_host_load(struct spank_plugin *plugin, struct spank_handle *handle, char **words);
void spank_host_unload(struct spank_plugin *plugin);
/* Run the hook "slurm_spank_<name>"; ESPANK_SUCCESS if the plugin does not have it. */
int spank_host_run(struct spank_plugin *plugin, const char *name);

#endif
