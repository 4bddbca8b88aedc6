/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is missing from an account, by cause. */
#ifndef JOBIO_COMMON_COMPLETENESS_H
#define JOBIO_COMMON_COMPLETENESS_H

#include <stddef.h>
#include <stdint.h>

/* Why an account is incomplete. The unit of `count` (events, steps, bytes) depends on the cause. */
struct incomplete {
    char *cause;    /* owned: "map-full", "node-not-heard", "began-untracked", ... */
    uint64_t count; /* how often */
    uint64_t ops;   /* bit 1 << io_op: the affected operations; 0: all */
};

struct completeness {
    uint64_t lost; /* events seen but not accounted */
    struct incomplete *items;
    size_t n;
};

/* Add `count` and `ops` to the entry of the cause; there is one entry per cause. Sums saturate at
 * UINT64_MAX. 0 or -ENOMEM. */
int completeness_add(struct completeness *c, const char *cause, uint64_t count, uint64_t ops);
int completeness_merge(struct completeness *to, const struct completeness *from);
/* ret = a + b; ret is written only on success. 0 or -ENOMEM. */
int completeness_union(const struct completeness *a, const struct completeness *b,
                       struct completeness *ret);
void completeness_clear(struct completeness *c);

#endif
