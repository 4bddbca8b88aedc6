/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scope-bound ownership: resources that a function still owns when it returns are released. */
#ifndef JOBIO_COMMON_CLEANUP_H
#define JOBIO_COMMON_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(f) __attribute__((cleanup(f)))

static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

static inline void cleanup_closedir(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

#define _free_ CLEANUP(cleanup_free)
#define _close_ CLEANUP(cleanup_close)
#define _fclose_ CLEANUP(cleanup_fclose)
#define _closedir_ CLEANUP(cleanup_closedir)

/* Move a pointer or descriptor out of the variable whose scope would release it. */
#define TAKE_PTR(p)                    \
    ({                                 \
        __typeof__(p) *take_ = &(p);   \
        __typeof__(p) taken_ = *take_; \
        *take_ = NULL;                 \
        taken_;                        \
    })
#define TAKE_FD(fd)          \
    ({                       \
        int *take_ = &(fd);  \
        int taken_ = *take_; \
        *take_ = -1;         \
        taken_;              \
    })

/* Defines the function for `CLEANUP(thing_destroyp)`: calls thing_destroy(*p). */
#define DEFINE_CLEANUP(type, destroy)       \
    static inline void destroy##p(type **p) \
    {                                       \
        destroy(*p);                        \
    }

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
