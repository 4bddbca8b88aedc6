/* SPDX-License-Identifier: GPL-2.0 */
/* Empty programs at entry and return of the functions that the benchmark calls: the minimum cost of
 * any tracer. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define EMPTY(function)             \
    SEC("fentry/" #function)        \
    int enter_##function(void *ctx) \
    {                               \
        return 0;                   \
    }                               \
    SEC("fexit/" #function)         \
    int leave_##function(void *ctx) \
    {                               \
        return 0;                   \
    }

EMPTY(vfs_read)
/* A stat by path uses both, and walks the path. */
EMPTY(vfs_statx)
EMPTY(vfs_getattr_nosec)

EMPTY(do_filp_open)

/* A close. */
SEC("fentry/security_file_free")
int enter_security_file_free(void *ctx)
{
    return 0;
}

SEC("fentry/terminate_walk")
int enter_terminate_walk(void *ctx)
{
    return 0;
}
