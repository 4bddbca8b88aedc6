/* SPDX-License-Identifier: GPL-2.0 */
/* The programs that count calls of MPI-IO. mpi.bpf.h implements them. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/features.h"
#include "bpf/span_records.h"
#include "bpf/mpi_functions.h"
#include "bpf/mpi_records.h"
#include "bpf/current.bpf.h"
#include "bpf/who.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/memory.bpf.h"
#include "bpf/bucket.bpf.h"
#include "bpf/mpi.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Attached to each function of each library. The cookie is its number and the layout of the types.
 */
SEC("uprobe")
int mpi_enter(struct pt_regs *ctx)
{
    return mpi_call_enter(ctx);
}

SEC("uretprobe")
int mpi_leave(struct pt_regs *ctx)
{
    return mpi_call_leave(ctx);
}

SEC("tp_btf/sched_process_exec")
int mpi_exec(void *ctx)
{
    return mpi_announce();
}
