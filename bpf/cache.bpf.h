/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory-mapped files, and what each step brought into the page cache.
 *
 * Pages are added to the cache by the task that needs them. What the task is doing gives the
 * reason: a page fault (filemap_fault), readahead or advice (page_cache_async_ra, generic_fadvise),
 * a read by the kernel itself (__kernel_read: the head of a program that is executed), or else its
 * outermost call. A fault may happen inside a call: a read into a mapping faults on the mapping's
 * file, and only there.
 *
 * mmap_read: a fault that brought pages in is a request with their bytes, including readahead.
 * mmap_write: a fault that made a clean page writable is a request with one page, even if the file
 * system has larger folios: it maps that page only, and the next page faults again. The time of a
 * fault inside a call belongs to the call.
 */
#ifndef JOBIO_BPF_CACHE_H
#define JOBIO_BPF_CACHE_H

/* include/linux/mm_types.h, enum vm_fault_reason */
#define VM_FAULT_SIGBUS 0x2
#define VM_FAULT_ERROR 0x873
#define VM_FAULT_NOPAGE 0x100
#define VM_FAULT_LOCKED 0x200

static __always_inline struct task_record *cache_task(void)
{
    return who_has_no_steps() ? NULL : task_enter();
}

static __always_inline struct task_record *cache_find(void)
{
    return who_has_no_steps() ? NULL : task_find();
}

/* --- stages: where the task is ---------------------------------------------------------------- */

static __always_inline void stage_enter(struct task_record *task, struct stage *stage, void *ctx,
                                        const volatile struct hook_indexes *at,
                                        struct super_block *sb)
{
    stage->frame = (__u64)ctx;
    stage->witness = argument_at(ctx, at->argument);
    stage->sb = (__u64)sb;
    task->fill.mapping = 0;
}

/* Returns false if the entry was not seen. */
static __always_inline bool stage_leave(struct task_record *task, struct stage *stage, void *ctx)
{
    if (stage->frame != (__u64)ctx)
        return false;
    stage->frame = 0;
    task->fill.mapping = 0;
    if (!task->frame)
        fill_flush(task);
    return true;
}

static __always_inline bool stage_has(const struct stage *stage, void *ctx, enum hook_number hook)
{
    return stage->frame &&
           is_inside(stage->frame, stage->witness, hooks[hook].argument, (__u64)ctx);
}

/* Super block of the file as the user opened it. overlayfs maps and reads ahead the lower file. */
static __always_inline struct super_block *mapped_super(struct file *file)
{
    struct backing_file *backing = (struct backing_file *)file;
    struct super_block *sb;

    if (!bpf_core_field_exists(backing->user_path) ||
        !(file->f_mode & (FMODE_BACKING | FMODE_BACKING_NEW)))
        return file->f_path.dentry->d_sb;
    /* The flag's bit has moved between kernels, so also check that a valid path follows the file.
     */
    sb = BPF_CORE_READ(backing, user_path.dentry, d_sb);
    return sb && sb == BPF_CORE_READ(backing, user_path.mnt, mnt_sb) ? sb
                                                                     : file->f_path.dentry->d_sb;
}

static __always_inline int prefetch_enter(void *ctx, const volatile struct hook_indexes *at,
                                          struct file *file)
{
    struct task_record *task = cache_task();

    if (task)
        stage_enter(task, &task->prefetch, ctx, at, file ? mapped_super(file) : NULL);
    return 0;
}

static __always_inline int prefetch_leave(void *ctx)
{
    struct task_record *task = cache_find();

    if (task)
        stage_leave(task, &task->prefetch, ctx);
    return 0;
}

#define page_cache_async_ra_enter(ctx, at) prefetch_enter(ctx, at, NULL)
#define page_cache_async_ra_leave(ctx, at) prefetch_leave(ctx)
#define generic_fadvise_enter(ctx, at) \
    prefetch_enter(ctx, at, (struct file *)argument_at(ctx, (at)->argument))
#define generic_fadvise_leave(ctx, at) prefetch_leave(ctx)

/* Keep the super block of the file as it was opened: on overlayfs the pages are those of the lower
 * file. */
static __always_inline int kernel_read_enter(void *ctx, const volatile struct hook_indexes *at)
{
    struct task_record *task = cache_task();
    struct file *file;

    if (!task)
        return 0;
    file = (struct file *)argument_at(ctx, at->argument);
    if (is_data(file))
        stage_enter(task, &task->kernel_read, ctx, at, file->f_inode->i_sb);
    return 0;
}

static __always_inline int kernel_read_leave(void *ctx)
{
    struct task_record *task = cache_find();

    if (task)
        stage_leave(task, &task->kernel_read, ctx);
    return 0;
}

#define __kernel_read_enter(ctx, at) kernel_read_enter(ctx, at)
#define __kernel_read_leave(ctx, at) kernel_read_leave(ctx)

/* --- faults ----------------------------------------------------------------------------------- */

static __always_inline int fault_enter(void *ctx, const volatile struct hook_indexes *at)
{
    struct task_record *task = cache_task();
    struct vm_fault *fault;
    struct file *file;

    if (!task)
        return 0;
    fault = (struct vm_fault *)argument_at(ctx, at->argument);
    file = fault->vma->vm_file;
    if (!file || !is_data(file))
        return 0;
    fill_flush(task);
    /* Read the super block now: the fault may release the mapping while it reads. */
    stage_enter(task, &task->fault, ctx, at, mapped_super(file));
    task->fill.fault_bytes = 0;
    task->fault_start = bpf_ktime_get_ns();
    return 0;
}

/* Not inlined: it would be most of a program. */
static __noinline int fault_account(struct task_record *task, enum io_op op, __s64 bytes,
                                    bool waits)
{
    struct super_block *sb = (struct super_block *)task->fault.sb;
    struct call call = {.who = task->who, .op = op, .sb = sb, .result = bytes};
    struct account_value *value;

    call.dev = BPF_CORE_READ(sb, s_dev);
    call.time_ns = bpf_ktime_get_ns() - task->fault_start;
    if (waits)
        call.wait = &task->wait;
    call.hints = task->hints;
    value = account_find(&call);
    if (!value)
        return 0;
    add(&value->requests, 1);
    if (bytes < 0) { /* the errno is unknown */
        add_u32(&value->errors);
    } else {
        add(&value->bytes, bytes);
        add_u32(&value->size[bucket_of(bytes, 0)]);
    }
    account_time(&call, value);
    account_span(&call, call.time_ns);
    return 0;
}

/* Count a fault at its end. Inside a call, the time belongs to the call. */
static __always_inline int fault_end(void *ctx, enum io_op op, __s64 bytes)
{
    struct task_record *task = cache_task();

    if (!task)
        return 0;
    return fault_account(task, op, bytes, !task->frame || !call_is_inside(task, (__u64)ctx));
}

/* Returns true if a page of the file could not be read. Pages beyond its end are not failures. */
static __always_inline bool fault_failed(void *ctx, const volatile struct hook_indexes *at)
{
    struct vm_fault *fault = (struct vm_fault *)argument_at(ctx, at->argument);

    return (__u32)argument_at(ctx, at->result) & VM_FAULT_SIGBUS &&
           fault->pgoff * page_size < (__u64)fault->vma->vm_file->f_inode->i_size;
}

/* Returns the record of the task whose fault ends here, NULL if its entry was not seen. */
static __always_inline struct task_record *fault_leave(void *ctx)
{
    struct task_record *task = cache_find();

    if (!task || !stage_leave(task, &task->fault, ctx))
        return NULL;
    fill_flush(task);
    return task;
}

#define filemap_fault_enter(ctx, at) fault_enter(ctx, at)
#define do_page_mkwrite_enter(ctx, at) fault_enter(ctx, at)

static __always_inline int filemap_fault_leave(void *ctx, const volatile struct hook_indexes *at)
{
    struct task_record *task = fault_leave(ctx);

    if (!task)
        return 0;
    if (fault_failed(ctx, at))
        return fault_end(ctx, IO_MMAP_READ, -1);
    return task->fill.fault_bytes ? fault_end(ctx, IO_MMAP_READ, task->fill.fault_bytes) : 0;
}

static __always_inline int do_page_mkwrite_leave(void *ctx, const volatile struct hook_indexes *at)
{
    __u32 result;

    if (!fault_leave(ctx))
        return 0;
    result = argument_at(ctx, at->result);
    if (result & VM_FAULT_ERROR)
        return fault_end(ctx, IO_MMAP_WRITE, -1);
    /* If the page is not locked, it is gone or the fault is repeated. */
    if (!(result & VM_FAULT_LOCKED) || result & VM_FAULT_NOPAGE)
        return 0;
    return fault_end(ctx, IO_MMAP_WRITE, page_size);
}

/* --- pages ------------------------------------------------------------------------------------ */

static __always_inline __u32 folio_pages(struct folio *folio)
{
    struct folio___memdesc *memdesc = (struct folio___memdesc *)folio;
    struct folio___order *old = (struct folio___order *)folio;
    unsigned long flags;

    if (bpf_core_field_exists(memdesc->flags.f))
        flags = memdesc->flags.f;
    else
        flags = folio->flags;
    if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
        return 1;
    if (bpf_core_field_exists(old->_folio_order))
        return 1 << old->_folio_order;
    return 1 << (folio->_flags_1 & 0xff);
}

/* A file argument of the outermost call, only for bpf_probe_read; NULL if it has none. */
static __always_inline struct file *call_file(const struct task_record *task, __u8 index)
{
    struct file *file = NULL;

    if (index == task->argument)
        return (struct file *)task->witness;
    if (index != HOOK_NO_INDEX)
        bpf_probe_read_kernel(&file, sizeof(file), (void *)task->frame + 8 * index);
    return file;
}

/* Returns why a page of this inode was added, and sets the super block on which it counts: that of
 * the file in the call, which on overlayfs differs from the page's. */
static __always_inline enum io_fill fill_of_call(struct task_record *task, struct inode *page,
                                                 __u64 *sb)
{
    const volatile struct hook_indexes *at;
    struct file *source, *target, *file;
    enum io_fill kind = IO_FILL_READ;
    __u32 hook = task->hook;
    struct inode *inode;

    if (hook >= HOOK_COUNT)
        return kind;
    at = &hooks[hook];
    source = at->object == OBJECT_FILE ? call_file(task, at->argument) : NULL;
    target = call_file(task, at->target);
    file = target ? target : source;
    if (!file)
        return kind;
    inode = BPF_CORE_READ(file, f_inode);
    if (target && (target == source || !source || inode == page))
        kind = IO_FILL_WRITE;
    else if (target)
        inode = BPF_CORE_READ(source, f_inode);
    if (inode != page)
        *sb = (__u64)BPF_CORE_READ(inode, i_sb);
    return kind;
}

/* Find out why a page was added. Until the next call or stage starts or ends, more pages of its
 * file are added for the same reason. */
static __noinline int page_explain(void *ctx, struct task_record *task,
                                   struct address_space *mapping, __u32 pages)
{
    struct inode *inode = mapping->host;
    __u64 sb = (__u64)inode->i_sb;
    enum io_fill kind = IO_FILL_READ;
    bool inside = true;

    task = task_enter_as(task);
    if (!task || (inode->i_mode & S_IFMT) != S_IFREG)
        return 0;
    if (stage_has(&task->fault, ctx, HOOK_filemap_fault)) {
        sb = task->fault.sb;
        kind = IO_FILL_FAULT;
    } else if (stage_has(&task->kernel_read, ctx, HOOK___kernel_read)) {
        sb = task->kernel_read.sb;
    } else if (task->frame && call_is_inside(task, (__u64)ctx)) {
        kind = fill_of_call(task, inode, &sb);
    } else {
        inside = false;
    }
    if (stage_has(&task->prefetch, ctx, HOOK_page_cache_async_ra)) {
        if (task->prefetch.sb)
            sb = task->prefetch.sb;
        kind = IO_FILL_PREFETCH;
        inside = true;
    }
    if (kind == IO_FILL_READ)
        task->missed = 1;
    fill_start(task, sb, sb == (__u64)inode->i_sb ? inode->i_sb : NULL, kind);
    fill_add(task, pages);
    if (inside)
        task->fill.mapping = (__u64)mapping;
    else
        fill_flush(task);
    return 0;
}

static __always_inline int page_added(void *ctx, struct task_record *task,
                                      struct address_space *mapping, __u32 pages)
{
    if (!task || task->fill.mapping != (__u64)mapping)
        return page_explain(ctx, task, mapping, pages);
    fill_add(task, pages);
    return 0;
}

/* Nothing of the page is loaded for a task outside of steps. */
static __always_inline int on_page_added(void *ctx, const volatile struct hook_indexes *at)
{
    struct task_record *task;
    struct folio *folio;
    struct page *page;

    if (who_has_no_steps())
        return 0;
    task = task_find();
    if (task ? task_was_outside(task) : who_is_outside())
        return 0;
    if (at->object == OBJECT_FOLIO) {
        folio = (struct folio *)argument_at(ctx, at->argument);
        return page_added(ctx, task, folio->mapping, folio_pages(folio));
    }
    page = (struct page *)argument_at(ctx, at->argument);
    return page_added(ctx, task, page->mapping, 1);
}

#endif
