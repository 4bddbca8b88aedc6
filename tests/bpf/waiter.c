/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that waits in known functions:
 *   waiter FILE culprit N   N reads of FILE by culprit(), and 10 times as many of this program by
 *                           innocent()
 *   waiter FILE deep N      N reads at the bottom of a deep recursion of deep()
 *   waiter FILE opaque N    N reads by culprit(), called by opaque(), which has no unwind tables
 *                           and whose frame pointer leads to innocent()
 *   waiter FILE execute N   N reads by culprit(); then the process executes sh -c "$THEN"
 *   waiter FILE many N      N reads by each of the functions many_100 to many_249
 *   waiter FILE copy N      N copies of FILE to a temporary file by copy(), a call of sendfile(2)
 *                           each
 *   waiter FILE flush N     N descriptors of the open FILE that flush() makes and closes
 *   waiter FILE release N   flush_last() opens and closes FILE N times
 *   waiter FILE python N    N reads by culprit(), called as CPython calls functions: through three
 *                           trampolines in anonymous memory, with names in /tmp/perf-PID.map
 *   waiter FILE unnamed N   the same without names
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))
#define DEPTH 2000

static const char *path;
static int slow, quick;

static inline __attribute__((always_inline)) ssize_t read_start(int fd)
{
    char bytes[512];

    return pread(fd, bytes, sizeof(bytes), 0);
}

/* What follows a call keeps the compiler from making a jump of it. */
FUNCTION int culprit(void)
{
    return read_start(slow) > 0 ? 1 : 2;
}

FUNCTION int innocent(void)
{
    return read_start(quick) > 0 ? 1 : 2;
}

FUNCTION int deep(int depth)
{
    int below = depth ? deep(depth - 1) : culprit();

    return below > 0 ? below : depth; /* no loop */
}

/* int opaque(void *frame) */
__asm__(".text\n"
        ".globl opaque\n"
        ".type opaque, @function\n"
        "opaque:\n"
        "    push %rbp\n"
        "    mov %rdi, %rbp\n"
        "    call culprit\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size opaque, . - opaque\n");
int opaque(const void *frame);

FUNCTION int wait_in_opaque(void)
{
    const void *end[2] = {NULL, NULL};
    const void *frame[2] = {end, (const char *)innocent + 1};

    return opaque(frame) + (frame[0] == end);
}

FUNCTION int copy(int target)
{
    off_t from = 0;

    return sendfile(target, slow, &from, 8192) > 0 ? 1 : 2;
}

static int copy_to_file(void)
{
    FILE *target = tmpfile();
    int ret;

    (void)posix_fadvise(slow, 0, 0, POSIX_FADV_DONTNEED); /* sendfile(2) uses the page cache */
    ret = target ? copy(fileno(target)) : 0;
    if (target)
        fclose(target);
    return ret;
}

FUNCTION int flush(void)
{
    return close(dup(slow)) == 0 ? 1 : 2;
}

FUNCTION int flush_last(void)
{
    return close(open(path, O_RDONLY)) == 0 ? 1 : 2;
}

/* clang-format off */
#define MANY(n)                   \
    FUNCTION int many_##n(void)   \
    {                             \
        return culprit() + n + 1; \
    }
#define TEN(each, n)                                                                        \
    each(n##0) each(n##1) each(n##2) each(n##3) each(n##4) each(n##5) each(n##6) each(n##7) \
    each(n##8) each(n##9)
#define HUNDRED_AND_FIFTY(each)                                             \
    TEN(each, 10) TEN(each, 11) TEN(each, 12) TEN(each, 13) TEN(each, 14)   \
    TEN(each, 15) TEN(each, 16) TEN(each, 17) TEN(each, 18) TEN(each, 19)   \
    TEN(each, 20) TEN(each, 21) TEN(each, 22) TEN(each, 23) TEN(each, 24)
/* clang-format on */
HUNDRED_AND_FIFTY(MANY)

#define POINTER(n) many_##n,
static int (*const many[])(void) = {HUNDRED_AND_FIFTY(POINTER)};

/* --- trampolines ------------------------------------------------------------------------------ */

/* The code of CPython's Python/asm_trampoline.S, which calls its fourth argument. */
#define TRAMPOLINE_SIZE 16
static const unsigned char trampolines[][TRAMPOLINE_SIZE] = {
    {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3}, /* of 3.12 and 3.13 */
    {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3},                   /* of newer ones */
    {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d,
     0xc3}, /* of those with CET */
};
#define TRAMPOLINES (sizeof(trampolines) / sizeof(*trampolines))

typedef int (*trampoline_f)(void *, void *, int, int (*)(void *, void *, int));
static const char *trampoline_memory;

/* It has a frame pointer, because of the array, without which its caller is not found. */
FUNCTION int evaluate(void *state, void *frame, int level)
{
    volatile char array[level + 1];
    trampoline_f next;

    array[level] = 1;
    if (level == (int)TRAMPOLINES)
        return culprit() + array[level];
    next = (trampoline_f)(uintptr_t)(trampoline_memory + level * TRAMPOLINE_SIZE);
    return next(state, frame, level + 1, evaluate) + array[level];
}

static void write_entry(FILE *map, int level, const char *name)
{
    fprintf(map, "%" PRIxPTR " %x %s\n", (uintptr_t)(trampoline_memory + level * TRAMPOLINE_SIZE),
            TRAMPOLINE_SIZE, name);
}

static char map_path[64];

/* The last entry counts: a process with the same number may have written those before it. */
static int write_map(void)
{
    FILE *map;

    (void)snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
    map = fopen(map_path, "ae");
    if (!map)
        return -1;
    write_entry(map, 0, "py::stale:/old/stale.py");
    write_entry(map, 1, "not of Python");
    write_entry(map, 0, "py::<module>:/usr/lib/outer.py");
    write_entry(map, 1, "py::Loader.load:/usr/lib/loader/__init__.py");
    fputs("fff\n\nzz 10 py::malformed:file\n", map);
    write_entry(map, 2, "py::main.<locals>.<lambda>:<string>");
    return fclose(map);
}

static int make_trampolines(int with_names)
{
    void *memory =
        mmap(NULL, sizeof(trampolines), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return -1;
    trampoline_memory = memcpy(memory, trampolines, sizeof(trampolines));
    if (mprotect(memory, sizeof(trampolines), PROT_READ | PROT_EXEC) < 0)
        return -1;
    return with_names ? write_map() : 0;
}

/* --- the choice ------------------------------------------------------------------------------- */

static int wait_in(const char *what)
{
    int sum = 0;

    if (!strcmp(what, "deep"))
        return deep(DEPTH);
    if (!strcmp(what, "opaque"))
        return wait_in_opaque();
    if (!strcmp(what, "copy"))
        return copy_to_file();
    if (!strcmp(what, "flush"))
        return flush();
    if (!strcmp(what, "release"))
        return flush_last();
    if (trampoline_memory)
        return evaluate(NULL, NULL, 0);
    if (!strcmp(what, "many")) {
        for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
            sum += many[i]();
        return sum;
    }
    for (int i = 0; i < 10 && !strcmp(what, "culprit"); i++)
        sum += innocent();
    return sum + culprit();
}

int main(int argc, char **argv)
{
    int n = argc == 4 ? atoi(argv[3]) : 0, sum = 0;

    path = n ? argv[1] : "";
    slow = open(path, O_RDONLY);
    if (slow < 0)
        perror(path);
    quick = open("/proc/self/exe", O_RDONLY);
    if (quick < 0)
        perror("/proc/self/exe");
    if (slow < 0 || quick < 0) {
        fprintf(stderr,
                "usage: waiter FILE culprit|deep|opaque|execute|many|copy|flush|release|python|"
                "unnamed N\n");
        return 2;
    }
    if ((!strcmp(argv[2], "python") || !strcmp(argv[2], "unnamed")) &&
        make_trampolines(!strcmp(argv[2], "python")) < 0) {
        perror("waiter");
        return 2;
    }
    for (int i = 0; i < n; i++)
        sum += wait_in(argv[2]);
    (void)unlink(map_path);
    if (!strcmp(argv[2], "execute"))
        return execl("/bin/sh", "sh", "-c", getenv("THEN"), NULL);
    return sum > 0 ? 0 : 1;
}
