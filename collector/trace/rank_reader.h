/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that reads the ranks of the processes of one step: a process whose environment cannot be
 * read without waiting holds up only those of its own step. All functions are for one other thread.
 */
#ifndef JOBIO_COLLECTOR_TRACE_RANK_READER_H
#define JOBIO_COLLECTOR_TRACE_RANK_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/trace/rank.h"

struct rank_reader;

/* proc: as for rank_read(); must stay. Returns NULL if there is no memory or no thread for it. */
struct rank_reader *rank_reader_start(const char *proc);

struct rank_question {
    uint32_t pid;
    uint32_t program; /* comes back in the answer */
    uint64_t seen_ns; /* as for rank_read() */
};
struct rank_answer {
    uint32_t pid, program;
    uint32_t rank; /* with RANK_FOUND */
    enum rank_state state;
};
/* Returns false if too many questions have no answer that was taken: ask later. */
bool rank_reader_ask(struct rank_reader *reader, const struct rank_question *question);
/* Returns false if there is no answer. */
bool rank_reader_take(struct rank_reader *reader, struct rank_answer *ret);

/* End the thread when it can; does not wait. NULL is fine. Then only rank_reader_join() may follow.
 */
void rank_reader_stop(struct rank_reader *reader);
/* Returns true if the thread has ended; the reader is freed then. Waits for it this long. */
bool rank_reader_join(struct rank_reader *reader, uint64_t wait_ns);

#endif
