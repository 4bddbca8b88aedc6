/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kprobe backend with one program for the entry and the return of a function (kprobe.session).
 * The entry decides whether the program also runs at the return; outside of jobs it hardly ever
 * does. Without the work of the programs, a call costs 443 instructions in Linux 7.2 if only the
 * entry runs, 817 with the return, and 1,144 with two programs.
 */
#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/records.h"
#include "bpf/hooks.h"
#include "bpf/pseudo.h"
#include "bpf/features.h"
#include "bpf/span_records.h"
#include "bpf/stack_records.h"
#include "bpf/cast.bpf.h"
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

extern bool bpf_session_is_return(void *ctx) __ksym; /* without the parameter before 7.0 */

/* At an entry, returns 1 if the program need not run at the return. It runs at the first return in
 * any case, to learn the address of the trampoline: the kernel puts that on the stack only after
 * the program has run at the entry. */
SEC("kprobe")
int session_any(struct pt_regs *regs)
{
    __u64 cookie = bpf_get_attach_cookie(regs);

    if (bpf_session_is_return(regs)) {
        kprobe_leave(regs, cookie);
        return 0;
    }
    return kprobe_enter(regs, cookie) || (RETURN_BYTES && !kprobe_trampoline) ? 0 : 1;
}
