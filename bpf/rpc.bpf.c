/* SPDX-License-Identifier: GPL-2.0 */
/* The programs that count the requests of the NFS client. rpc.bpf.h implements them. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/features.h"
#include "bpf/rpc_records.h"
#include "bpf/current.bpf.h"
#include "bpf/who.bpf.h"
#include "bpf/generation.bpf.h"
#include "bpf/rpc.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("?raw_tp/rpc_task_begin")
int rpc_task_begin(__u64 *ctx)
{
    return rpc_start(ctx[0]);
}

SEC("?raw_tp/rpc_stats_latency")
int rpc_stats_latency(__u64 *ctx)
{
    return rpc_end(ctx[0], ctx[1], ctx[2], ctx[3]);
}

/* The same two on rpc_execute() and rpc_exit_task(), for kernels that can preempt programs of
 * tracepoints, but not those of kprobes. */
SEC("?kprobe")
int rpc_execute(struct pt_regs *ctx)
{
    return rpc_start(KERNEL_FIRST(ctx));
}

SEC("?kprobe")
int rpc_exit_task(struct pt_regs *ctx)
{
    return rpc_exit(KERNEL_FIRST(ctx));
}

/* One of these two, on rpc_task_release_client(). A request that is repeated ends several times,
 * but is released once. */
SEC("?kprobe.multi")
int rpc_released_multi(struct pt_regs *ctx)
{
    return rpc_release(KERNEL_FIRST(ctx));
}

SEC("?kprobe")
int rpc_released(struct pt_regs *ctx)
{
    return rpc_release(KERNEL_FIRST(ctx));
}

SEC("raw_tp/rpc_clnt_free")
int rpc_clnt_free(__u64 *ctx)
{
    return rpc_forget(ctx[0]);
}

SEC("raw_tp/nfs_refresh_inode_enter")
int nfs_refresh_inode(__u64 *ctx)
{
    return rpc_learn((const struct inode *)ctx[0]);
}

SEC("raw_tp/nfs_lookup_enter")
int nfs_lookup(__u64 *ctx)
{
    return rpc_learn_path((const struct inode *)ctx[0]);
}

SEC("raw_tp/nfs_access_enter")
int nfs_access(__u64 *ctx)
{
    return rpc_learn_path((const struct inode *)ctx[0]);
}
