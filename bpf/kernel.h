/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel types that the programs read, with only the members they use. The loader relocates
 * every access to the member's offset in the running kernel (CO-RE), so neither a vmlinux.h nor the
 * build host's BTF is needed. Members may be missing here, but must not differ in name or kind.
 */
#ifndef JOBIO_BPF_KERNEL_H
#define JOBIO_BPF_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define NULL ((void *)0)
#define false 0
#define true 1

/* uapi/linux/bpf.h */
enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
    BPF_MAP_TYPE_STACK = 23,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
    BPF_ANY = 0,
    BPF_NOEXIST = 1,
    BPF_F_NO_PREALLOC = 1,
    BPF_F_MMAPABLE = 1024,
    BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
    BPF_RB_NO_WAKEUP = 1,
    BPF_RB_FORCE_WAKEUP = 2,
    BPF_RB_AVAIL_DATA = 0,
    BPF_RB_RING_SIZE = 1,
};

#define PF_EXITING 0x00000004
#define PF_DUMPCORE 0x00000200
#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD 0x00200000
#define EBADF 9
#define EAGAIN 11
#define ENOTDIR 20
#define EINVAL 22
#define ECANCELED 125
#define REQ_F_CQE_SKIP 0x40 /* IOSQE_CQE_SKIP_SUCCESS of the uapi */
#define FMODE_CREATED 0x100000
#define FILE_CREATED 1 /* before 4.19 */
#define FMODE_PATH 0x4000
#define FMODE_OPENED 0x80000
#define FMODE_NOACCOUNT 0x20000000
#define FMODE_BACKING 0x2000000     /* until 6.13: later FMODE_NONOTIFY */
#define FMODE_BACKING_NEW 0x1000000 /* until 6.9 FMODE_DIO_PARALLEL_WRITE */
#if defined(__TARGET_ARCH_arm64)
#define O_DIRECT 0200000
#else
#define O_DIRECT 040000
#endif
#define S_IFMT 0170000
#define S_IFREG 0100000
#define AT_EMPTY_PATH 0x1000
#define O_NONBLOCK 04000
#define O_APPEND 02000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct file_system_type {
    const char *name;
};

struct dentry;
struct mount;

struct list_head {
    struct list_head *next;
};

struct super_block {
    __u32 s_dev;
    unsigned long s_magic;
    struct file_system_type *s_type;
    struct dentry *s_root;
    const char *s_subtype;
    char s_id[32];
    void *s_fs_info;
};

/* The mounts of a super block: a list through mount.mnt_instance, since 6.18 one that ends with
 * NULL. */
struct super_block___list {
    struct list_head s_mounts;
};

struct super_block___chain {
    struct mount *s_mounts;
};

struct inode {
    __u16 i_mode;
    __s64 i_size;
    struct super_block *i_sb;
};

struct qstr {
    const unsigned char *name;
};

struct dentry {
    struct dentry *d_parent;
    struct qstr d_name;
    struct super_block *d_sb;
};

struct vfsmount {
    struct dentry *mnt_root;
    struct super_block *mnt_sb;
};

struct path {
    struct vfsmount *mnt;
    struct dentry *dentry;
};

/* A mounted file system; mnt_ns is MNT_NS_INTERNAL for the kernel's own mounts. */
struct ns_common {
    unsigned int inum;
};

struct mnt_namespace {
    struct ns_common ns;
};

struct mount {
    struct mount *mnt_parent;
    struct dentry *mnt_mountpoint;
    struct vfsmount mnt;
    const char *mnt_devname;
    struct mnt_namespace *mnt_ns;
};

struct mount___list {
    struct list_head mnt_instance;
};

struct mount___chain {
    struct mount *mnt_next_for_sb;
};

struct fs_struct {
    struct path root;
};

struct nsproxy {
    struct mnt_namespace *mnt_ns;
};

struct file_operations {
    int (*flush)(void);
    int (*lock)(void);
};

/* The number of users of an open file: f_count, or since 6.13 f_ref, which is 0 for one user. */
typedef struct {
    __s64 counter;
} atomic64_t;

typedef struct {
    atomic64_t refcnt;
} file_ref_t;

struct file___ref {
    file_ref_t f_ref;
};

struct file {
    __u32 f_mode;
    atomic64_t f_count;
    const struct file_operations *f_op;
    unsigned int f_flags;
    struct inode *f_inode;
    __s64 f_pos;
    struct path f_path;
};

/* A file below an overlay, and the path that the user opened (since 6.6; before, in f_path). */
struct backing_file {
    struct file file;
    struct path user_path;
};

struct vm_area_struct {
    struct file *vm_file;
};

struct vm_fault {
    struct vm_area_struct *vma;
    unsigned long pgoff;
};

struct address_space {
    struct inode *host;
};

struct page {
    struct address_space *mapping;
};

/* Since 5.16. A large folio has its order in _folio_order (up to 6.5) or in the low byte of
 * _flags_1. */
struct folio {
    unsigned long flags;
    struct address_space *mapping;
    unsigned long _flags_1;
};

struct folio___order {
    unsigned char _folio_order;
};

/* Since 6.18. */
typedef struct {
    unsigned long f;
} memdesc_flags_t;

struct folio___memdesc {
    memdesc_flags_t flags;
};

struct filename {
    const char *name;
};

struct open_flags {
    int open_flag;
};

/* A walk along a path. At its end `path` may have been passed on; `inode` is still that of the
 * last object found. It is not set before the walk has started. */
struct nameidata {
    struct path path;
    struct inode *inode;
};

/* Since 5.12; before, vfs_rename takes the dentry itself. */
struct renamedata {
    struct dentry *old_dentry;
};

struct kernfs_node {
    __u64 id;
};

struct cgroup_root;

struct cgroup {
    int level;
    struct kernfs_node *kn;
    struct cgroup_root *root;
    struct cgroup *ancestors[0]; /* since 6.1 */
};

/* Before 7f203bc89eb6 ("cgroup: Replace cgroup->ancestor_ids[] with ->ancestors[]"). */
struct cgroup___ids {
    __u64 ancestor_ids[0];
};

struct cgroup_subsys_state {
    struct cgroup *cgroup;
};

struct blkcg {
    struct cgroup_subsys_state css;
};

struct blkcg_gq {
    struct blkcg *blkcg;
};

struct bio {
    struct bio *bi_next;
    struct blkcg_gq *bi_blkg;
};

struct gendisk {
    int major;
    int first_minor;
    char disk_name[32];
};

struct request_queue {
    struct gendisk *disk;
};

struct request {
    struct request_queue *q;
    unsigned int cmd_flags;
    unsigned int __data_len;
    struct bio *bio;
    struct bio *biotail;
};

/* Before 5.15. */
struct request___disk {
    struct gendisk *rq_disk;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

/* The arguments of a system call, and its number. */
struct pt_regs {
#if defined(__TARGET_ARCH_x86)
    unsigned long di, si, dx, cx, r10, r8, r9, orig_ax, ax, bx, sp, ip;
#define REGS_FIRST(regs) ((regs)->di)
#define REGS_FIRST_32(regs) ((regs)->bx & 0xffffffff)
#define REGS_SECOND(regs) ((regs)->si)
#define REGS_THIRD(regs) ((regs)->dx)
#define REGS_FOURTH(regs) ((regs)->r10)
#define REGS_FIFTH(regs) ((regs)->r8)
#define REGS_SIXTH(regs) ((regs)->r9)
#define REGS_NUMBER(regs) ((regs)->orig_ax)
#define REGS_FIRST_MEMBER di
#define NUMBER_READ 0
#define NUMBER_PREAD 17
#define NUMBER_WRITE 1
#define NUMBER_PWRITE 18
#define REGS_FIRST_32_MEMBER bx
/* Registers at entry and return of a kernel function. */
#define KERNEL_FIRST(regs) ((regs)->di)
#define KERNEL_SECOND(regs) ((regs)->si)
#define KERNEL_THIRD(regs) ((regs)->dx)
#define KERNEL_FOURTH(regs) ((regs)->cx)
#define KERNEL_FIFTH(regs) ((regs)->r8)
#define KERNEL_SIXTH(regs) ((regs)->r9)
#define KERNEL_RESULT(regs) ((regs)->ax)
#define KERNEL_STACK(regs) ((regs)->sp)
#define KERNEL_PLACE(regs) ((regs)->ip)
#define RETURN_BYTES 8 /* the call has pushed the return address on the stack */
#elif defined(__TARGET_ARCH_arm64)
    unsigned long regs[31], orig_x0, sp, pc;
    int syscallno;
#define REGS_FIRST(regs) ((regs)->orig_x0)
#define REGS_FIRST_32(regs) (-1ul)
#define REGS_SECOND(r) ((r)->regs[1])
#define REGS_THIRD(r) ((r)->regs[2])
#define REGS_FOURTH(r) ((r)->regs[3])
#define REGS_FIFTH(r) ((r)->regs[4])
#define REGS_SIXTH(r) ((r)->regs[5])
#define REGS_NUMBER(regs) ((regs)->syscallno)
#define REGS_FIRST_MEMBER orig_x0
#define NUMBER_READ 63
#define NUMBER_PREAD 67
#define NUMBER_WRITE 64
#define NUMBER_PWRITE 68
#define REGS_FIRST_32_MEMBER orig_x0
/* Registers at entry and return of a kernel function. */
#define KERNEL_FIRST(r) ((r)->regs[0])
#define KERNEL_SECOND(r) ((r)->regs[1])
#define KERNEL_THIRD(r) ((r)->regs[2])
#define KERNEL_FOURTH(r) ((r)->regs[3])
#define KERNEL_FIFTH(r) ((r)->regs[4])
#define KERNEL_SIXTH(r) ((r)->regs[5])
#define KERNEL_RESULT(r) ((r)->regs[0])
#define KERNEL_STACK(regs) ((regs)->sp)
#define KERNEL_PLACE(regs) ((regs)->pc)
#define RETURN_BYTES 0
#else
    unsigned long none;
#define REGS_FIRST(regs) (-1ul)
#define REGS_FIRST_32(regs) (-1ul)
#define REGS_SECOND(regs) (-1ul)
#define REGS_THIRD(regs) (-1ul)
#define REGS_FOURTH(regs) (-1ul)
#define REGS_FIFTH(regs) (-1ul)
#define REGS_SIXTH(regs) (-1ul)
#define REGS_NUMBER(regs) (-1ul)
#define REGS_FIRST_MEMBER none
#define NUMBER_READ 0
#define NUMBER_PREAD 0
#define NUMBER_WRITE 0
#define NUMBER_PWRITE 0
#define REGS_FIRST_32_MEMBER none
#define KERNEL_FIRST(regs) 0
#define KERNEL_SECOND(regs) 0
#define KERNEL_THIRD(regs) 0
#define KERNEL_FOURTH(regs) 0
#define KERNEL_FIFTH(regs) 0
#define KERNEL_SIXTH(regs) 0
#define KERNEL_RESULT(regs) 0
#define KERNEL_STACK(regs) 0
#define KERNEL_PLACE(regs) 0
#define RETURN_BYTES 0
#endif
};

/* Tells whether a task is in a 32-bit system call. */
struct thread_info {
    unsigned long flags;
#if defined(__TARGET_ARCH_x86)
    __u32 status;
#define TASK_IS_32_BIT(task) ((task)->thread_info.status & 2) /* TS_COMPAT */
#elif defined(__TARGET_ARCH_arm64)
#define TASK_IS_32_BIT(task) ((task)->thread_info.flags & 1ul << 22) /* TIF_32BIT */
#else
#define TASK_IS_32_BIT(task) true
#endif
};

struct bpf_local_storage;

struct css_set {
    struct cgroup_subsys_state *subsys[1];
    struct cgroup *dfl_cgrp;
};

struct mm_struct {
    unsigned long start_stack;
};

typedef struct {
    __u32 val;
} kuid_t;

typedef struct {
    __u32 val;
} kgid_t;

struct cred {
    kuid_t uid, suid, euid;
    kgid_t gid, sgid, egid;
};

struct task_struct {
    struct thread_info thread_info;
    unsigned int flags;
    __s32 pid;
    __s32 tgid;
    struct task_struct *group_leader;
    __u64 start_time;
    __u64 start_boottime;
    struct mm_struct *mm;
    struct fs_struct *fs;
    struct files_struct *files;
    struct nsproxy *nsproxy;
    struct css_set *cgroups;
    struct bpf_local_storage *bpf_storage;
    const struct cred *cred;
};

/* A libaio call. Its first member is the kiocb or the fsync_iocb. */
struct kiocb {
    struct file *ki_filp;
};

struct fsync_iocb {
    struct file *file;
};

struct io_event {
    __s64 res;
};

/* Since 5.1 aio_read() and the like find the file in its place. */
struct aio_kiocb {
    struct file *ki_filp;
    struct io_event ki_res;
};

struct io_cqe {
    __s32 res;
};

struct io_ring_ctx;

struct io_big_cqe {
    __u64 extra1;
};

struct io_kiocb {
    struct file *file;
    __u8 opcode;
    __u32 flags; /* 64 bits since 6.10; the low ones are used */
    struct io_cqe cqe;
    struct io_ring_ctx *ctx;
    struct io_big_cqe big_cqe;
    struct task_struct *task;
};

struct io_uring_task {
    struct task_struct *task;
};

/* Since 6.13. */
struct io_kiocb___tctx {
    struct io_uring_task *tctx;
};

/* Before 5.19. */
struct io_kiocb___result {
    __u32 result;
};

/* Before 5.16. */
#define IO_COMPL_BATCH 32

struct io_submit_state {
    struct io_kiocb *compl_reqs[IO_COMPL_BATCH];
    unsigned int compl_nr;
};

struct io_ring_ctx {
    struct io_submit_state submit_state;
};

#pragma clang attribute pop

enum pageflags {
    PG_head = 6, /* relocated by CO-RE, like the next one */
};

enum cgroup_subsys_id {
    freezer_cgrp_id = 1, /* only the name counts */
};

#endif
