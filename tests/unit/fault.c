/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include "tests/unit/fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

struct json_object;
struct json_tokener;

/* For what the runtimes of sanitizers call before they are ready. */
#define UNSANITIZED __attribute__((no_sanitize("address", "thread", "undefined")))

static int armed; /* enum fault_kind */
static long blocks;
static long *left; /* shared with the children */
static __thread unsigned paused;
static __thread bool full; /* the next write() fails */

void fault_pause(void)
{
    paused++;
}

void fault_resume(void)
{
    paused--;
}

static void trace(void)
{
    void *frames[24];
    int n;

    if (!getenv("FAULT_TRACE"))
        return;
    paused++;
    n = backtrace(frames, 24);
    backtrace_symbols_fd(frames, n, STDERR_FILENO);
    paused--;
}

UNSANITIZED bool fault_is_due(enum fault_kind kind)
{
    if (paused || __atomic_load_n(&armed, __ATOMIC_RELAXED) != (int)kind ||
        __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED) != 0)
        return false;
    trace();
    return true;
}

void fault_arm(enum fault_kind kind, unsigned n)
{
    if (!left)
        left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(left != MAP_FAILED);
    __atomic_store_n(left, n, __ATOMIC_RELAXED);
    __atomic_store_n(&armed, kind, __ATOMIC_SEQ_CST);
}

bool fault_disarm(void)
{
    __atomic_store_n(&armed, FAULT_NONE, __ATOMIC_SEQ_CST);
    full = false;
    return __atomic_load_n(left, __ATOMIC_RELAXED) <= 0;
}

/* --- memory -----------------------------------------------------------------------------------
 * glibc allows a program to define malloc() and its family, and then calls these itself. */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REAL(name) __interceptor_##name
#define COUNT(n)
#else
#define REAL(name) __libc_##name
#define COUNT(n) (void)__atomic_add_fetch(&blocks, (n), __ATOMIC_RELAXED)
#endif

extern void *REAL(malloc)(size_t size);
extern void *REAL(calloc)(size_t n, size_t size);
extern void *REAL(realloc)(void *p, size_t size);
extern void *REAL(memalign)(size_t alignment, size_t size);
extern void REAL(free)(void *p);

UNSANITIZED static bool is_denied(void)
{
    if (!fault_is_due(FAULT_MEMORY))
        return false;
    errno = ENOMEM;
    return true;
}

UNSANITIZED static void *counted(void *p)
{
    COUNT(p != NULL);
    return p;
}

UNSANITIZED void *malloc(size_t size)
{
    return is_denied() ? NULL : counted(REAL(malloc)(size));
}

UNSANITIZED void *calloc(size_t n, size_t size)
{
    return is_denied() ? NULL : counted(REAL(calloc)(n, size));
}

UNSANITIZED void *realloc(void *p, size_t size)
{
    if (!p)
        return malloc(size);
    if (is_denied())
        return NULL;
    COUNT(size ? 0 : -1);
    return REAL(realloc)(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}

UNSANITIZED void *memalign(size_t alignment, size_t size)
{
    return is_denied() ? NULL : counted(REAL(memalign)(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *p = memalign(alignment, size);

    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}

/* Freed memory is overwritten, so that a use of it shows. */
UNSANITIZED void free(void *p)
{
    int saved = errno;

    if (!p)
        return;
    COUNT(-1);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    (void)memset(p, 0xdb, malloc_usable_size(p));
#endif
    REAL(free)(p);
    errno = saved;
}

/* A new thread of a program with a sanitizer calls this, and cannot do without it. */
UNSANITIZED int pthread_getattr_np(pthread_t thread, pthread_attr_t *ret)
{
    int r;

    paused++;
    r = ((__typeof__(&pthread_getattr_np))dlsym(RTLD_NEXT, "pthread_getattr_np"))(thread, ret);
    paused--;
    return r;
}

long fault_blocks(void)
{
    return __atomic_load_n(&blocks, __ATOMIC_RELAXED);
}

/* --- files ------------------------------------------------------------------------------------ */

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

UNSANITIZED static bool fails(int code)
{
    if (!fault_is_due(FAULT_FILE))
        return false;
    errno = code;
    return true;
}

static mode_t mode_of(int flags, va_list ap)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

UNSANITIZED int open(const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return fails(EMFILE) ? -1 : NEXT(open)(path, flags, mode);
}

UNSANITIZED int openat(int dir, const char *path, int flags, ...)
{
    va_list ap;
    mode_t mode;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return fails(EMFILE) ? -1 : NEXT(openat)(dir, path, flags, mode);
}

/* The disk is full: one half fits, and the next call fails. */
UNSANITIZED ssize_t write(int fd, const void *data, size_t n)
{
    ssize_t (*real)(int, const void *, size_t) = NEXT(write);

    if (full) {
        full = false;
        errno = ENOSPC;
        return -1;
    }
    if (!fails(ENOSPC))
        return real(fd, data, n);
    full = n > 1;
    return full ? real(fd, data, n / 2) : -1;
}

#define CALL(type, failed, code, name, parameters, ...)                \
    UNSANITIZED type name parameters                                   \
    {                                                                  \
        return fails(code) ? (type)(failed) : NEXT(name)(__VA_ARGS__); \
    }
CALL(int, -1, ENOSPC, rename, (const char *from, const char *to), from, to)
CALL(int, -1, ENOSPC, renameat, (int from, const char *a, int to, const char *b), from, a, to, b)
CALL(int, -1, ENOSPC, mkdir, (const char *path, mode_t mode), path, mode)
CALL(int, -1, ENOSPC, mkdirat, (int dir, const char *path, mode_t mode), dir, path, mode)
CALL(int, -1, EIO, fsync, (int fd), fd)
CALL(int, -1, EIO, unlink, (const char *path), path)
CALL(FILE *, NULL, EMFILE, fopen, (const char *path, const char *mode), path, mode)
CALL(FILE *, NULL, ENOMEM, fdopen, (int fd, const char *mode), fd, mode)
CALL(DIR *, NULL, EMFILE, opendir, (const char *path), path)
CALL(DIR *, NULL, ENOMEM, fdopendir, (int fd), fd)

/* The stream is closed, but its last bytes were not written. */
int fclose(FILE *stream)
{
    int r = NEXT(fclose)(stream);

    return fails(ENOSPC) ? EOF : r;
}

long fault_descriptors(void)
{
    DIR *list = opendir("/proc/self/fd");
    long n = 0;

    assert_non_null(list);
    while (readdir(list))
        n++;
    closedir(list);
    return n;
}

/* --- json-c -----------------------------------------------------------------------------------
 * Its parser uses the copy of a name without checking it (0.16), so its allocations do not fail. */

struct json_object *json_tokener_parse(const char *text);
struct json_object *json_tokener_parse_ex(struct json_tokener *tokener, const char *text, int n);

#define UNHARMED(name, parameters, ...) \
    struct json_object *name parameters \
    {                                   \
        struct json_object *ret;        \
                                        \
        paused++;                       \
        ret = NEXT(name)(__VA_ARGS__);  \
        paused--;                       \
        return ret;                     \
    }
UNHARMED(json_tokener_parse, (const char *text), text)
UNHARMED(json_tokener_parse_ex, (struct json_tokener * t, const char *text, int n), t, text, n)

/* If the table cannot grow, json-c (0.16) fails and keeps its copy of the key. Here the call fails
 * as a whole, or not at all. */
#define ADD(name, parameters, ...)      \
    int name parameters                 \
    {                                   \
        int r;                          \
                                        \
        if (fault_is_due(FAULT_MEMORY)) \
            return -1;                  \
        paused++;                       \
        r = NEXT(name)(__VA_ARGS__);    \
        paused--;                       \
        return r;                       \
    }
int json_object_object_add(struct json_object *o, const char *key, struct json_object *value);
int json_object_object_add_ex(struct json_object *o, const char *key, struct json_object *value,
                              unsigned flags);

ADD(json_object_object_add, (struct json_object * o, const char *key, struct json_object *value), o,
    key, value)
ADD(json_object_object_add_ex,
    (struct json_object * o, const char *key, struct json_object *value, unsigned flags), o, key,
    value, flags)

/* --- scenarios -------------------------------------------------------------------------------- */

static const char *const kinds[] = {
    [FAULT_MEMORY] = "allocation",
    [FAULT_FILE] = "call on files",
    [FAULT_SQLITE_MEMORY] = "allocation of SQLite",
    [FAULT_SQLITE_IO] = "call of SQLite on files",
    [FAULT_SQLITE_FULL] = "write of SQLite",
};

/* n = 0: no fault. */
static bool run_once(enum fault_kind kind, const struct fault_scenario *s, unsigned n)
{
    struct error error = {.text = ""};
    bool hit = false;
    int r;

    if (n && getenv("FAULT_TRACE"))
        (void)fprintf(stderr, "--- %s: %s %u\n", s->name, kinds[kind], n);
    s->prepare();
    if (n)
        fault_arm(kind, n);
    r = s->run(&error);
    if (n)
        hit = fault_disarm();
    if (r < 0 && !error.text[0])
        print_error("%s: %d without a text\n", s->name, r);
    assert_true(r >= 0 || (hit && error.text[0]));
    s->check(r, hit);
    return hit;
}

void fault_each(enum fault_kind kind, const struct fault_scenario *s, unsigned step)
{
    unsigned failed = 0;
    bool hit = true;

    run_once(kind, s, 0);
    for (unsigned n = 1; hit; n += step) {
        long before = fault_blocks(), open_before = fault_descriptors();

        hit = run_once(kind, s, n);
        failed += hit;
        if (fault_blocks() != before || fault_descriptors() != open_before)
            fail_msg("%s: %s %u: %ld blocks and %ld descriptors leaked", s->name, kinds[kind], n,
                     fault_blocks() - before, fault_descriptors() - open_before);
    }
    print_message("%s: %u times, one %s failed\n", s->name, failed, kinds[kind]);
    assert_true(failed > 0);
}
