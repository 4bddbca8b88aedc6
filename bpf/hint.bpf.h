/* SPDX-License-Identifier: GPL-2.0 */
/* Which of a thread's hints (bpf/memory.bpf.h) is that of an operation on a super block. */
#ifndef JOBIO_BPF_HINT_H
#define JOBIO_BPF_HINT_H

#define HINT_BITS 20

/* There are more operations than hints, so 14 of them share seven. A program that uses the two
 * operations of a pair in turn looks up the counters of each call, so the pairs are operations that
 * programs seldom use in turn. */
static const __u8 hint_indexes[IO_OP_COUNT] = {
    [IO_READ] = 0,      [IO_WRITE] = 1,      [IO_MMAP_READ] = 2,  [IO_OPEN] = 3,
    [IO_CREATE] = 4,    [IO_STAT] = 5,       [IO_UNLINK] = 6,     [IO_RENAME] = 7,
    [IO_FSYNC] = 8,     [IO_SETATTR] = 9,    [IO_GETXATTR] = 10,  [IO_CLOSE] = 11,
    [IO_LOOKUP] = 12,   [IO_COPY_READ] = 13, [IO_RMDIR] = 13,     [IO_COPY_WRITE] = 14,
    [IO_MKNOD] = 14,    [IO_CLONE] = 15,     [IO_FALLOCATE] = 15, [IO_MMAP_WRITE] = 16,
    [IO_SYMLINK] = 16,  [IO_SETXATTR] = 17,  [IO_LINK] = 17,      [IO_READDIR] = 18,
    [IO_TRUNCATE] = 18, [IO_LOCK] = 19,      [IO_MKDIR] = 19,
};

static __always_inline struct hint *hint_of(struct hint *hints, enum io_op op, __u32 dev)
{
    __u32 number = (op < IO_OP_COUNT ? hint_indexes[op] : 0) + dev;
    /* number % ACCOUNT_HINTS without a division, which takes longer. */
    __u32 at = number - (number * 0xcccccccdull >> 36) * ACCOUNT_HINTS;

    _Static_assert(ACCOUNT_HINTS == 20, "2^36 / 20 is 0xcccccccd");

    /* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
    asm volatile("" : "+r"(at));
    return &hints[at < ACCOUNT_HINTS ? at : 0];
}

static __always_inline __u32 hint_tag(__u32 op, __u32 shard)
{
    return shard << 5 | op;
}

#endif
