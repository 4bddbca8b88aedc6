/* SPDX-License-Identifier: GPL-2.0 */
/* The programs that count the requests to block devices. block.bpf.h implements them. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/features.h"
#include "bpf/block_records.h"
#include "bpf/current.bpf.h"
#include "bpf/who.bpf.h"
#include "bpf/bucket.bpf.h"
#include "bpf/block.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* The arguments of these tracepoints start with the queue on older kernels. The loader chooses one
 * of two programs for each. */
SEC("?raw_tp/block_getrq")
int block_getrq(__u64 *ctx)
{
    return block_submit(ctx[0], false);
}

SEC("?raw_tp/block_getrq")
int block_getrq_1(__u64 *ctx)
{
    return block_submit(ctx[1], false);
}

SEC("?raw_tp/block_bio_frontmerge")
int block_bio_frontmerge(__u64 *ctx)
{
    return block_submit(ctx[0], true);
}

SEC("?raw_tp/block_bio_frontmerge")
int block_bio_frontmerge_2(__u64 *ctx)
{
    return block_submit(ctx[2], true);
}

SEC("?raw_tp/block_rq_merge")
int block_rq_merge(__u64 *ctx)
{
    return block_merge(ctx[0]);
}

SEC("?raw_tp/block_rq_merge")
int block_rq_merge_1(__u64 *ctx)
{
    return block_merge(ctx[1]);
}

SEC("?raw_tp/block_rq_issue")
int block_rq_issue(__u64 *ctx)
{
    return block_issue(ctx[0]);
}

SEC("?raw_tp/block_rq_issue")
int block_rq_issue_1(__u64 *ctx)
{
    return block_issue(ctx[1]);
}

SEC("?raw_tp/block_rq_complete")
int block_rq_complete(__u64 *ctx)
{
    return block_end(ctx[0], (__u32)ctx[1], (__u32)ctx[2]);
}
