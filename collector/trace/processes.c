/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

/* More processes are in the trace without name and rank. */
#define MAX_PROCESSES 65536
/* A process has its own environment only when it has executed its program; it may keep its name. */
#define ATTEMPTS 8

struct known {
    struct trace_process process;
    unsigned attempts; /* that are left to find its rank */
};

struct trace_processes {
    const char *proc;
    struct known *items; /* owned; ascending pid */
    size_t n, room;
};

struct trace_processes *trace_processes_create(const char *proc)
{
    struct trace_processes *processes = calloc(1, sizeof(*processes));

    if (processes)
        processes->proc = proc;
    return processes;
}

void trace_processes_destroy(struct trace_processes *processes)
{
    if (!processes)
        return;
    free(processes->items);
    free(processes);
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* Slurm's number is that of the launched process: a launcher of MPI that it started has ranks of
 * its own. */
static const char *const rank_names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                         "SLURM_PROCID"};

/* Returns the index of the name in rank_names, with its value in *ret; -1: it is another one. */
static int parse_rank(const char *variable, uint32_t *ret)
{
    uint64_t rank;

    for (size_t i = 0; i < ARRAY_SIZE(rank_names); i++) {
        size_t n = strlen(rank_names[i]);

        if (strncmp(variable, rank_names[i], n) != 0 || variable[n] != '=')
            continue;
        if (number_parse(variable + n + 1, 0, UINT32_MAX, &rank) < 0)
            return -1;
        *ret = (uint32_t)rank;
        return (int)i;
    }
    return -1;
}

/* A process can say that its environment is anywhere, and as large as it likes. */
#define MAX_ENVIRON (1 << 20)

static void read_rank(const char *proc, struct trace_process *process)
{
    size_t best = ARRAY_SIZE(rank_names), size;
    _free_ char *text = malloc(MAX_ENVIRON + 1);
    _fclose_ FILE *file = NULL;
    char path[256];
    uint32_t rank;

    (void)snprintf(path, sizeof(path), "%.200s/%u/environ", proc, process->pid);
    file = text ? fopen(path, "re") : NULL;
    size = file ? fread(text, 1, MAX_ENVIRON, file) : 0;
    if (text)
        text[size] = '\0';
    for (const char *variable = text; size && variable < text + size;
         variable += strlen(variable) + 1) {
        int at = parse_rank(variable, &rank);

        if (at < 0 || (size_t)at >= best)
            continue;
        best = (size_t)at;
        process->rank = rank;
        process->has_rank = true;
    }
}

/* --- the table -------------------------------------------------------------------------------- */

/* Returns the index of the process, or where to insert it. */
static size_t find(const struct trace_processes *processes, uint32_t pid)
{
    size_t low = 0, high = processes->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (processes->items[middle].process.pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct known *insert(struct trace_processes *processes, size_t at, uint32_t pid)
{
    if (processes->n == processes->room) {
        size_t room = processes->room ? processes->room * 2 : 64;
        struct known *grown =
            room <= MAX_PROCESSES ? reallocarray(processes->items, room, sizeof(*grown)) : NULL;

        if (!grown)
            return NULL;
        processes->items = grown;
        processes->room = room;
    }
    memmove(&processes->items[at + 1], &processes->items[at],
            (processes->n++ - at) * sizeof(*processes->items));
    processes->items[at] = (struct known){.process.pid = pid};
    return &processes->items[at];
}

/* The name of a process is that of its first thread. */
static void set_comm(struct known *known, const char *comm)
{
    if (!memcmp(known->process.comm, comm, TRACE_COMM))
        return;
    memcpy(known->process.comm, comm, TRACE_COMM);
    known->process.comm[TRACE_COMM - 1] = '\0';
    known->attempts = ATTEMPTS;
    known->process.has_rank = false; /* of the program before */
}

void trace_processes_see(struct trace_processes *processes, uint32_t pid, uint32_t tid,
                         const char *comm)
{
    size_t at = find(processes, pid);
    bool is_known = at < processes->n && processes->items[at].process.pid == pid;
    struct known *known = is_known ? &processes->items[at] : insert(processes, at, pid);

    if (!known)
        return;
    if (!is_known)
        known->attempts = ATTEMPTS;
    if (pid == tid || !*known->process.comm)
        set_comm(known, comm);
    if (!processes->proc || !known->attempts || known->process.has_rank)
        return;
    known->attempts--;
    read_rank(processes->proc, &known->process);
}

/* --- the processes of a trace ----------------------------------------------------------------- */

int trace_processes_finish(const struct trace_processes *processes, struct trace *trace)
{
    _free_ uint32_t *pids = malloc((trace->n_spans + 1) * sizeof(*pids));
    size_t n = 0;

    if (!pids)
        return -ENOMEM;
    for (size_t i = 0; i < trace->n_spans; i++)
        pids[i] = trace->spans[i].pid;
    qsort(pids, trace->n_spans, sizeof(*pids), number_compare);
    for (size_t i = 0; i < trace->n_spans; i++)
        if (!i || pids[i] != pids[n - 1])
            pids[n++] = pids[i];
    trace->processes = calloc(n + 1, sizeof(*trace->processes));
    if (!trace->processes)
        return -ENOMEM;
    trace->n_processes = n;
    for (size_t i = 0; i < n; i++) {
        size_t at = find(processes, pids[i]);

        trace->processes[i].pid = pids[i];
        if (at < processes->n && processes->items[at].process.pid == pids[i])
            trace->processes[i] = processes->items[at].process;
    }
    return 0;
}
