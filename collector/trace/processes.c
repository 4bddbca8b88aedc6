/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/processes.h"

#include <errno.h>
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
    uint32_t program;  /* number of the one that it executes */
    bool asked;        /* the reader has not answered for it */
};

struct trace_processes {
    const char *proc;           /* NULL: do not read here */
    struct rank_reader *reader; /* NULL: there is none */
    struct known *items;        /* owned; ascending pid */
    size_t n, room;
};

struct trace_processes *trace_processes_create(const char *proc, struct rank_reader *reader)
{
    struct trace_processes *processes = calloc(1, sizeof(*processes));

    if (!processes)
        return NULL;
    processes->proc = proc;
    processes->reader = reader;
    return processes;
}

void trace_processes_destroy(struct trace_processes *processes)
{
    if (!processes)
        return;
    free(processes->items);
    free(processes);
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
    processes->items[at] = (struct known){.process = {.pid = pid, .unread = true}};
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
    known->process.unread = true;
    known->program++;
    known->asked = false;
}

/* If the process has ended meanwhile, the last answer stays. */
static void set_rank(struct known *known, enum rank_state state, uint32_t rank)
{
    if (state == RANK_UNREAD)
        return;
    known->process.unread = false;
    known->process.has_rank = state == RANK_FOUND;
    known->process.rank = rank;
}

static void look_for_rank(const struct trace_processes *processes, struct known *known,
                          uint64_t seen_ns)
{
    const struct rank_question question = {known->process.pid, known->program, seen_ns};
    enum rank_state state;
    uint32_t rank = 0;

    if (!known->attempts || known->asked || known->process.has_rank)
        return;
    if (processes->reader)
        known->asked = rank_reader_ask(processes->reader, &question);
    if (known->asked || processes->proc)
        known->attempts--;
    if (!processes->proc)
        return;
    state = rank_read(processes->proc, question.pid, seen_ns, &rank);
    set_rank(known, state, rank);
}

void trace_processes_see(struct trace_processes *processes, const struct span *span,
                         const char *comm)
{
    size_t at = find(processes, span->pid);
    bool is_known = at < processes->n && processes->items[at].process.pid == span->pid;
    struct known *known = is_known ? &processes->items[at] : insert(processes, at, span->pid);

    if (!known)
        return;
    if (!is_known)
        known->attempts = ATTEMPTS;
    if (span->pid == span->tid || !*known->process.comm)
        set_comm(known, comm);
    look_for_rank(processes, known, span->start_ns + span->time_ns);
}

void trace_processes_update(struct trace_processes *processes)
{
    struct rank_answer answer;

    while (processes->reader && rank_reader_take(processes->reader, &answer)) {
        size_t at = find(processes, answer.pid);
        struct known *known = &processes->items[at];

        if (!known->asked || known->program != answer.program)
            continue;
        known->asked = false;
        set_rank(known, answer.state, answer.rank);
    }
}

/* --- the processes of a trace ----------------------------------------------------------------- */

int trace_processes_finish(struct trace_processes *processes, struct trace *trace)
{
    _free_ uint32_t *pids = malloc((trace->n_spans + 1) * sizeof(*pids));
    size_t n = 0;

    trace_processes_update(processes);
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

        trace->processes[i] = (struct trace_process){.pid = pids[i], .unread = true};
        if (at < processes->n && processes->items[at].process.pid == pids[i])
            trace->processes[i] = processes->items[at].process;
    }
    return 0;
}
