/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does a read or a write begin where the one before it on the same open file ended? Then it is
 * sequential, else random. The kernel does not keep that: its own memory of the last read
 * (f_ra.prev_pos) knows of no write, no O_DIRECT, no tmpfs. So the end of the last request is kept
 * here, by the address of the open file (struct file): whoever shares it (threads, dup, fork, a
 * descriptor that was sent) shares its order as well.
 *
 * The place of a file follows from its address: a line of an array (bpf/memory.bpf.h), with room
 * for seven. A file takes room at its first request, and gives it back when the kernel frees it.
 * Nobody is ever put out of his room, so that what stands there is always of the file whose address
 * stands there. Who finds none has requests of unknown order, and leaves a mark: a file that comes
 * later to such a line may be one that was there before, so that its first request is of unknown
 * order, too.
 *
 * The first request on an open file is sequential if it begins at 0, or if the file is open for
 * appending. Where a request began is where it ended less its bytes, because only its end knows
 * where one that appends was. A request that failed moved nothing: it begins and ends at the offset
 * that it was given. Of requests that overlap in time the one that ended last is the one before.
 */
#ifndef JOBIO_BPF_ORDER_H
#define JOBIO_BPF_ORDER_H

/* Where the last request ended is not known. */
#define ORDER_NOWHERE (~0ull)

/* Bytes, so that user space needs none of its types. */
__u8 memory_bytes[sizeof(struct memory)] __attribute__((aligned(64)));

static __always_inline struct memory *memory(void)
{
    return (struct memory *)memory_bytes;
}

/* Who gives out room in a line puts its lock here meanwhile: one only can. */
struct order_lock {
    __u32 line;
    __u32 number; /* struct order_line.locks: those before it are nobody's */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1024);
    __type(key, struct order_lock);
    __type(value, __u32);
} order_locks SEC(".maps");

/* The number that stands for an open file. The verifier lets nobody calculate with a pointer of the
 * kernel, but tells how far two pointers are apart: the other one is the same in all programs. */
static __always_inline __u64 order_name(const struct file *file)
{
    __u64 name = (__u64)file;

    asm volatile("%0 -= %1" : "+r"(name) : "r"(&levels));
    return name;
}

/* The same of an address that the verifier takes for a number. */
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

    /* The compiler would keep the number of the line, whose bound is lost on the stack. */
    asm volatile("" : "+r"(line));
    return line;
}

/* Take a line's lock. Whoever has it is soon done. */
static __always_inline bool order_lock(const struct order_line *line, struct order_lock *lock)
{
    __u32 mine = 1;

    for (int i = 0; i < 16; i++) {
        lock->number = *(const volatile __u32 *)&line->locks;
        if (bpf_map_update_elem(&order_locks, lock, &mine, BPF_NOEXIST))
            continue;
        if (lock->number == *(const volatile __u32 *)&line->locks)
            return true;
        bpf_map_delete_elem(&order_locks, lock); /* one that was given up meanwhile */
    }
    return false;
}

/* The kernel may refuse to delete an element (a program that has interrupted its work on the same
 * hash): the line's next lock is another one then, else it would stay locked for ever. */
static __always_inline void order_unlock(struct order_line *line, const struct order_lock *lock)
{
    if (bpf_map_delete_elem(&order_locks, lock))
        *(volatile __u32 *)&line->locks = lock->number + 1;
}

enum order_room { ORDER_NO_ROOM, ORDER_ROOM, ORDER_ROOM_OF_ANOTHER };

/* Give the file room in its line, if no other request has done so meanwhile. Not static: see
 * bpf/who.bpf.h. */
__noinline __u32 order_settle(__u64 file, __u64 end)
{
    struct order_lock lock = {.line = order_line_of(file)};
    struct order_line *line = order_line(file);
    __u32 room = ORDER_NO_ROOM;

    if (!order_lock(line, &lock)) {
        line->full = 1;
        return room;
    }
    for (int way = 0; way < ORDER_WAYS; way++)
        if (*(volatile __u64 *)&line->file[way] == file)
            room = ORDER_ROOM_OF_ANOTHER;
    for (int way = 0; way < ORDER_WAYS && !room; way++) {
        if (*(volatile __u64 *)&line->file[way])
            continue;
        *(volatile __u64 *)&line->end[way] = end;
        *(volatile __u64 *)&line->file[way] = file;
        room = ORDER_ROOM;
    }
    if (!room)
        line->full = 1;
    order_unlock(line, &lock);
    return room;
}

/* The last request ended at *last, and this one at `end`, which is known. */
static __always_inline __u32 order_step(__u64 *last, __u64 begin, __u64 end)
{
    __u64 before = *last;

    *last = end;
    if (before == begin)
        return ORDER_SEQUENTIAL;
    return before == ORDER_NOWHERE ? ORDER_UNKNOWN : ORDER_RANDOM;
}

/* By what stands there of the file. False: nothing does. */
static __always_inline bool order_find(struct order_line *line, __u64 file, __u64 begin, __u64 end,
                                       __u32 *order)
{
    for (int way = 0; way < ORDER_WAYS; way++) {
        if (line->file[way] != file)
            continue;
        if (end != ORDER_NOWHERE)
            *order = order_step(&line->end[way], begin, end);
        else
            line->end[way] = end;
        return true;
    }
    return false;
}

/* A request on the file has ended there, and this is its order. */
__noinline __u32 order_note(__u64 file, __u64 begin, __u64 end, __u32 appends)
{
    struct order_line *line = order_line(file);
    __u32 order = ORDER_UNKNOWN;

    if (!levels.orders || order_find(line, file, begin, end, &order))
        return order;
    switch (order_settle(file, end)) {
    case ORDER_NO_ROOM:
        return ORDER_UNKNOWN;
    case ORDER_ROOM_OF_ANOTHER: /* of two first requests the one that ended first */
        (void)order_find(line, file, begin, end, &order);
        return order;
    }
    if (*(volatile __u32 *)&line->full || end == ORDER_NOWHERE)
        return ORDER_UNKNOWN;
    return !begin || appends ? ORDER_SEQUENTIAL : ORDER_RANDOM;
}

/* What lies at the address that the function has of the file's offset: where the request ended. */
static __always_inline __u64 order_end(__u64 offset)
{
    __u64 end;

    return offset && !bpf_probe_read_kernel(&end, sizeof(end), (void *)offset) ? end
                                                                               : ORDER_NOWHERE;
}

/* The order of a request of that result, and where the next one has to begin. */
static __always_inline __u32 order_of(__u64 file, __u64 end, __s64 result, __u32 flags)
{
    return order_note(file, result > 0 ? end - result : end, end, flags & O_APPEND);
}

/* One of which nobody can tell. */
static __always_inline void order_blur(__u64 file)
{
    (void)order_of(file, ORDER_NOWHERE, 0, 0);
}

/* The kernel is about to free it. */
static __always_inline int order_forget(__u64 file)
{
    struct order_line *line = order_line(file);

    for (int way = 0; way < ORDER_WAYS; way++) {
        if (line->file[way] != file)
            continue;
        *(volatile __u64 *)&line->end[way] = ORDER_NOWHERE;
        *(volatile __u64 *)&line->file[way] = 0;
    }
    return 0;
}

#endif
