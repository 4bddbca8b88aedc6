/* SPDX-License-Identifier: GPL-2.0 */
/* All that the programs of the fentry backend are made of; read it in this order: current, who,
 * span, memory, chain, generation, order, bucket, users, new_mount, span_request, stack, counters,
 * errno, account, task, fill, lookup, call, leave, walk; transfer, async, cache, throttle, close,
 * release, exit. */
#ifndef JOBIO_BPF_JOBIO_H
#define JOBIO_BPF_JOBIO_H

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
#include "bpf/task.bpf.h"
#include "bpf/fill.bpf.h"
#include "bpf/lookup.bpf.h"
#include "bpf/call.bpf.h"
#include "bpf/leave.bpf.h"
#include "bpf/walk.bpf.h"
#include "bpf/transfer.bpf.h"
#include "bpf/async.bpf.h"
#include "bpf/cache.bpf.h"
#include "bpf/throttle.bpf.h"
#include "bpf/throttle_stage.bpf.h"
#include "bpf/close.bpf.h"
#include "bpf/release.bpf.h"
#include "bpf/saved_map.bpf.h"
#include "bpf/exit.bpf.h"

#endif
