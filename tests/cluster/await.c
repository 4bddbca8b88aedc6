/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await SECONDS JOB STATE: waits until the job (the first task of an array) is in that state:
 * PENDING, RUNNING, NODE_FAIL or ENDED (in any way). Exit status 1 if it is not in time. One
 * process instead of an scontrol for each look: in an emulated guest, starting programs is what
 * costs most.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/slurm_compat.h"

#define INTERVAL_NS 100000000
/* A job with one of these flags is on its way to another state. */
#define TRANSIENT (JOB_CONFIGURING | JOB_COMPLETING | JOB_REQUEUE)

static bool has_ended(uint32_t base)
{
    return base > JOB_SUSPENDED && base < JOB_END;
}

static bool is_pending(uint32_t base)
{
    return base == JOB_PENDING;
}

static bool is_running(uint32_t base)
{
    return base == JOB_RUNNING;
}

static bool is_node_fail(uint32_t base)
{
    return base == JOB_NODE_FAIL;
}

static const struct state {
    const char *name;
    bool (*matches)(uint32_t base);
} states[] = {
    {"ENDED", has_ended},
    {"PENDING", is_pending},
    {"RUNNING", is_running},
    {"NODE_FAIL", is_node_fail},
};

static const struct state *state_find(const char *name)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        if (strcmp(states[i].name, name) == 0)
            return &states[i];
    return NULL;
}

/* JOB_END if slurmctld does not know the job, or does not answer. */
static uint32_t job_state(uint32_t job)
{
    job_info_msg_t *answer = NULL;
    uint32_t state = JOB_END;

    if (slurm_load_job(&answer, job, 0) == SLURM_SUCCESS && answer->record_count)
        state = answer->job_array[0].job_state;
    slurm_free_job_info_msg(answer);
    return state;
}

int main(int argc, char *argv[])
{
    const struct state *wanted = argc == 4 ? state_find(argv[3]) : NULL;
    time_t deadline;
    uint32_t state;

    if (!wanted) {
        fprintf(stderr, "usage: await SECONDS JOB PENDING|RUNNING|NODE_FAIL|ENDED\n");
        return 2;
    }
    slurm_init(NULL);
    deadline = time(NULL) + atoi(argv[1]);
    for (;;) {
        state = job_state((uint32_t)strtoul(argv[2], NULL, 10));
        if (!(state & TRANSIENT) && wanted->matches(state & JOB_STATE_BASE))
            return 0;
        if (time(NULL) > deadline)
            break;
        nanosleep(&(struct timespec){.tv_nsec = INTERVAL_NS}, NULL);
    }
    fprintf(stderr, "await: after %s s job %s is not %s, but in state 0x%x\n", argv[1], argv[2],
            argv[3], state);
    return 1;
}
