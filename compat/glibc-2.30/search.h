/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What search.h has since glibc 2.30, for older ones. */
#ifndef JOBIO_COMPAT_SEARCH_H
#define JOBIO_COMPAT_SEARCH_H

#include_next <search.h>

#define twalk_r compat_twalk_r

/* twalk() has no argument for its function. Each file has a copy; walks may be nested. */
static __thread struct {
    void (*action)(const void *node, VISIT visit, void *arg);
    void *arg;
} compat_walk __attribute__((unused));

static inline void compat_visit(const void *node, VISIT visit, int depth)
{
    (void)depth;
    compat_walk.action(node, visit, compat_walk.arg);
}

static inline void compat_twalk_r(const void *root,
                                  void (*action)(const void *node, VISIT visit, void *arg),
                                  void *arg)
{
    __typeof__(compat_walk) outer = compat_walk;

    compat_walk.action = action;
    compat_walk.arg = arg;
    twalk(root, compat_visit);
    compat_walk = outer;
}

#endif
