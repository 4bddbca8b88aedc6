/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: stacks are unwound by the tables of the program, and only a stack with the same functions
 * is taken for a known one. */
#define _GNU_SOURCE
#include "config.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include "collector/stacks/known_stacks.h"
#include "collector/stacks/libdw.h"
#include "collector/stacks/perf_map.h"
#include "collector/stacks/program.h"
#include "collector/stacks/symbols.h"
#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "tests/unit/taken_stack.h"

#define FUNCTION __attribute__((noinline, noclone))

/* --- this program ----------------------------------------------------------------------------- */

FUNCTION static int inner(struct taken *taken)
{
    ucontext_t context;

    assert_int_equal(getcontext(&context), 0);
    taken_fill(taken, &context);
    return 1;
}

FUNCTION static int outer(struct taken *taken)
{
    return inner(taken) + 1;
}

FUNCTION static int another(struct taken *taken)
{
    return inner(taken) + 2;
}

static struct perf_maps *maps;

/* Returns the names of the functions. */
static char *names_of(const struct program_stack *stack, const struct code_files *files)
{
    struct symbols *symbols = symbols_create(files, maps);
    struct text_buffer text;

    assert_non_null(symbols);
    assert_non_null(text_buffer_open(&text));
    for (size_t i = 0; i < stack->n; i++) {
        symbols_write(symbols, &stack->places[i], text.out);
        (void)fputc(';', text.out);
    }
    symbols_destroy(symbols);
    return text_buffer_take(&text);
}

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

static void test_functions(void **state)
{
    _free_ struct taken *taken = taken_create(getpid(), outer);
    struct code_files *files = code_files_create();
    struct program *program = program_create(&taken->stack, files, maps);
    struct program_stack stack;
    _free_ char *names = NULL;

    (void)state;
    assert_non_null(program);
    assert_true(program_has(program, &taken->stack));
    program_unwind(program, &taken->stack, &stack);
    names = names_of(&stack, files);
    if (!starts_with(names, "inner\ttest_unwind;outer\ttest_unwind;taken_create\ttest_unwind;"
                            "test_functions\ttest_unwind;"))
        fail_msg("%s", names);
    assert_non_null(strstr(names, ";main\ttest_unwind;"));
    assert_int_equal(stack.end, STACK_COMPLETE);
    /* Only the copy counts, not the memory of today. */
    memset(taken->bytes, 0, sizeof(taken->bytes));
    program_unwind(program, &taken->stack, &stack);
    assert_int_equal(stack.n, 1);
    taken->stack.size = 0;
    program_unwind(program, &taken->stack, &stack);
    assert_int_equal(stack.end, STACK_TRUNCATED);
    program_destroy(program);
    code_files_destroy(files);
}

/* The stack is of a program that the process executed before. */
static void test_other_program(void **state)
{
    _free_ struct taken *taken = taken_create(getpid(), outer);
    struct code_files *files = code_files_create();
    struct program *program;
    struct program_stack stack;

    (void)state;
    taken->stack.stack_start -= 16;
    program = program_create(&taken->stack, files, maps);
    assert_non_null(program);
    program_unwind(program, &taken->stack, &stack);
    assert_int_equal(stack.n, 0);
    assert_int_equal(stack.end, STACK_UNREAD);
    program_destroy(program);
    code_files_destroy(files);
}

/* The same functions are known, in a caller's frame of any size; others are not. */
static void test_known(void **state)
{
    _free_ struct taken *first = taken_create(getpid(), outer);
    _free_ struct taken *same = NULL;
    _free_ struct taken *different = taken_create(getpid(), another);
    struct code_files *files = code_files_create();
    struct program *program = program_create(&first->stack, files, maps);
    struct program_stack stack;

    (void)state;
    assert_non_null(program);
    assert_true(program_find(program, &first->stack) < 0);
    program_unwind(program, &first->stack, &stack);
    program_remember(program, &first->stack, 7);
    assert_int_equal(program_find(program, &first->stack), 7);
    assert_true(program_find(program, &different->stack) < 0);
    program_unwind(program, &different->stack, &stack);
    program_remember(program, &different->stack, 8);
    assert_int_equal(program_find(program, &different->stack), 8);
    first->stack.comm = "other\0\0\0\0\0\0\0\0\0\0";
    assert_true(program_find(program, &first->stack) < 0);
    program_destroy(program);
    code_files_destroy(files);
}

/* --- Python ----------------------------------------------------------------------------------- */

/* The two trampolines of CPython, at the start of a page each. */
#define PAGE 4096
static const unsigned char trampolines[2][11] = {
    {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3},
    {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3},
};
static const unsigned char *code;

typedef int (*trampoline_f)(struct taken *, void *, int, int (*)(struct taken *));

static inline __attribute__((always_inline)) int call(struct taken *taken, int kind)
{
    return ((trampoline_f)(uintptr_t)(code + kind * PAGE))(taken, NULL, 0, inner);
}

FUNCTION static int evaluate_first(struct taken *taken)
{
    return call(taken, 0) + 1;
}

FUNCTION static int evaluate_second(struct taken *taken)
{
    return call(taken, 1) + 2;
}

/* The same as evaluate_first(), but for its address. */
FUNCTION static int evaluate_third(struct taken *taken)
{
    return call(taken, 0) + 3;
}

static int (*volatile evaluate)(struct taken *);

FUNCTION static int caller(struct taken *taken)
{
    return evaluate(taken) + 4;
}

/* All from the same place. */
FUNCTION static struct taken *take_evaluated(int (*function)(struct taken *))
{
    evaluate = function;
    return taken_create(getpid(), caller);
}

static void make_map(char *path)
{
    FILE *out;

    (void)snprintf(path, 64, "/tmp/perf-%d.map", getpid());
    out = fopen(path, "we");
    assert_non_null(out);
    (void)fprintf(out, "%" PRIxPTR " b py::first:first.py\n%" PRIxPTR " b py::second:second.py\n",
                  (uintptr_t)code, (uintptr_t)code + PAGE);
    assert_int_equal(fclose(out), 0);
}

static void make_code(void)
{
    unsigned char *memory =
        mmap(NULL, 2 * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    memcpy(memory, trampolines[0], sizeof(trampolines[0]));
    memcpy(memory + PAGE, trampolines[1], sizeof(trampolines[1]));
    assert_int_equal(mprotect(memory, 2 * (size_t)PAGE, PROT_READ | PROT_EXEC), 0);
    code = memory;
}

static void assert_names(struct program *program, const struct taken *taken,
                         const struct code_files *files, const char *middle)
{
    struct program_stack stack;
    _free_ char *names = NULL;
    char wanted[200];

    (void)snprintf(wanted, sizeof(wanted),
                   "inner\ttest_unwind;%s\ttest_unwind;caller\ttest_unwind;"
                   "taken_create\ttest_unwind;",
                   middle);
    program_unwind(program, &taken->stack, &stack);
    assert_int_equal(stack.end, STACK_COMPLETE);
    names = names_of(&stack, files);
    if (!starts_with(names, wanted))
        fail_msg("%s", names);
}

static void test_python(void **state)
{
    static int (*const functions[])(struct taken *) = {evaluate_first, evaluate_second,
                                                       evaluate_third};
    struct code_files *files = code_files_create();
    struct taken *taken[3];
    struct program *program;
    char path[64];

    (void)state;
    if (!libdw.dwfl_frame_reg)
        skip();
    make_code();
    make_map(path);
    for (volatile size_t i = 0; i < ARRAY_SIZE(functions); i++)
        taken[i] = take_evaluated(functions[i]);
    program = program_create(&taken[0]->stack, files, maps);
    assert_non_null(program);
    (void)unlink(path); /* it stays open */
    assert_names(program, taken[0], files, "first\tfirst.py;evaluate_first");
    program_remember(program, &taken[0]->stack, 10);
    assert_int_equal(program_find(program, &taken[0]->stack), 10);
    assert_true(program_find(program, &taken[1]->stack) < 0);
    assert_true(program_find(program, &taken[2]->stack) < 0);
    assert_names(program, taken[1], files, "second\tsecond.py;evaluate_second");
    assert_names(program, taken[2], files, "first\tfirst.py;evaluate_third");
    program_destroy(program);
    code_files_destroy(files);
    for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
        free(taken[i]);
}

/* The innermost function is running, and has called nothing. */
static void test_running_trampoline(void **state)
{
    struct code_files *files = code_files_create();
    _free_ struct taken *taken = NULL;
    struct program *program;
    struct program_stack stack;
    char path[64];

    (void)state;
    make_code();
    make_map(path);
    taken = take_evaluated(evaluate_first);
    taken->registers[STACK_RIP] = (uint64_t)(uintptr_t)code + 5;
    program = program_create(&taken->stack, files, maps);
    assert_non_null(program);
    program_unwind(program, &taken->stack, &stack);
    assert_int_equal(stack.n, 1);
    assert_int_equal(stack.end, STACK_TRUNCATED);
    assert_int_equal(stack.places[0].file, CODE_PYTHON);
    program_destroy(program);
    code_files_destroy(files);
    (void)unlink(path);
}

/* --- a file that changes ---------------------------------------------------------------------- */

#define COPY "/tmp/jobio-test-unwind-XXXXXX"

/* Copies this program. Returns where its functions are, without the address. */
static struct code_place copy_self(struct code_files *files, char *path)
{
    _close_ int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    _close_ int out = mkstemp(path);
    struct code_mapping mapping = {.path = path};
    struct stat st;
    int64_t file;

    assert_true(in >= 0 && out >= 0);
    assert_int_equal(fstat(in, &st), 0);
    assert_int_equal(sendfile(out, in, NULL, (size_t)st.st_size), st.st_size);
    assert_int_equal(fstat(out, &st), 0);
    mapping.major = major(st.st_dev);
    mapping.minor = minor(st.st_dev);
    mapping.inode = st.st_ino;
    file = code_files_open(files, (uint32_t)getpid(), &mapping);
    assert_true(file >= 0);
    return (struct code_place){.file = (uint64_t)file};
}

static char *name_of(struct symbols *symbols, const struct code_place *place)
{
    struct text_buffer text;

    assert_non_null(text_buffer_open(&text));
    symbols_write(symbols, place, text.out);
    return text_buffer_take(&text);
}

/* An address of outer() in its file. */
static uint64_t address_of_outer(void)
{
    _free_ struct taken *taken = taken_create(getpid(), outer);
    struct code_files *files = code_files_create();
    struct program *program = program_create(&taken->stack, files, maps);
    struct program_stack stack;

    assert_non_null(program);
    program_unwind(program, &taken->stack, &stack);
    assert_true(stack.n > 1);
    program_destroy(program);
    code_files_destroy(files);
    return stack.places[1].address;
}

/* The build id that the linker has written into this program. */
extern const char __ehdr_start[]; /* of the linker */

static void own_build_id(char ret[100])
{
    const ElfW(Ehdr) *header = (const void *)__ehdr_start;
    const ElfW(Phdr) *segment = (const void *)(__ehdr_start + header->e_phoff);

    *ret = '\0';
    for (size_t i = 0; i < header->e_phnum; i++) {
        const char *at = __ehdr_start + segment[i].p_vaddr, *end = at + segment[i].p_memsz;

        while (segment[i].p_type == PT_NOTE && at < end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const char *bytes = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);

            for (size_t j = 0; note->n_type == NT_GNU_BUILD_ID && j < note->n_descsz; j++)
                (void)snprintf(ret + 2 * j, 3, "%02x", (unsigned char)bytes[j]);
            at = bytes + ((note->n_descsz + 3) & ~3u);
        }
    }
}

static void test_changed_file(void **state)
{
    static const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    struct code_files *files = code_files_create();
    char path[] = COPY, wanted[200], build_id[100];
    struct code_place place = copy_self(files, path);
    struct symbols *symbols = symbols_create(files, maps);
    _free_ char *found = NULL, *changed = NULL, *truncated = NULL;

    (void)state;
    place.address = address_of_outer();
    found = name_of(symbols, &place);
    assert_true(starts_with(found, "outer\t"));
    own_build_id(build_id);
    (void)snprintf(wanted, sizeof(wanted), "[%s+0x%" PRIx64 "]%s%s", path + strlen("/tmp/"),
                   place.address, *build_id ? "\t" : "", build_id);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    changed = name_of(symbols, &place);
    assert_string_equal(changed, wanted);
    assert_int_equal(truncate(path, 0), 0);
    truncated = name_of(symbols, &place);
    assert_string_equal(truncated, wanted);
    symbols_destroy(symbols);
    code_files_destroy(files);
    (void)unlink(path);
}

/* A file that was truncated is not read as if it were in memory: that would be a SIGBUS. */
static void test_truncated_file(void **state)
{
    struct code_files *files = code_files_create();
    char path[] = COPY;
    struct code_place place = copy_self(files, path);
    Dwfl *dwfl;
    Dwfl_Module *module;

    (void)state;
    dwfl = libdw.dwfl_begin(libdw_callbacks());
    assert_non_null(dwfl);
    libdw.dwfl_report_begin(dwfl);
    module = libdw_report(dwfl, "copy", code_files_elf(files, place.file), 0);
    (void)libdw.dwfl_report_end(dwfl, NULL, NULL);
    assert_non_null(module);
    assert_int_equal(truncate(path, 0), 0);
    assert_null(libdw.dwfl_module_addrname(module, address_of_outer()));
    libdw.dwfl_end(dwfl);
    code_files_destroy(files);
    (void)unlink(path);
}

/* --- made stacks ------------------------------------------------------------------------------ */

#define COUNTER 0x1000
#define CALLER 0x2000

/* A stack pointer, a return address at 8, a saved frame pointer at 16 that points to 32. */
static void make(struct taken *taken, uint64_t pointer)
{
    const uint64_t words[] = {99, CALLER, pointer + 32, 77, 0};

    *taken = (struct taken){.stack = {.comm = "comm\0\0\0\0\0\0\0\0\0\0\0"}};
    taken->registers[STACK_RIP] = COUNTER;
    taken->registers[STACK_RSP] = pointer;
    taken->registers[STACK_RBP] = pointer + 16;
    taken->registers[STACK_RBX] = 5;
    taken->stack.registers = taken->registers;
    taken->stack.from = pointer & -(uint64_t)STACK_CHUNK;
    taken->stack.bytes = taken->bytes;
    taken->stack.size = STACK_CHUNK;
    memcpy(taken->bytes + pointer % STACK_CHUNK, words, sizeof(words));
}

static void change(struct taken *taken, uint64_t distance, uint64_t value)
{
    memcpy(taken->bytes + taken->registers[STACK_RSP] % STACK_CHUNK + distance, &value,
           sizeof(value));
}

static void test_same_stack(void **state)
{
    struct known_stacks *known = known_stacks_create();
    static struct stack_read read = {
        .words = {{0x7f000008, CALLER}, {0x7f000010, 0x7f000020}, {0x7f000018, 77}},
        .n = 3,
        .counters = {COUNTER, CALLER},
        .n_counters = 2,
        .complete = true};
    static struct taken one, two;

    (void)state;
    make(&one, 0x7f000000);
    known_stacks_add(known, &one.stack, &read, 3);
    make(&two, 0x7f100100); /* another thread */
    assert_int_equal(known_stacks_find(known, &two.stack), 3);
    change(&two, 24, 78); /* a saved register */
    two.registers[STACK_RBX] = 6;
    assert_int_equal(known_stacks_find(known, &two.stack), 3);
    change(&two, 8, CALLER + 1); /* a return address */
    assert_true(known_stacks_find(known, &two.stack) < 0);
    make(&two, 0x7f100100);
    change(&two, 16, 0x7f100100 + 40); /* the frame above has another size */
    assert_true(known_stacks_find(known, &two.stack) < 0);
    make(&two, 0x7f100100);
    two.registers[STACK_RBP] += 8;
    assert_true(known_stacks_find(known, &two.stack) < 0);
    make(&two, 0x7f100100);
    two.registers[STACK_RIP]++;
    assert_true(known_stacks_find(known, &two.stack) < 0);
    known_stacks_forget(known);
    assert_true(known_stacks_find(known, &one.stack) < 0);
    known_stacks_destroy(known);
}

/* A copy that was too short gives another stack if it is longer. */
static void test_truncated(void **state)
{
    struct known_stacks *known = known_stacks_create();
    static struct stack_read read = {
        .words = {{0x7f000008, CALLER}}, .n = 1, .counters = {COUNTER, CALLER}, .n_counters = 2};
    static struct taken one;

    (void)state;
    make(&one, 0x7f000000);
    known_stacks_add(known, &one.stack, &read, 3);
    assert_int_equal(known_stacks_find(known, &one.stack), 3);
    one.stack.size += STACK_CHUNK;
    assert_true(known_stacks_find(known, &one.stack) < 0);
    known_stacks_destroy(known);
}

/* A stack that was not in memory says nothing about another one with the same program counter. */
static void test_unread(void **state)
{
    struct known_stacks *known = known_stacks_create();
    static struct stack_read read;
    static struct taken one, two;

    (void)state;
    make(&one, 0x7f000000);
    one.stack.size = 0;
    known_stacks_add(known, &one.stack, &read, 3);
    make(&two, 0x7f000000);
    assert_true(known_stacks_find(known, &two.stack) < 0);
    assert_true(known_stacks_find(known, &one.stack) < 0);
    known_stacks_destroy(known);
}

static int load(void **state)
{
    struct error error;

    (void)state;
    maps = perf_maps_create();
    return maps ? libdw_load(&error) : -1;
}

static int unload(void **state)
{
    (void)state;
    perf_maps_destroy(maps);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),    cmocka_unit_test(test_other_program),
        cmocka_unit_test(test_known),        cmocka_unit_test(test_same_stack),
        cmocka_unit_test(test_truncated),    cmocka_unit_test(test_unread),
        cmocka_unit_test(test_python),       cmocka_unit_test(test_running_trampoline),
        cmocka_unit_test(test_changed_file), cmocka_unit_test(test_truncated_file),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
