/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/stacks/profiler.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "collector/stacks/libdw.h"
#include "collector/stacks/perf_map.h"
#include "collector/stacks/program.h"
#include "collector/stacks/symbols.h"
#include "common/cleanup.h"
#include "common/text_buffer.h"

/* Programs that are in memory at once. */
#define MAX_PROGRAMS 512
/* Different stacks, by address. More are only counted. */
#define MAX_STACKS 4096

/* A stack, and the time of the calls that had it. */
struct recorded {
    char comm[STACK_COMM];
    enum stack_end end;
    struct code_place *places; /* owned; from the innermost function on */
    size_t n;
    uint64_t number; /* its index */
    struct stack_weight weight;
};

struct profiler {
    struct code_files *files;
    struct perf_maps *maps;
    struct program *programs[MAX_PROGRAMS];
    size_t oldest;                       /* the program that the next one replaces */
    struct recorded *stacks[MAX_STACKS]; /* owned */
    size_t n;
    void *tree;                /* tsearch tree of them, without the weights */
    struct stack_weight other; /* there was no room, or no memory */
};

DEFINE_CLEANUP(struct profiler, profiler_destroy)
DEFINE_CLEANUP(struct symbols, symbols_destroy)

int profiler_create(struct profiler **ret, struct error *error)
{
    CLEANUP(profiler_destroyp) struct profiler *profiler = calloc(1, sizeof(*profiler));
    int r = libdw_load(error);

    if (r < 0)
        return r;
    if (profiler) {
        profiler->files = code_files_create();
        profiler->maps = perf_maps_create();
    }
    if (!profiler || !profiler->files || !profiler->maps)
        return error_errno(error, -ENOMEM, "cannot record stacks");
    *ret = TAKE_PTR(profiler);
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

void profiler_destroy(struct profiler *profiler)
{
    if (!profiler)
        return;
    for (size_t i = 0; i < MAX_PROGRAMS; i++)
        program_destroy(profiler->programs[i]);
    tdestroy(profiler->tree, keep);
    for (size_t i = 0; i < profiler->n; i++)
        recorded_destroy(profiler->stacks[i]);
    code_files_destroy(profiler->files);
    perf_maps_destroy(profiler->maps);
    free(profiler);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static struct program *find_program(struct profiler *profiler, const struct probe_stack *stack)
{
    struct program **oldest = &profiler->programs[profiler->oldest], *made;

    for (size_t i = 0; i < MAX_PROGRAMS && profiler->programs[i]; i++)
        if (program_has(profiler->programs[i], stack))
            return profiler->programs[i];
    made = program_create(stack, profiler->files, profiler->maps);
    if (!made)
        return NULL;
    program_destroy(*oldest);
    *oldest = made;
    profiler->oldest = (profiler->oldest + 1) % MAX_PROGRAMS;
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

static struct recorded *insert(struct profiler *profiler, const struct recorded *wanted)
{
    struct recorded *made = profiler->n < MAX_STACKS ? malloc(sizeof(*made)) : NULL;

    if (!made)
        return NULL;
    *made = *wanted;
    made->number = profiler->n;
    made->places = calloc(wanted->n + 1, sizeof(*made->places));
    if (!made->places || !tsearch(made, &profiler->tree, compare)) {
        recorded_destroy(made);
        return NULL;
    }
    memcpy(made->places, wanted->places, wanted->n * sizeof(*made->places));
    profiler->stacks[profiler->n++] = made;
    return made;
}

static struct recorded *find_unwound(struct profiler *profiler, struct program *program,
                                     const struct probe_stack *stack)
{
    struct program_stack unwound;
    struct recorded wanted = {.places = unwound.places}, **found, *recorded;

    program_unwind(program, stack, &unwound);
    wanted.n = unwound.n;
    wanted.end = unwound.end;
    memcpy(wanted.comm, stack->comm, STACK_COMM);
    found = tfind(&wanted, &profiler->tree, compare);
    recorded = found ? *found : insert(profiler, &wanted);
    if (recorded)
        program_remember(program, stack, recorded->number);
    return recorded;
}

static struct recorded *find_stack(struct profiler *profiler, const struct probe_stack *stack)
{
    struct program *program = find_program(profiler, stack);
    int64_t number = program ? program_find(program, stack) : -1;

    if (number >= 0)
        return profiler->stacks[number];
    return program ? find_unwound(profiler, program, stack) : NULL;
}

void profiler_add(struct profiler *profiler, const struct probe_stack *stack)
{
    struct recorded *recorded = find_stack(profiler, stack);
    struct stack_weight *to = recorded ? &recorded->weight : &profiler->other;

    to->calls++;
    to->time_ns += stack->time_ns;
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

void profiler_fill(const struct profiler *profiler, struct stack_profile *ret)
{
    CLEANUP(symbols_destroyp)
    struct symbols *symbols = symbols_create(profiler->files, profiler->maps);
    struct stack *stacks = calloc(profiler->n + 1, sizeof(*stacks));
    size_t n = 0;

    ret->other = profiler->other;
    for (size_t i = 0; i < profiler->n; i++) {
        const struct recorded *recorded = profiler->stacks[i];
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
