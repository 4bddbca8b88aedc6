/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts the requests (RPCs) of the NFS client, at the place where the kernel adds them to
 * /proc/self/mountstats. A synchronous request ends in the task that has submitted it, an
 * asynchronous one in a kernel thread: `rpc_tasks` has its submitter.
 *
 * Raw tracepoints, because types of modules are only readable with CAP_SYS_ADMIN. The loader finds
 * the offsets of the members.
 */
#ifndef JOBIO_BPF_RPC_H
#define JOBIO_BPF_RPC_H

#define NFS_PROGRAM 100003
#define RPC_TASK_ASYNC 1

const volatile struct rpc_offsets offsets = {};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, RPC_MAX_COUNTERS);
    __type(key, struct rpc_counter_key);
    __type(value, struct rpc_counter_value);
} rpc_counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, RPC_MAX_CLIENTS);
    __type(key, struct rpc_counter_key);
    __type(value, struct rpc_counter_value);
} rpc_shared SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, RPC_MAX_CLIENTS);
    __type(key, __u64);
    __type(value, struct rpc_client_record);
} rpc_clients SEC(".maps");

/* Address of a struct rpc_task of an asynchronous request in progress -> its submitter, unless that
 * is a kernel thread. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, RPC_MAX_TASKS);
    __type(key, __u64);
    __type(value, __u32);
} rpc_tasks SEC(".maps");

/* These two are of user space alone. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, JOBIO_MAX_STEPS);
    __type(key, __u32);
    __type(value, struct rpc_step_record);
} rpc_steps SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, RPC_MAX_COUNTERS);
    __type(key, struct rpc_counter_key);
    __type(value, struct rpc_counter_value);
} rpc_before SEC(".maps");

/* Requests without room for their submitter, their client or their counters. */
__u64 rpc_lost SEC(".data.rpc_lost") = 0;

/* Initial value of an element. */
static const struct rpc_counter_value rpc_no_calls;

#define RPC_MEMBER(type, base, member)                                                     \
    ({                                                                                     \
        type value_ = 0;                                                                   \
        bpf_probe_read_kernel(&value_, sizeof(value_), (void *)((base) + offsets.member)); \
        value_;                                                                            \
    })

static __always_inline void rpc_add(__u64 *counter, __u64 n)
{
    __sync_fetch_and_add(counter, n);
}

/* Returns the step that the current task belongs to, or RPC_BY_KERNEL, RPC_BY_OTHER. */
static __always_inline __u32 rpc_submitter(void)
{
    struct task_struct *current = current_task();
    struct who who = {};

    if (TASK_READ(current, flags) & PF_KTHREAD)
        return RPC_BY_KERNEL;
    if (who_has_no_steps() || who_is_outside() || !who_find(&who, current))
        return RPC_BY_OTHER;
    return who_number(who.key);
}

static __always_inline bool rpc_is_nfs(__u64 client)
{
    return client && RPC_MEMBER(__u32, client, client_program) == NFS_PROGRAM;
}

static __always_inline bool rpc_is_async(__u64 task)
{
    return RPC_MEMBER(__u16, task, task_flags) & RPC_TASK_ASYNC;
}

/* In the context of the submitter. */
static __always_inline int rpc_start(__u64 task)
{
    __u32 submitter;

    if (!rpc_is_async(task) || !rpc_is_nfs(RPC_MEMBER(__u64, task, task_client)))
        return 0;
    submitter = rpc_submitter();
    if (submitter == RPC_BY_KERNEL)
        bpf_map_delete_elem(&rpc_tasks, &task); /* of an earlier request at this address */
    else if (bpf_map_update_elem(&rpc_tasks, &task, &submitter, BPF_ANY))
        rpc_add(&rpc_lost, 1);
    return 0;
}

static __always_inline int rpc_release(__u64 task)
{
    bpf_map_delete_elem(&rpc_tasks, &task);
    return 0;
}

static __always_inline struct rpc_client_record *rpc_client_get(__u64 client)
{
    struct rpc_client_record *record = bpf_map_lookup_elem(&rpc_clients, &client);
    struct rpc_client_record fresh = {.born = bpf_ktime_get_ns()};

    if (record)
        return record;
    bpf_map_update_elem(&rpc_clients, &client, &fresh, BPF_NOEXIST);
    return bpf_map_lookup_elem(&rpc_clients, &client);
}

static __always_inline void rpc_set_mount(struct rpc_counter_value *value,
                                          const struct rpc_client_record *client)
{
    if (value->dev || !client->dev)
        return;
    value->ended = client->ended;
    value->dev = client->dev;
}

/* Returns the counters of the key, which are created if needed. NULL: there is no room. */
static __always_inline struct rpc_counter_value *
rpc_counter_get(void *map, const struct rpc_counter_key *key, __u64 procedure)
{
    struct rpc_counter_value *value = bpf_map_lookup_elem(map, key);
    __u64 name;

    if (value)
        return value;
    bpf_map_update_elem(map, key, &rpc_no_calls, BPF_NOEXIST);
    value = bpf_map_lookup_elem(map, key);
    name = value ? RPC_MEMBER(__u64, procedure, procedure_name) : 0;
    if (name)
        bpf_probe_read_kernel_str(value->name, sizeof(value->name), (void *)name);
    return value;
}

static __always_inline void rpc_count(struct rpc_counter_value *value, __u64 task, __u64 queued_ns,
                                      __u64 server_ns, __u64 time_ns)
{
    __u64 request = RPC_MEMBER(__u64, task, task_request);
    __s32 transmissions = RPC_MEMBER(__s32, request, request_transmissions);

    if (RPC_MEMBER(__s32, task, task_status) < 0)
        rpc_add(&value->errors, 1);
    if (transmissions > 1)
        rpc_add(&value->retransmissions, transmissions - 1);
    rpc_add(&value->sent_bytes, RPC_MEMBER(__u64, request, request_sent));
    rpc_add(&value->received_bytes, RPC_MEMBER(__u64, request, request_received));
    rpc_add(&value->queued_ns, queued_ns);
    rpc_add(&value->server_ns, server_ns);
    rpc_add(&value->time_ns, time_ns);
    rpc_add(&value->calls, 1);
}

static __always_inline __u32 rpc_submitter_of(__u64 task)
{
    __u32 *submitter;

    if (!rpc_is_async(task))
        return rpc_submitter();
    submitter = bpf_map_lookup_elem(&rpc_tasks, &task);
    return submitter ? *submitter : RPC_BY_KERNEL;
}

/* rpc_stats_latency(task, backlog, rtt, execute): the request has ended. */
static __always_inline int rpc_end(__u64 task, __u64 queued_ns, __u64 server_ns, __u64 time_ns)
{
    __u64 client = RPC_MEMBER(__u64, task, task_client), procedure;
    struct rpc_counter_key key = {.client = client};
    struct rpc_counter_value *value;
    struct rpc_client_record *record;

    if (!rpc_is_nfs(client))
        return 0;
    key.step = rpc_submitter_of(task);
    if (key.step == RPC_BY_OTHER)
        return 0;
    record = rpc_client_get(client);
    if (!record) {
        rpc_add(&rpc_lost, 1);
        return 0;
    }
    procedure = RPC_MEMBER(__u64, task + offsets.task_message, message_procedure);
    key.born = record->born;
    key.version = RPC_MEMBER(__u32, client, client_version);
    key.procedure = RPC_MEMBER(__u32, procedure, procedure_number);
    if (key.step == RPC_BY_KERNEL)
        value = rpc_counter_get(&rpc_shared, &key, procedure);
    else
        value = rpc_counter_get(&rpc_counters, &key, procedure);
    if (!value) {
        rpc_add(&rpc_lost, 1);
        return 0;
    }
    rpc_set_mount(value, record);
    rpc_count(value, task, queued_ns, server_ns, time_ns);
    return 0;
}

/* rpc_exit_task(task): the same, if the task has sent a request. */
static __always_inline int rpc_exit(__u64 task)
{
    __u64 request = RPC_MEMBER(__u64, task, task_request), now = bpf_ktime_get_ns();
    __u64 start, sent_at;

    if (!request)
        return 0;
    start = RPC_MEMBER(__u64, task, task_start);
    sent_at = RPC_MEMBER(__u64, request, request_sent_at);
    return rpc_end(task, sent_at ? sent_at - start : 0,
                   RPC_MEMBER(__u64, request, request_server_time), now - start);
}

/* An inode of the NFS client shows which file system its struct rpc_clnt belongs to. */
static __always_inline int rpc_learn(const struct inode *inode)
{
    const struct generation_record *generation;
    struct rpc_client_record *record;
    struct super_block *sb;
    __u64 client;

    if (who_has_no_steps())
        return 0;
    sb = BPF_CORE_READ(inode, i_sb);
    client = RPC_MEMBER(__u64, (__u64)BPF_CORE_READ(sb, s_fs_info), server_client);
    record = client ? rpc_client_get(client) : NULL;
    if (!record || record->dev)
        return 0;
    generation = generation_find(BPF_CORE_READ(sb, s_dev));
    record->ended = generation ? generation->ended : 0;
    record->dev = BPF_CORE_READ(sb, s_dev);
    return 0;
}

/* The same when the current task itself looks at a path; often, so only tasks in steps do it. */
static __always_inline int rpc_learn_path(const struct inode *inode)
{
    return who_has_no_steps() || who_is_outside() ? 0 : rpc_learn(inode);
}

static __always_inline int rpc_forget(__u64 client)
{
    bpf_map_delete_elem(&rpc_clients, &client);
    return 0;
}

#endif
