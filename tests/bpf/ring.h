/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring by its system calls: one request at a time, or several submitted together. */
#ifndef JOBIO_TESTS_BPF_RING_H
#define JOBIO_TESTS_BPF_RING_H

#include <linux/io_uring.h>
#include <stdbool.h>

struct ring {
    int fd;
    unsigned flags;
    unsigned *sq_head, *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail, *cq_mask;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
    unsigned queued;
};

/* flags: IORING_SETUP_*. False: this kernel lacks io_uring or the flag. */
bool ring_open(struct ring *ring, unsigned flags);
/* The next request, zeroed. */
struct io_uring_sqe *ring_next(struct ring *ring);
/* Submit what is queued. */
void ring_submit(struct ring *ring);
/* Wait for the next result. */
struct io_uring_cqe ring_wait(struct ring *ring);
/* Submit one request and wait for it. */
int ring_do(struct ring *ring);

#endif
