/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports the mount of a super block that a step uses for the first time: its mount point in the
 * namespace of the task, as /proc/PID/mountinfo would show it. A mount may be gone before jobiod
 * reads that table. Mounts are not locked: a table that changes meanwhile gives no name or, as for
 * jobiod, that of one side of the change.
 */
#ifndef JOBIO_BPF_NEW_MOUNT_H
#define JOBIO_BPF_NEW_MOUNT_H

/* Mounts of a super block to look at, in all namespaces. */
#define NEW_MOUNT_SEARCH 8

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, JOBIO_NEW_MOUNTS_BYTES);
} new_mounts SEC(".maps");

struct new_mount_slot new_mount_slots[NEW_MOUNT_SLOTS] SEC(".data.new_mounts") = {};

/* The slots in use: their task alone can insert their number. If the kernel refuses to delete it,
 * the slot is not used again. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, NEW_MOUNT_SLOTS);
    __type(key, __u32);
    __type(value, __u32);
} new_mount_locks SEC(".maps");

static __always_inline struct new_mount_slot *new_mount_slot(__u32 at)
{
    return &new_mount_slots[at % NEW_MOUNT_SLOTS];
}

/* Returns the address of the mount after `address`, 0: of the first one; 0 if there is none. Not
 * inlined: the compiler would move the offsets of both kinds of kernels in front of the loop, and
 * the verifier refuses those that this kernel does not have. */
__noinline __u64 new_mount_next(__u64 super, __u64 address)
{
    struct super_block *sb = (struct super_block *)super;
    struct super_block___list *list = (struct super_block___list *)sb;
    struct mount *mount = (struct mount *)address;
    struct list_head *next;
    __u64 head, offset;

    if (bpf_core_field_exists(struct mount___chain, mnt_next_for_sb))
        return (__u64)(mount ? BPF_CORE_READ((struct mount___chain *)mount, mnt_next_for_sb)
                             : BPF_CORE_READ((struct super_block___chain *)sb, s_mounts));
    offset = bpf_core_field_offset(struct mount___list, mnt_instance);
    head = (__u64)sb + bpf_core_field_offset(struct super_block___list, s_mounts);
    next = mount ? BPF_CORE_READ((struct mount___list *)mount, mnt_instance.next)
                 : BPF_CORE_READ(list, s_mounts.next);
    return next && (__u64)next != head ? (__u64)next - offset : 0;
}

/* Returns the address of a mount of the super block in this namespace, of its root if there is one;
 * 0 if there is none. Inlined: the calls that lead here have all 8 frames that the verifier allows.
 */
static __always_inline __u64 new_mount_find(__u64 super, __u64 space)
{
    __u64 root = (__u64)BPF_CORE_READ((struct super_block *)super, s_root), address = 0, first = 0;
    struct mount *mount;

    for (int i = 0; i < NEW_MOUNT_SEARCH; i++) {
        address = new_mount_next(super, address);
        mount = (struct mount *)address;
        if (!address)
            break;
        if ((__u64)BPF_CORE_READ(mount, mnt_ns) != space)
            continue;
        if ((__u64)BPF_CORE_READ(mount, mnt.mnt_root) == root)
            return address;
        first = first ?: address;
    }
    return first;
}

/* Returns 0 if the source does not fit. */
__noinline int new_mount_start(__u32 at, __u64 super, __u64 address)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct super_block *sb = (struct super_block *)super;
    struct new_mount_slot *slot = new_mount_slot(at);
    struct mount *mount = (struct mount *)address;

    slot->mount = address;
    slot->dentry = (__u64)BPF_CORE_READ(mount, mnt.mnt_root);
    slot->root = (__u64)BPF_CORE_READ(task, fs, root.mnt);
    slot->root_dentry = (__u64)BPF_CORE_READ(task, fs, root.dentry);
    slot->seen.space = BPF_CORE_READ(mount, mnt_ns, ns.inum);
    slot->seen.length = 0;
    slot->seen.root = NEW_MOUNT_NO_ROOT;
    slot->seen.found = 0;
    slot->seen.subtype[0] = 0;
    slot->seen.source[0] = 0;
    bpf_probe_read_kernel_str(slot->seen.subtype, NEW_MOUNT_SUBTYPE, BPF_CORE_READ(sb, s_subtype));
    return bpf_probe_read_kernel_str(slot->seen.source, NEW_MOUNT_SOURCE,
                                     BPF_CORE_READ(mount, mnt_devname)) < NEW_MOUNT_SOURCE;
}

/* Returns false if it does not fit. */
static __always_inline bool new_mount_put_name(struct new_mount_slot *slot, struct dentry *dentry)
{
    __u32 length = slot->seen.length;
    long n;

    if (length >= NEW_MOUNT_PATH)
        return false;
    n = bpf_probe_read_kernel_str(slot->seen.path + length, NEW_MOUNT_NAME,
                                  BPF_CORE_READ(dentry, d_name.name));
    if (n <= 1)
        return false;
    slot->seen.length = length + n;
    return true;
}

/* One step up. Returns 0 at the end. */
__noinline int new_mount_step(__u32 at)
{
    struct new_mount_slot *slot = new_mount_slot(at);
    struct dentry *dentry = (struct dentry *)slot->dentry;
    struct mount *mount = (struct mount *)slot->mount, *parent;
    __u64 mnt = slot->mount + bpf_core_field_offset(struct mount, mnt);

    if (mnt == slot->root && slot->dentry == slot->root_dentry)
        slot->seen.root = slot->seen.length;
    if (dentry != BPF_CORE_READ(mount, mnt.mnt_root)) {
        slot->dentry = (__u64)BPF_CORE_READ(dentry, d_parent);
        return new_mount_put_name(slot, dentry);
    }
    parent = BPF_CORE_READ(mount, mnt_parent);
    slot->seen.found = parent == mount;
    slot->dentry = (__u64)BPF_CORE_READ(mount, mnt_mountpoint);
    slot->mount = (__u64)parent;
    return parent != mount;
}

/* Returns 0 if the ring buffer is full. */
__noinline int new_mount_send(__u32 at, __u64 step, __u64 where)
{
    struct new_mount_slot *slot = new_mount_slot(at);
    struct new_mount_record *to = bpf_ringbuf_reserve(&new_mounts, sizeof(*to), 0);

    if (!to)
        return 0;
    bpf_probe_read_kernel(to, sizeof(*to), &slot->seen);
    to->key = (struct mount_key){.step = step, .dev = where, .generation = where >> 32};
    bpf_ringbuf_submit(to, 0);
    return 1;
}

/* Report the mount with its name. Returns 0 if there is none. */
__noinline int new_mount_report(__u64 super, __u64 step, __u64 where)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    __u64 space = (__u64)BPF_CORE_READ(task, nsproxy, mnt_ns);
    __u32 at = (__u32)bpf_get_current_pid_tgid() % NEW_MOUNT_SLOTS;
    __u64 mount = space ? new_mount_find(super, space) : 0;
    int sent = 0;

    if (!mount || bpf_map_update_elem(&new_mount_locks, &at, &at, BPF_NOEXIST))
        return 0;
    if (new_mount_start(at, super, mount)) {
        for (int i = 0; i < NEW_MOUNT_STEPS; i++)
            if (!new_mount_step(at))
                break;
        sent = new_mount_send(at, step, where);
    }
    bpf_map_delete_elem(&new_mount_locks, &at);
    return sent;
}

#endif
