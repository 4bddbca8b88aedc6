/* SPDX-License-Identifier: GPL-2.0 */
/* The programs of the kprobe backend: a separate object that uses the same maps. */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/hooks.h"
#include "bpf/pseudo.h"
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
#include "bpf/throttle.bpf.h"
#include "bpf/lookup.bpf.h"
#include "bpf/kprobes.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("kprobe")
int enter_any(struct pt_regs *regs)
{
    kprobe_enter(regs, bpf_get_attach_cookie(regs));
    return 0;
}

SEC("kretprobe")
int leave_any(struct pt_regs *regs)
{
    return kprobe_leave(regs, bpf_get_attach_cookie(regs));
}
