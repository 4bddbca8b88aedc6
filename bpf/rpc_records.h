/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and values of the maps of the RPC programs, shared with user space. jobiod pins the maps and
 * the programs, too, under their names, so a change has the rules of bpf/records.h. Versions that
 * do not know them leave them alone.
 */
#ifndef JOBIO_BPF_RPC_RECORDS_H
#define JOBIO_BPF_RPC_RECORDS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "common/rpc_class.h"

/* A counter takes 192 bytes with its header: 6.3 MiB, 9.1 MiB with the other maps. They are
 * allocated when the kernel's NFS client has been loaded. The elements of `rpc_before` are
 * allocated when they are needed, at most 6.3 MiB. */
#define RPC_MAX_COUNTERS 32768
#define RPC_MAX_CLIENTS 4096
#define RPC_MAX_TASKS 16384

/* Members of structs in modules, which the loader looks up. */
#define RPC_MEMBERS(X)                                     \
    X(task_client, rpc_task, tk_client, 8)                 \
    X(task_flags, rpc_task, tk_flags, 2)                   \
    X(task_status, rpc_task, tk_status, 4)                 \
    X(task_start, rpc_task, tk_start, 8)                   \
    X(task_request, rpc_task, tk_rqstp, 8)                 \
    X(task_message, rpc_task, tk_msg, 0)                   \
    X(message_procedure, rpc_message, rpc_proc, 8)         \
    X(procedure_name, rpc_procinfo, p_name, 8)             \
    X(procedure_number, rpc_procinfo, p_statidx, 4)        \
    X(request_sent, rpc_rqst, rq_xmit_bytes_sent, 8)       \
    X(request_received, rpc_rqst, rq_reply_bytes_recvd, 8) \
    X(request_transmissions, rpc_rqst, rq_ntrans, 4)       \
    X(request_sent_at, rpc_rqst, rq_xtime, 8)              \
    X(request_server_time, rpc_rqst, rq_rtt, 8)            \
    X(client_program, rpc_clnt, cl_prog, 4)                \
    X(client_version, rpc_clnt, cl_vers, 4)                \
    X(server_client, nfs_server, client, 8)

/* Their offsets. */
#define RPC_OFFSET(name, type, member, size) __u16 name;
struct rpc_offsets {
    RPC_MEMBERS(RPC_OFFSET)
};
#undef RPC_OFFSET

/* Submitters that are not a step. */
#define RPC_BY_KERNEL 0          /* a kernel thread */
#define RPC_BY_OTHER 0xffffffffu /* a process outside of all steps */

/* Maps `rpc_counters` of steps and `rpc_shared` of RPC_BY_KERNEL, hashes. */
struct rpc_counter_key {
    __u32 step;
    __u8 version;   /* of NFS */
    __u8 procedure; /* its number, which differs between kernels */
    __u8 pad[2];
    __u64 client; /* address of the struct rpc_clnt: that of one mounted file system */
    __u64 born;   /* rpc_client_record.born, because addresses are reused */
};

#define RPC_SUM_MEMBER(member) __u64 member;
struct rpc_counter_value {
    RPC_SUMS(RPC_SUM_MEMBER)
    __u32 dev;   /* s_dev of the file system; 0: not known when the last request ended */
    __u32 ended; /* generation_record.ended of the s_dev */
    char name[24];
};
#undef RPC_SUM_MEMBER

/* Map `rpc_steps`, a hash: step -> since when its requests are counted, for a later process. Map
 * `rpc_before`, a hash: the elements of `rpc_shared` when the step started, with its number in the
 * key. They are complete if the step is in `rpc_steps`. */
struct rpc_step_record {
    __u64 lost; /* rpc_lost when it started */
    __u32 late; /* it was running when the programs were attached, or when they were taken over */
    __u32 pad;
};

/* Map `rpc_clients`, a hash: address of a struct rpc_clnt -> the file system. */
struct rpc_client_record {
    __u64 born; /* when it was first seen, CLOCK_MONOTONIC */
    __u32 dev;  /* 0: not known yet */
    __u32 ended;
};

#endif
