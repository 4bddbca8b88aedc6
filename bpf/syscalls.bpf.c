/* SPDX-License-Identifier: GPL-2.0 */
/* The programs of the system call backend: a separate object that uses the same maps. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/pseudo.h"
#include "bpf/syscalls.h"
#include "bpf/features.h"
#include "bpf/span_records.h"
#include "bpf/stack_records.h"
#include "bpf/current.bpf.h"
#include "bpf/who.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/memory.bpf.h"
#include "bpf/chain.bpf.h"
#include "bpf/generation.bpf.h"
#include "bpf/order.bpf.h"
#include "bpf/share.bpf.h"
#include "bpf/bucket.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/users.bpf.h"
#include "bpf/new_mount.bpf.h"
#include "bpf/span_request.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/hint.bpf.h"
#include "bpf/counters.bpf.h"
#include "bpf/errno.bpf.h"
#include "bpf/account.bpf.h"
#include "bpf/saved_map.bpf.h"
#include "bpf/saved.bpf.h"
#include "bpf/close.bpf.h"
#include "bpf/syscalls.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sys_enter")
int enter_syscall(__u64 *ctx)
{
    return syscall_enter((struct pt_regs *)ctx[0], ctx[1]);
}

SEC("tp_btf/sys_exit")
int leave_syscall(__u64 *ctx)
{
    return syscall_leave((struct pt_regs *)ctx[0], ctx[1]);
}
