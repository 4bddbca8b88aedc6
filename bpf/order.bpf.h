/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A read or write is sequential if it starts where the previous one on the same open file ended,
 * else random. The kernel does not keep this: its record of the last read (f_ra.prev_pos) does not
 * cover writes, O_DIRECT or tmpfs. So the end of the last request is kept here, by the address of
 * the open file (struct file). All users of an open file (threads, dup, fork, a descriptor that was
 * sent) share its order.
 *
 * The address of a file selects a line of an array (bpf/memory.bpf.h) with seven ways. A file takes
 * a way when it is opened, and the way becomes free when the kernel frees the file. A file is never
 * evicted, so a way always belongs to the file whose address it holds. At the open no one else
 * knows the file, so one compare-and-swap is enough. Files whose open is not seen (those that the
 * step inherited; all before 5.12, which has no compare-and-swap) take one of the other ways at
 * their first request, under a lock, because several tasks may request at once. If a file finds no
 * free way, its requests have unknown order and the line is marked as full. A file
 * that takes a way in such a line later may have had requests before, so its first request has
 * unknown order, too.
 *
 * The first request on an open file is sequential if it starts at 0, or if the file is open for
 * appending. The start of an append is its end minus its bytes, because its offset is only known at
 * its end. A failed request moves nothing: it starts and ends at the given offset. If requests
 * overlap in time, the previous request is the one that ended last.
 */
#ifndef JOBIO_BPF_ORDER_H
#define JOBIO_BPF_ORDER_H

/* It is not known where the last request ended. */
#define ORDER_NOWHERE (~0ull)
/* There was no request yet. */
#define ORDER_FIRST (~1ull)

/* The key of a line's lock. It is in the map while its holder assigns a way; only one can insert
 * it. */
struct order_lock {
    __u32 line;
    __u32 number; /* struct order_line.locks; locks with lower numbers are abandoned */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1024);
    __type(key, struct order_lock);
    __type(value, __u32);
} order_locks SEC(".maps");

/* Returns a number that identifies an open file. The verifier forbids arithmetic on kernel pointers
 * but allows the difference of two pointers. The other pointer is the same in all programs. */
static __always_inline __u64 order_name(const struct file *file)
{
    __u64 name = (__u64)file;

    asm volatile("%0 -= %1" : "+r"(name) : "r"(&levels));
    return name;
}

/* The same for an address that is a plain number for the verifier. */
static __always_inline __u64 order_name_at(const struct file *file)
{
    const void *other = &levels;
    __u64 base = 0;

    bpf_probe_read_kernel(&base, sizeof(base), &other);
    return (__u64)file - base;
}

static __always_inline __u32 order_line_of(__u64 file)
{
    return (file >> 6) * 0x9e3779b97f4a7c15ull >> (64 - ORDER_LINES_LOG2);
}

static __always_inline struct order_line *order_line(__u64 file)
{
    struct order_line *line = &memory()->orders[order_line_of(file)];

    /* Keep the pointer: spilling the index to the stack loses its verifier bound. */
    asm volatile("" : "+r"(line));
    return line;
}

/* Take a line's lock; its holder keeps it only briefly. Returns false after 16 attempts. */
static __always_inline bool order_lock(const struct order_line *line, struct order_lock *lock)
{
    __u32 mine = 1;

    for (int i = 0; i < 16; i++) {
        lock->number = *(const volatile __u32 *)&line->locks;
        if (bpf_map_update_elem(&order_locks, lock, &mine, BPF_NOEXIST))
            continue;
        if (lock->number == *(const volatile __u32 *)&line->locks)
            return true;
        bpf_map_delete_elem(&order_locks, lock); /* it was abandoned meanwhile */
    }
    return false;
}

/* The kernel may refuse to delete an element (if this program interrupted its work on the same
 * hash). Then the line gets a new lock number, else it would stay locked forever. */
static __always_inline void order_unlock(struct order_line *line, const struct order_lock *lock)
{
    if (bpf_map_delete_elem(&order_locks, lock))
        *(volatile __u32 *)&line->locks = lock->number + 1;
}

/* Assign a way of its line to the file, unless another request has done so meanwhile. Not static:
 * see bpf/who.bpf.h. */
__noinline int order_assign_way(__u64 file)
{
    struct order_lock lock = {.line = order_line_of(file)};
    struct order_line *line = order_line(file);
    bool has_room = false;

    if (!order_lock(line, &lock)) {
        line->full = 1;
        return 0;
    }
    for (int way = 0; way < ORDER_WAYS; way++)
        if (*(volatile __u64 *)&line->file[way] == file)
            has_room = true;
    for (int way = 0; way < ORDER_WAYS && !has_room; way++) {
        if ((levels.opens && way < ORDER_OPEN_WAYS) || *(volatile __u64 *)&line->file[way])
            continue;
        *(volatile __u64 *)&line->end[way] = line->full ? ORDER_NOWHERE : ORDER_FIRST;
        *(volatile __u64 *)&line->file[way] = file;
        has_room = true;
    }
    if (!has_room)
        line->full = 1;
    order_unlock(line, &lock);
    return 0;
}

/* The order of a request, if the last one ended at *last. `end` must be known; it becomes *last. */
static __always_inline __u32 order_step(__u64 *last, __u64 begin, __u64 end, bool appends)
{
    __u64 before = *last;

    *last = end;
    if (before == begin)
        return ORDER_SEQUENTIAL;
    if (before == ORDER_FIRST)
        return !begin || appends ? ORDER_SEQUENTIAL : ORDER_RANDOM;
    return before == ORDER_NOWHERE ? ORDER_UNKNOWN : ORDER_RANDOM;
}

/* Get the order from the file's way and update the way. Returns false if the file has none. */
static __always_inline bool order_find(struct order_line *line, __u64 file, __u64 begin, __u64 end,
                                       bool appends, __u32 *order)
{
    for (int way = 0; way < ORDER_WAYS; way++) {
        if (line->file[way] != file)
            continue;
        if (end != ORDER_NOWHERE)
            *order = order_step(&line->end[way], begin, end, appends);
        else
            line->end[way] = end;
        return true;
    }
    return false;
}

/* Where the last request ended, if the file has the first way of its kind; NULL: look further. */
static __always_inline __u64 *order_usual(struct order_line *line, __u64 file)
{
    if (line->file[0] == file)
        return &line->end[0];
    return line->file[ORDER_OPEN_WAYS] == file ? &line->end[ORDER_OPEN_WAYS] : NULL;
}

/* Note that a request on the file ended at `end`. Returns its order (enum order). */
__noinline __u32 order_note(__u64 file, __u64 begin, __u64 end, __u32 appends)
{
    struct order_line *line = order_line(file);
    __u32 order = ORDER_UNKNOWN;

    if (!levels.orders || order_find(line, file, begin, end, appends, &order))
        return order;
    order_assign_way(file);
    (void)order_find(line, file, begin, end, appends, &order);
    return order;
}

/* Take a way for a file that has just been opened. */
static __always_inline void order_open(__u64 file)
{
    struct order_line *line = order_line(file);

    for (int way = 0; way < ORDER_OPEN_WAYS; way++)
        if (!line->file[way] && !__sync_val_compare_and_swap(&line->file[way], 0, file)) {
            line->end[way] = ORDER_FIRST;
            return;
        }
}

/* Read where the request ended; offset: the address of the function's file offset, or 0. */
static __always_inline __u64 order_end(__u64 offset)
{
    __u64 end;

    return offset && !bpf_probe_read_kernel(&end, sizeof(end), (void *)offset) ? end
                                                                               : ORDER_NOWHERE;
}

/* order_note() for a request with this result. */
static __always_inline __u32 order_of(__u64 file, __u64 end, __s64 result, __u32 flags)
{
    return order_note(file, result > 0 ? end - result : end, end, flags & O_APPEND);
}

/* Note a request whose offset is unknown. */
static __always_inline void order_note_unknown(__u64 file)
{
    (void)order_of(file, ORDER_NOWHERE, 0, 0);
}

/* Free the file's way, because the kernel is about to free the file. Returns whether a task of a
 * step opened the file by a path, as far as that is known. */
static __always_inline bool order_release_way(__u64 file)
{
    struct order_line *line = order_line(file);

    for (int way = 0; way < ORDER_WAYS; way++) {
        if (line->file[way] != file)
            continue;
        *(volatile __u64 *)&line->end[way] = ORDER_NOWHERE;
        *(volatile __u64 *)&line->file[way] = 0;
        return levels.opens && way < ORDER_OPEN_WAYS; /* it has one at most */
    }
    return false;
}

#endif
