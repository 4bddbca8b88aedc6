/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/stacks/recorder.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "collector/probe/stacks.h"
#include "collector/stacks/libdw.h"
#include "collector/stacks/program.h"
#include "collector/stacks/symbols.h"
#include "common/cleanup.h"
#include "common/text_buffer.h"

/* Programs that are in memory at once. */
#define MAX_PROGRAMS 512
/* Different stacks, by address. More are only counted. */
#define MAX_STACKS 4096
/* Stacks of one reading: to unwind one can take milliseconds, in which the caller does nothing
 * else. */
#define READ_MAX 32

/* A stack, and the time of the calls that had it. */
struct recorded {
    char comm[STACK_COMM];
    enum stack_end end;
    struct code_place *places; /* owned; from the innermost function on */
    size_t n;
    uint64_t number; /* its index */
    struct stack_weight weight;
};

struct stack_recorder {
    struct probe *probe;
    struct stack_limits limits;
    uint32_t step;
    struct code_files *files;
    struct program *programs[MAX_PROGRAMS];
    size_t oldest;                       /* the program that the next one replaces */
    struct recorded *stacks[MAX_STACKS]; /* owned */
    size_t n;
    void *tree;                /* tsearch tree of them, without the weights */
    struct stack_weight other; /* there was no room, or no memory */
};

DEFINE_CLEANUP(struct stack_recorder, stack_recorder_destroy)
DEFINE_CLEANUP(struct symbols, symbols_destroy)

int stack_recorder_create(struct stack_recorder **ret, struct probe *probe,
                          const struct stack_limits *limits, struct error *error)
{
    CLEANUP(stack_recorder_destroyp) struct stack_recorder *recorder = calloc(1, sizeof(*recorder));
    int r = libdw_load(error);

    if (r < 0)
        return r;
    if (recorder)
        recorder->files = code_files_create();
    if (!recorder || !recorder->files)
        return error_errno(error, -ENOMEM, "cannot record stacks");
    recorder->probe = probe;
    recorder->limits = *limits;
    *ret = TAKE_PTR(recorder);
    return 0;
}

static void recorded_destroy(struct recorded *recorded)
{
    if (recorded)
        free(recorded->places);
    free(recorded);
}

static void keep(void *node)
{
    (void)node;
}

void stack_recorder_destroy(struct stack_recorder *recorder)
{
    if (!recorder)
        return;
    for (size_t i = 0; i < MAX_PROGRAMS; i++)
        program_destroy(recorder->programs[i]);
    tdestroy(recorder->tree, keep);
    for (size_t i = 0; i < recorder->n; i++)
        recorded_destroy(recorder->stacks[i]);
    code_files_destroy(recorder->files);
    free(recorder);
}

int stack_recorder_start(struct stack_recorder *recorder, uint32_t step, struct error *error)
{
    struct rlimit limit;

    recorder->step = step;
    /* Files with code stay open, and libdw opens files with debugging information. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return probe_stacks_start(recorder->probe, step, recorder->limits.per_second, error);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static struct program *find_program(struct stack_recorder *recorder,
                                    const struct probe_stack *stack)
{
    struct program **oldest = &recorder->programs[recorder->oldest], *made;

    for (size_t i = 0; i < MAX_PROGRAMS && recorder->programs[i]; i++)
        if (program_has(recorder->programs[i], stack))
            return recorder->programs[i];
    made = program_create(stack, recorder->files);
    if (!made)
        return NULL;
    program_destroy(*oldest);
    *oldest = made;
    recorder->oldest = (recorder->oldest + 1) % MAX_PROGRAMS;
    return made;
}

static int compare(const void *a, const void *b)
{
    const struct recorded *x = a, *y = b;
    int r = strncmp(x->comm, y->comm, STACK_COMM);

    if (r == 0)
        r = (x->end > y->end) - (x->end < y->end);
    if (r == 0)
        r = (x->n > y->n) - (x->n < y->n);
    return r ? r : x->n ? memcmp(x->places, y->places, x->n * sizeof(*x->places)) : 0;
}

static struct recorded *insert(struct stack_recorder *recorder, const struct recorded *wanted)
{
    struct recorded *made = recorder->n < MAX_STACKS ? malloc(sizeof(*made)) : NULL;

    if (!made)
        return NULL;
    *made = *wanted;
    made->number = recorder->n;
    made->places = calloc(wanted->n + 1, sizeof(*made->places));
    if (!made->places || !tsearch(made, &recorder->tree, compare)) {
        recorded_destroy(made);
        return NULL;
    }
    memcpy(made->places, wanted->places, wanted->n * sizeof(*made->places));
    recorder->stacks[recorder->n++] = made;
    return made;
}

static struct recorded *find_unwound(struct stack_recorder *recorder, struct program *program,
                                     const struct probe_stack *stack)
{
    struct program_stack unwound;
    struct recorded wanted = {.places = unwound.places}, **found, *recorded;

    program_unwind(program, stack, &unwound);
    wanted.n = unwound.n;
    wanted.end = unwound.end;
    memcpy(wanted.comm, stack->comm, STACK_COMM);
    found = tfind(&wanted, &recorder->tree, compare);
    recorded = found ? *found : insert(recorder, &wanted);
    if (recorded)
        program_remember(program, stack, recorded->number);
    return recorded;
}

static struct recorded *find_stack(struct stack_recorder *recorder, const struct probe_stack *stack)
{
    struct program *program = find_program(recorder, stack);
    int64_t number = program ? program_find(program, stack) : -1;

    if (number >= 0)
        return recorder->stacks[number];
    return program ? find_unwound(recorder, program, stack) : NULL;
}

static void on_stack(const struct probe_stack *stack, void *arg)
{
    struct stack_recorder *recorder = arg;
    struct recorded *recorded;
    struct stack_weight *to;

    if (stack->step != recorder->step)
        return;
    recorded = find_stack(recorder, stack);
    to = recorded ? &recorded->weight : &recorder->other;
    to->calls++;
    to->time_ns += stack->time_ns;
}

int stack_recorder_fd(const struct stack_recorder *recorder)
{
    return recorder ? probe_stacks_fd(recorder->probe) : -1;
}

int stack_recorder_read(struct stack_recorder *recorder, struct error *error)
{
    return recorder ? probe_stacks(recorder->probe, READ_MAX, on_stack, recorder, error) : 0;
}

/* --- the profile ------------------------------------------------------------------------------ */

static char *write_stack(const struct recorded *recorded, struct symbols *symbols)
{
    static const char *const ends[] = {
        [STACK_TRUNCATED] = ";[truncated]",
        [STACK_UNREAD] = ";[process ended]",
    };
    char comm[STACK_COMM + 1] = "";
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    memcpy(comm, recorded->comm, STACK_COMM);
    symbols_write_text(comm, text.out);
    (void)fputs(ends[recorded->end] ? ends[recorded->end] : "", text.out);
    for (size_t i = recorded->n; i-- > 0;) {
        (void)fputc(';', text.out);
        symbols_write(symbols, &recorded->places[i], text.out);
    }
    return text_buffer_take(&text);
}

static void add(struct stack_weight *to, const struct stack_weight *from)
{
    to->calls += from->calls;
    to->time_ns += from->time_ns;
}

static void fill(const struct stack_recorder *recorder, struct symbols *symbols,
                 struct stack_profile *ret)
{
    struct stack *stacks = calloc(recorder->n + 1, sizeof(*stacks));
    size_t n = 0;

    ret->other = recorder->other;
    for (size_t i = 0; i < recorder->n; i++) {
        const struct recorded *recorded = recorder->stacks[i];
        char *text = stacks && symbols ? write_stack(recorded, symbols) : NULL;

        if (recorded->end == STACK_TRUNCATED)
            add(&ret->truncated, &recorded->weight);
        if (recorded->end == STACK_UNREAD)
            add(&ret->unread, &recorded->weight);
        if (text)
            stacks[n++] = (struct stack){text, recorded->weight};
        else
            add(&ret->other, &recorded->weight);
    }
    stack_profile_fill(ret, stacks, n);
}

int stack_recorder_finish(struct stack_recorder *recorder, struct stack_profile *ret,
                          struct error *error)
{
    CLEANUP(symbols_destroyp) struct symbols *symbols = NULL;
    int r = probe_stacks(recorder->probe, PROBE_STACKS_ALL, on_stack, recorder, error);

    if (r >= 0)
        r = probe_stacks_counts(recorder->probe, recorder->step, &ret->counts, error);
    if (r < 0)
        return r;
    symbols = symbols_create(recorder->files);
    ret->least_ns = recorder->limits.least_ns;
    fill(recorder, symbols, ret);
    return 0;
}
