/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/numbers.h"

static const char *const of_names[TRACE_OFS] = {[TRACE_OF_OPS] = "ops", [TRACE_OF_MPI] = "mpi"};

const char *trace_of_name(enum trace_of of)
{
    return of_names[of];
}

int trace_of_parse(const char *text, enum trace_of *ret)
{
    for (int of = 0; text && of < TRACE_OFS; of++) {
        if (!strcmp(text, of_names[of])) {
            *ret = of;
            return 0;
        }
    }
    return -EINVAL;
}

uint64_t trace_dropped(const struct trace *trace, enum span_kind kind)
{
    uint64_t sum = trace->left_out.shorter[kind];

    add_saturating(&sum, trace->left_out.overflow[kind]);
    return sum;
}

uint64_t trace_spans(const struct trace *trace)
{
    uint64_t sum = trace->n_spans;

    for (int kind = 0; kind < SPAN_KINDS; kind++)
        add_saturating(&sum, trace_dropped(trace, kind));
    return sum;
}

uint64_t trace_unread(const struct trace *trace)
{
    uint64_t n = 0;

    for (size_t i = 0; i < trace->n_processes; i++)
        n += trace->processes[i].unread;
    return n;
}

static bool is_open(const struct span *span)
{
    return !strcmp(span->name, span->kind == SPAN_MPI ? "MPI_File_open" : "open");
}

uint64_t trace_paths_missing(const struct trace *trace)
{
    uint64_t n = 0;

    for (size_t i = 0; trace->paths && i < trace->n_spans; i++)
        n += !trace->spans[i].path && is_open(&trace->spans[i]);
    return n;
}

static int compare_processes(const void *key, const void *process)
{
    return number_compare(key, &((const struct trace_process *)process)->pid);
}

const struct trace_process *trace_process(const struct trace *trace, uint32_t pid)
{
    return trace->n_processes ? bsearch(&pid, trace->processes, trace->n_processes,
                                        sizeof(*trace->processes), compare_processes)
                              : NULL;
}

/* A trace has few mounts. */
const char *trace_mount(struct trace *trace, const char *name)
{
    char **grown;

    for (size_t i = 0; i < trace->n_mounts; i++)
        if (!strcmp(trace->mounts[i], name))
            return trace->mounts[i];
    grown = reallocarray(trace->mounts, trace->n_mounts + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    trace->mounts = grown;
    grown[trace->n_mounts] = strdup(name);
    return grown[trace->n_mounts] ? grown[trace->n_mounts++] : NULL;
}

void trace_clear(struct trace *trace)
{
    for (size_t i = 0; i < trace->n_mounts; i++)
        free(trace->mounts[i]);
    free(trace->mounts);
    for (size_t i = 0; i < trace->n_spans; i++)
        free(trace->spans[i].path);
    free(trace->processes);
    free(trace->spans);
    *trace = (struct trace){0};
}

void step_trace_clear(struct step_trace *step)
{
    trace_clear(&step->trace);
    free(step->cluster);
    free(step->node);
    free(step->name);
    free(step->caller);
    *step = (struct step_trace){0};
}
