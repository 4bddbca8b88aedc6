/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "tests/bpf/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/bpf/truth.h"

#define ENTRIES 64

static void *map(const struct ring *ring, size_t size, off_t what)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, what);

    if (at == MAP_FAILED)
        die("mmap of a ring");
    return at;
}

bool ring_open(struct ring *ring, unsigned flags)
{
    struct io_uring_params p = {.flags = flags, .sq_thread_idle = 1000};
    char *sq, *cq;

    memset(ring, 0, sizeof(*ring));
    ring->flags = flags;
    ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
    if (ring->fd < 0)
        return false;
    sq = map(ring, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    cq = map(ring, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    ring->sqes = map(ring, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
    ring->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
    ring->sq_head = (unsigned *)(sq + p.sq_off.head);
    ring->sq_tail = (unsigned *)(sq + p.sq_off.tail);
    ring->sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
    ring->sq_flags = (unsigned *)(sq + p.sq_off.flags);
    ring->sq_array = (unsigned *)(sq + p.sq_off.array);
    ring->cq_head = (unsigned *)(cq + p.cq_off.head);
    ring->cq_tail = (unsigned *)(cq + p.cq_off.tail);
    ring->cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
    return true;
}

struct io_uring_sqe *ring_next(struct ring *ring)
{
    unsigned slot = (*ring->sq_tail + ring->queued++) & *ring->sq_mask;

    ring->sq_array[slot] = slot;
    memset(&ring->sqes[slot], 0, sizeof(ring->sqes[slot]));
    return &ring->sqes[slot];
}

void ring_submit(struct ring *ring)
{
    unsigned n = ring->queued;

    __atomic_store_n(ring->sq_tail, *ring->sq_tail + n, __ATOMIC_RELEASE);
    ring->queued = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!(ring->flags & IORING_SETUP_SQPOLL))
        MUST(syscall(SYS_io_uring_enter, ring->fd, n, 0, 0, NULL, 0));
    else if (__atomic_load_n(ring->sq_flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)
        MUST(syscall(SYS_io_uring_enter, ring->fd, n, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0));
}

struct io_uring_cqe ring_wait(struct ring *ring)
{
    struct io_uring_cqe cqe;
    unsigned head = *ring->cq_head;

    while (head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE))
        if (syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
            errno != EINTR)
            die("io_uring_enter");
    cqe = ring->cqes[head & *ring->cq_mask];
    __atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
    return cqe;
}

int ring_do(struct ring *ring)
{
    ring_submit(ring);
    return ring_wait(ring).res;
}
