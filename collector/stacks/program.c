/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/stacks/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/stack_records.h"
#include "collector/stacks/known_stacks.h"
#include "collector/stacks/libdw.h"
#include "common/cleanup.h"
#include "common/proc_stat.h"

/* How often the mappings are read again, because a function is in none of them. */
#define MAX_READINGS 100
/* In the segment of 64-bit code; other code has other registers and tables. */
#define SEGMENT_64 0x33
/* The numbers of registers in DWARF. */
#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_RIP 16
#define DWARF_REGISTERS 17

struct program {
    uint32_t pid;
    uint64_t started, stack_start;
    struct code_files *files;
    char *maps;     /* owned; /proc/PID/maps; NULL: the process had ended */
    unsigned again; /* how often it was read again */
    Dwfl *dwfl;     /* owned; NULL: nothing can be unwound */
    struct known_stacks *known;
    struct perf_map *map; /* owned */
    /* The stack that is unwound. */
    const struct probe_stack *stack;
    struct {
        Dwarf_Word words[DWARF_REGISTERS];
        bool known[DWARF_REGISTERS];
        bool in_call; /* the program counter is in a call, not behind it */
    } from;           /* the registers with which libdw starts */
    bool stepped;     /* it must start again */
    struct program_stack *to;
    struct stack_read read;
    bool started_here; /* the last function is where the program starts */
};

DEFINE_CLEANUP(struct program, program_destroy)

/* The registers of the psABI of x86-64, by their numbers in DWARF. */
static const enum stack_register dwarf_registers[DWARF_REGISTERS] = {
    STACK_RAX, STACK_RDX, STACK_RCX, STACK_RBX, STACK_RSI, STACK_RDI,
    STACK_RBP, STACK_RSP, STACK_R8,  STACK_R9,  STACK_R10, STACK_R11,
    STACK_R12, STACK_R13, STACK_R14, STACK_R15, STACK_RIP,
};

/* --- processes -------------------------------------------------------------------------------- */

/* Returns the text of /proc/PID/NAME, malloc'd; NULL: the process has ended. */
static char *read_file(uint32_t pid, const char *name)
{
    _fclose_ FILE *in = NULL;
    char path[32], *text = NULL;
    size_t room = 0;

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
    in = fopen(path, "re");
    if (in && getdelim(&text, &room, '\0', in) > 0)
        return text;
    free(text);
    return NULL;
}

/* Returns false if the process has ended, or executes another program now, whose files would give
 * wrong names. */
static bool is_running(const struct program *program)
{
    _free_ char *stat = read_file(program->pid, "stat");
    uint64_t stack_start;

    return stat && proc_stat_number(stat, PROC_STAT_STACK, &stack_start) == 0 &&
           stack_start == program->stack_start;
}

/* --- callbacks of libdw ----------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = arg;
    return (pid_t)((struct program *)arg)->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
    (void)dwfl;
    (void)tid;
    *thread = arg;
    return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *arg)
{
    struct program *program = arg;
    struct stack_read *read = &program->read;
    uint64_t value;

    (void)dwfl;
    if (read->n == ARRAY_SIZE(read->words) || !probe_stack_word(program->stack, address, &value))
        return false;
    read->words[read->n].address = address;
    read->words[read->n++].value = value;
    *ret = value;
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    const struct program *program = arg;

    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        if (program->from.known[i] &&
            !libdw.dwfl_thread_state_registers(thread, (int)i, 1, &program->from.words[i]))
            return false;
    return true;
}

/* The address in its file, which is the same in all processes. */
static struct code_place find_place(const struct program *program, uint64_t address)
{
    Dwfl_Module *module = libdw.dwfl_addrmodule(program->dwfl, address);
    GElf_Addr bias = 0;
    void **file;

    if (!module || !libdw.dwfl_module_getelf(module, &bias))
        return (struct code_place){.file = CODE_NO_FILE};
    (void)libdw.dwfl_module_info(module, &file, NULL, NULL, NULL, NULL, NULL, NULL);
    return (struct code_place){.file = (uintptr_t)*file, .address = address - bias};
}

static bool has_row(Dwarf_CFI *table, Dwarf_Addr address)
{
    Dwarf_Frame *row = NULL;

    if (!table || libdw.dwarf_cfi_addrframe(table, address, &row) < 0)
        return false;
    free(row);
    return true;
}

/* Returns whether the tables describe the frame of the function. Without them libdw would follow
 * the frame pointer, which such a function may use for anything. */
static bool is_described(const struct program *program, Dwarf_Addr counter)
{
    Dwfl_Module *module = libdw.dwfl_addrmodule(program->dwfl, counter);
    Dwarf_Addr bias = 0;
    Dwarf_CFI *table;

    if (!module)
        return false;
    table = libdw.dwfl_module_eh_cfi(module, &bias);
    if (has_row(table, counter - bias))
        return true;
    table = libdw.dwfl_module_dwarf_cfi(module, &bias);
    return has_row(table, counter - bias);
}

/* Returns whether the execution of the file starts with this function, so that it has no caller.
 * The one of the dynamic linker is often without tables. */
static bool is_entry(const struct program *program, Dwarf_Addr counter)
{
    Dwfl_Module *module = libdw.dwfl_addrmodule(program->dwfl, counter);
    GElf_Addr bias = 0;
    Elf *elf = module ? libdw.dwfl_module_getelf(module, &bias) : NULL;
    GElf_Off offset = 0;
    GElf_Ehdr header;
    GElf_Sym symbol;

    return elf && libdw.gelf_getehdr(elf, &header) &&
           libdw.dwfl_module_addrinfo(module, counter, &offset, &symbol, NULL, NULL, NULL) &&
           counter - offset == header.e_entry + bias;
}

/* An interpreter may start its map at any time. */
static bool find_python(struct program *program, Dwarf_Addr counter, struct perf_function *ret)
{
    if (perf_map_open(program->map, program->pid) && !is_running(program))
        perf_map_close(program->map);
    return perf_map_find(program->map, counter, ret);
}

/* Make libdw start again with the caller of this frame, which is a trampoline of CPython
 * (Python/asm_trampoline.S) and continues at this offset:
 *     sub $8,%rsp; call *%rcx; ...
 *     push %rbp; mov %rsp,%rbp; call *%rcx; ...
 * or the same after an endbr64. Both have one word below their return address. Only the second one
 * has a frame pointer to it: that of a caller does not point below the caller's frame. */
static bool step_over(struct program *program, Dwfl_Frame *frame, uint64_t offset)
{
    Dwarf_Word *words = program->from.words, *pointer = &words[DWARF_RSP];
    bool *known = program->from.known;

    if (!libdw.dwfl_frame_reg || (offset != 6 && offset != 10))
        return false;
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        known[i] = libdw.dwfl_frame_reg(frame, i, &words[i]) == 0;
    if (!known[DWARF_RSP] || !known[DWARF_RBP] ||
        !read_memory(NULL, *pointer + 8, &words[DWARF_RIP], program) ||
        (words[DWARF_RBP] == *pointer && !read_memory(NULL, *pointer, &words[DWARF_RBP], program)))
        return false;
    *pointer += 16;
    words[DWARF_RIP]--; /* the call: libdw takes the first function for a running one */
    known[DWARF_RIP] = program->from.in_call = true;
    return true;
}

/* The tables do not describe the frame. */
static void on_other_frame(struct program *program, Dwfl_Frame *frame, Dwarf_Addr counter,
                           bool has_called)
{
    struct code_place *place = &program->to->places[program->to->n - 1];
    struct perf_function function;

    if (place->file == CODE_NO_FILE && find_python(program, counter, &function)) {
        *place = (struct code_place){.file = CODE_PYTHON, .address = function.name};
        program->stepped = has_called && step_over(program, frame, counter + 1 - function.start);
    }
    program->started_here = is_entry(program, counter);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
    struct program *program = arg;
    struct program_stack *to = program->to;
    bool is_active = false, in_call = program->from.in_call;
    Dwarf_Addr counter;

    if (to->n == PROGRAM_FRAMES || !libdw.dwfl_frame_pc(frame, &counter, &is_active))
        return DWARF_CB_ABORT;
    program->from.in_call = false; /* only in the first frame */
    program->read.counters[program->read.n_counters++] = counter + in_call;
    /* A call may be the last instruction of a function. */
    counter -= is_active ? 0 : 1;
    to->places[to->n++] = find_place(program, counter);
    if (is_described(program, counter))
        return DWARF_CB_OK;
    on_other_frame(program, frame, counter, in_call || !is_active);
    return DWARF_CB_ABORT;
}

/* --- mappings --------------------------------------------------------------------------------- */

/* Returns /proc/PID/maps, malloc'd; NULL: the process has ended. */
static char *read_maps(const struct program *program)
{
    _free_ char *maps = read_file(program->pid, "maps");

    return is_running(program) ? TAKE_PTR(maps) : NULL; /* after it */
}

/* Returns whether the line is of a file; the path stays in the line. */
static bool parse_line(const char *line, struct code_mapping *ret, bool *executes)
{
    char permissions[5];
    int at = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &ret->start,
               &ret->end, permissions, &ret->offset, &ret->major, &ret->minor, &ret->inode,
               &at) < 7)
        return false;
    ret->path = line + at;
    *executes = permissions[2] == 'x';
    return ret->inode && *ret->path == '/';
}

static void report_file(struct program *program, const struct code_mapping *mapping)
{
    int64_t file = code_files_open(program->files, program->pid, mapping);
    Elf *elf = file >= 0 ? code_files_elf(program->files, (uint64_t)file) : NULL;
    Dwfl_Module *module = NULL;
    void **arg;

    if (elf)
        module = libdw_report(program->dwfl, code_files_name(program->files, (uint64_t)file), elf,
                              mapping->start);
    if (!module)
        return;
    (void)libdw.dwfl_module_info(module, &arg, NULL, NULL, NULL, NULL, NULL, NULL);
    *arg = (void *)(uintptr_t)file;
}

/* The mappings of a file follow each other. The first one has its headers. */
static void report_files(struct program *program, char *maps)
{
    struct code_mapping first = {0}, mapping;
    char *rest = maps, *line;

    while ((line = strsep(&rest, "\n"))) {
        bool executes;

        if (!parse_line(line, &mapping, &executes))
            continue;
        mapping.started_ns = program->started;
        if (!mapping.offset)
            first = mapping;
        if (!executes || !first.inode || mapping.inode != first.inode ||
            mapping.major != first.major || mapping.minor != first.minor)
            continue;
        report_file(program, &first);
        first.inode = 0; /* once */
    }
}

static void close_mappings(struct program *program)
{
    if (program->dwfl)
        libdw.dwfl_end(program->dwfl);
    program->dwfl = NULL;
}

/* Returns 0, or -ENOMEM. */
static int open_mappings(struct program *program)
{
    static const Dwfl_Thread_Callbacks callbacks = {.next_thread = next_thread,
                                                    .get_thread = get_thread,
                                                    .memory_read = read_memory,
                                                    .set_initial_registers = set_registers};
    _free_ char *maps = strdup(program->maps);

    close_mappings(program);
    known_stacks_forget(program->known);
    program->dwfl = maps ? libdw.dwfl_begin(libdw_callbacks()) : NULL;
    if (!program->dwfl)
        return -ENOMEM;
    libdw.dwfl_report_begin(program->dwfl);
    report_files(program, maps);
    (void)libdw.dwfl_report_end(program->dwfl, NULL, NULL);
    if (!libdw.dwfl_attach_state(program->dwfl, NULL, (pid_t)program->pid, &callbacks, program))
        close_mappings(program);
    return 0;
}

/* --- programs --------------------------------------------------------------------------------- */

struct program *program_create(const struct probe_stack *stack, struct code_files *files,
                               struct perf_maps *maps)
{
    CLEANUP(program_destroyp) struct program *program = calloc(1, sizeof(*program));

    if (!program)
        return NULL;
    program->pid = stack->pid;
    program->started = stack->started;
    program->stack_start = stack->stack_start;
    program->files = files;
    program->known = known_stacks_create();
    program->map = perf_map_create(maps);
    if (program->map)
        (void)perf_map_open(program->map, program->pid);
    program->maps = read_maps(program); /* after it, because it checks the process */
    if (!program->known || !program->map || (program->maps && open_mappings(program) < 0))
        return NULL;
    return TAKE_PTR(program);
}

void program_destroy(struct program *program)
{
    if (!program)
        return;
    close_mappings(program);
    known_stacks_destroy(program->known);
    perf_map_destroy(program->map);
    free(program->maps);
    free(program);
}

bool program_has(const struct program *program, const struct probe_stack *stack)
{
    return program->pid == stack->pid && program->started == stack->started &&
           program->stack_start == stack->stack_start;
}

/* Returns whether the process has other mappings than before, as after dlopen(3). */
static bool has_new_mappings(struct program *program)
{
    char *maps;

    if (!program->maps || program->again == MAX_READINGS)
        return false;
    program->again++;
    maps = read_maps(program);
    if (!maps || !strcmp(maps, program->maps)) {
        free(maps);
        return false;
    }
    free(program->maps);
    program->maps = maps;
    return open_mappings(program) == 0;
}

static bool has_unknown(const struct program_stack *to)
{
    for (size_t i = 0; i < to->n; i++)
        if (to->places[i].file == CODE_NO_FILE)
            return true;
    return !to->n;
}

static void start_at(struct program *program, const struct probe_stack *stack)
{
    program->stack = stack;
    for (size_t i = 0; i < DWARF_REGISTERS; i++) {
        program->from.words[i] = stack->registers[dwarf_registers[i]];
        program->from.known[i] = true;
    }
    program->from.in_call = false;
}

static void unwind(struct program *program, const struct probe_stack *stack,
                   struct program_stack *ret)
{
    int r = -1;

    start_at(program, stack);
    program->to = ret;
    program->read.n = program->read.n_counters = 0;
    program->started_here = false;
    ret->n = 0;
    do {
        program->stepped = false;
        if (program->dwfl && stack->size && stack->registers[STACK_CS] == SEGMENT_64)
            r = libdw.dwfl_getthread_frames(program->dwfl, (pid_t)program->pid, on_frame, program);
    } while (program->stepped);
    program->read.complete = r == 0 || program->started_here;
    ret->end = program->read.complete ? STACK_COMPLETE
               : program->maps        ? STACK_TRUNCATED
                                      : STACK_UNREAD;
}

void program_unwind(struct program *program, const struct probe_stack *stack,
                    struct program_stack *ret)
{
    unwind(program, stack, ret);
    if (has_unknown(ret) && has_new_mappings(program))
        unwind(program, stack, ret);
}

void program_remember(struct program *program, const struct probe_stack *stack, uint64_t number)
{
    known_stacks_add(program->known, stack, &program->read, number);
}

int64_t program_find(const struct program *program, const struct probe_stack *stack)
{
    return known_stacks_find(program->known, stack);
}
