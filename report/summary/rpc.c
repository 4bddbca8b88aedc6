/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the NFS client: whether a job waited for the server or for this node. */
#include "report/summary/summary.h"

#include "common/numbers.h"
#include "common/text_buffer.h"

/* Less of the run time is not worth the words. */
#define LEAST_PERCENT 5

/* Requests overlap, and the kernel makes some ahead of the program: if they took longer than the
 * wait, it is split in the proportion of their times. If they took less, the rest of the wait is of
 * neither; if less than half of it, that explains too little. */
static bool split(const struct io_summary *s, const struct summary_row *row,
                  struct summary_rpc_wait *ret)
{
    const struct rpc_account *rpc = row->mount->rpc;
    const uint64_t wait_ns = row->sums.all.time_ns;
    struct rpc_counter sum;
    double whole_ns;

    if (!rpc || rpc->incomplete)
        return false;
    sum = rpc_classes_sum(rpc->own);
    if (!sum.time_ns || sum.time_ns < wait_ns / 2)
        return false;
    ret->mount = row->mount;
    ret->percent = summary_waiting(s, wait_ns);
    whole_ns = (double)max_u64(sum.time_ns, wait_ns);
    ret->server = ret->percent * (double)sum.server_ns / whole_ns;
    ret->queued = ret->percent * (double)sum.queued_ns / whole_ns;
    return ret->percent >= LEAST_PERCENT;
}

bool summary_find_rpc_wait(const struct io_summary *s, struct summary_rpc_wait *ret)
{
    for (size_t i = 0; i < s->n; i++)
        if (split(s, &s->rows[i], ret))
            return true;
    return false;
}

static void write_classes(FILE *out, const struct rpc_counter *classes)
{
    const char *between = "";
    char calls[UNITS_SIZE];

    for (int i = 0; i < RPC_CLASS_COUNT; i++) {
        if (rpc_counter_is_empty(&classes[i]))
            continue;
        (void)fprintf(out, "%s%s %s", between, rpc_class_name(i),
                      units_count(classes[i].calls, calls));
        between = ", ";
    }
}

static void write_times(FILE *out, const struct rpc_counter *sum)
{
    char server[UNITS_SIZE], queued[UNITS_SIZE], again[UNITS_SIZE];

    (void)fprintf(out, "; %s of their time at the server, %s in the client's queue",
                  units_percent(sum->server_ns, sum->time_ns, server),
                  units_percent(sum->queued_ns, sum->time_ns, queued));
    if (sum->retransmissions)
        (void)fprintf(out, "; %s sent again", units_count(sum->retransmissions, again));
}

char *summary_rpc(const struct io_mount *m)
{
    struct rpc_counter own, shared;
    struct text_buffer text;
    char calls[UNITS_SIZE];

    if (!m->rpc)
        return NULL;
    own = rpc_classes_sum(m->rpc->own);
    shared = rpc_classes_sum(m->rpc->shared);
    if ((!own.calls && !shared.calls && !m->rpc->incomplete) || !text_buffer_open(&text))
        return NULL;
    (void)fprintf(text.out, "NFS requests%s: ", m->rpc->incomplete ? ", at least" : "");
    if (!own.calls)
        (void)fputs("none", text.out);
    write_classes(text.out, m->rpc->own);
    if (own.time_ns)
        write_times(text.out, &own);
    if (shared.calls)
        (void)fprintf(text.out, "; %s%s of kernel threads, for all users of the mount",
                      m->rpc->shared_at_most ? "at most " : "", units_count(shared.calls, calls));
    return text_buffer_take(&text);
}
