/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcurl for programs that seldom need it: these functions load the library at their first call.
 * It has some thirty libraries of its own, which take most of the time in which `jobio` starts. A
 * program links this instead of libcurl. Without the library they fail with errno ELIBACC.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"

/* Macros that check the number of arguments. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* All functions that are used: type, value if the library is missing, name, parameters, arguments.
 */
#define FUNCTIONS(FUNCTION)                                                                       \
    FUNCTION(CURLcode, CURLE_FAILED_INIT, curl_global_init, (long flags), (flags))                \
    FUNCTION(CURL *, NULL, curl_easy_init, (void), ())                                            \
    FUNCTION(CURLcode, CURLE_FAILED_INIT, curl_easy_perform, (CURL * easy), (easy))               \
    FUNCTION(void, , curl_easy_cleanup, (CURL * easy), (easy))                                    \
    FUNCTION(const char *, "libcurl is missing", curl_easy_strerror, (CURLcode code), (code))     \
    FUNCTION(struct curl_slist *, NULL, curl_slist_append,                                        \
             (struct curl_slist * list, const char *text), (list, text))                          \
    FUNCTION(void, , curl_slist_free_all, (struct curl_slist * list), (list))                     \
    FUNCTION(curl_version_info_data *, NULL, curl_version_info, (CURLversion version), (version)) \
    FUNCTION(time_t, -1, curl_getdate, (const char *text, const time_t *unused), (text, unused))  \
    VARIADIC(FUNCTION, curl_easy_setopt, CURLoption)                                              \
    VARIADIC(FUNCTION, curl_easy_getinfo, CURLINFO)
#define VARIADIC(FUNCTION, name, key) \
    FUNCTION(CURLcode, CURLE_FAILED_INIT, name, (CURL * easy, key what, ...), (easy, what, value))

#define MEMBER(type, missing, name, ...) __typeof__(name) *name;
static struct {
    FUNCTIONS(MEMBER)
} library;

static const struct {
    const char *name;
    size_t at;
} symbols[] = {
#define SYMBOL(type, missing, name, ...) {#name, offsetof(__typeof__(library), name)},
    FUNCTIONS(SYMBOL)};

static bool loaded;

static void load(void)
{
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

    loaded = handle;
    for (size_t i = 0; i < ARRAY_SIZE(symbols) && loaded; i++) {
        void *symbol = dlsym(handle, symbols[i].name);

        *(void **)((char *)&library + symbols[i].at) = symbol;
        loaded = symbol;
    }
}

static bool is_loaded(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load);
    if (!loaded)
        errno = ELIBACC;
    return loaded;
}

#undef VARIADIC
#define VARIADIC(FUNCTION, ...)
#define DEFINE(type, missing, name, parameters, arguments) \
    type name parameters                                   \
    {                                                      \
        if (!is_loaded())                                  \
            return missing;                                \
        return library.name arguments;                     \
    }
FUNCTIONS(DEFINE)

/* The third argument of curl_easy_setopt() is a curl_off_t for the options that say so, otherwise a
 * pointer or a number of its size. */
CURLcode curl_easy_setopt(CURL *easy, CURLoption what, ...)
{
    CURLcode code;
    va_list list;

    if (!is_loaded())
        return CURLE_FAILED_INIT;
    va_start(list, what);
    if (what / 10000 == CURLOPTTYPE_OFF_T / 10000)
        code = library.curl_easy_setopt(easy, what, va_arg(list, curl_off_t));
    else
        code = library.curl_easy_setopt(easy, what, va_arg(list, void *));
    va_end(list);
    return code;
}

_Static_assert(sizeof(long) == sizeof(void *), "the third argument of curl_easy_setopt()");

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO what, ...)
{
    void *value;
    va_list list;

    if (!is_loaded())
        return CURLE_FAILED_INIT;
    va_start(list, what);
    value = va_arg(list, void *);
    va_end(list);
    return library.curl_easy_getinfo(easy, what, value);
}
