/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Closes. A close is a request when the last user of a regular file lets it go (__fput): by
 * close(2), dup2(2), munmap(2), execve(2) or the end of a process. So there are as many as
 * successful opens. Before that, each close of a descriptor flushes the file (filp_close,
 * filp_flush), which is where network file systems write back and give up locks. The time of a
 * flush and its error count as those of a close, also if the file keeps other users. If the release
 * follows its flush, the latency of the request includes both. Each of the two has its own stack,
 * so that no time counts twice.
 *
 * The kernel closes files that nobody opened by a path: the layers of overlayfs, shared memory.
 * They are on its own mounts, or not in the kernel's count of files. If a program opens shared
 * memory by a path (/proc/self/fd/N), its close counts where opens give files a way
 * (order.bpf.h), as its open does.
 */
#ifndef JOBIO_BPF_CLOSE_H
#define JOBIO_BPF_CLOSE_H

/* mount: the file's f_path.mnt. */
static __always_inline bool mount_is_internal(const struct vfsmount *mount)
{
    struct mnt_namespace *namespace = NULL;

    bpf_probe_read_kernel(&namespace, sizeof(namespace),
                          (void *)mount + bpf_core_field_offset(struct mount, mnt_ns) -
                              bpf_core_field_offset(struct mount, mnt));
    return (__s64) namespace == -EINVAL; /* MNT_NS_INTERNAL */
}

/* Returns whether a file with this mode was opened for a user. */
static __always_inline bool close_has_user(__u32 mode)
{
    return (mode & (FMODE_OPENED | FMODE_NOACCOUNT)) == FMODE_OPENED;
}

/* Count a flush: its time, its error and its stack. */
static __always_inline void close_flushed(const struct call *call)
{
    struct account_value *value = account_find(call);

    if (!value)
        return;
    if (call->result < 0)
        account_error(call, value);
    if (!call_is_timed(call))
        return;
    wait_add(call->wait, call->time_ns, value);
    raise_to(&value->max_ns, call->time_ns);
    account_stack(call);
}

/* Count a release that followed a flush of flush_ns, which has been counted; 0: none. */
static __always_inline void close_released(const struct call *call, __u64 flush_ns)
{
    struct account_value *value = account_find(call);
    __u64 time_ns = call->time_ns + flush_ns;

    if (!value)
        return;
    add(&value->requests, 1);
    if (call->async)
        add_u32(&value->async_requests);
    account_span(call, time_ns);
    if (!call_is_timed(call))
        return;
    wait_add(call->wait, call->time_ns, value);
    raise_to(&value->max_ns, time_ns);
    add_u32(&value->latency[bucket_of(time_ns, 7)]);
}

#endif
