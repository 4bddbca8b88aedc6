/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What I/O cost the job, in one sentence. */
#include "report/summary/summary.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/utf8.h"
#include "report/advice/advice.h"

/* Less of the run time is harmless. */
#define LEAST_PERCENT 5
#define PLACES 3

#define BIT(op) (UINT64_C(1) << (op))

/* What a thread waits for, in words of the programmer; the same groups of calls as in the table and
 * the notes. create is part of open. */
static const struct {
    const char *words;
    uint64_t ops;
} kinds[] = {
    {"reading", BIT(IO_READ) | BIT(IO_COPY_READ)},
    {"writing", BIT(IO_WRITE) | BIT(IO_COPY_WRITE)},
    {"mapped files on", BIT(IO_MMAP_READ) | BIT(IO_MMAP_WRITE)},
    {"opening files on", BIT(IO_OPEN)},
    {"looking up files on", BIT(IO_STAT) | BIT(IO_LOOKUP)},
    {"listing directories in", BIT(IO_READDIR)},
    {"removing files from", BIT(IO_UNLINK) | BIT(IO_RMDIR)},
    {"syncing", BIT(IO_FSYNC)},
    {"closing files on", BIT(IO_CLOSE)},
    {"locking files on", BIT(IO_LOCK)},
};

/* All other operations. */
#define OTHER "other calls on"

struct place {
    const char *words, *mount;
    uint64_t time_ns;
};

static uint64_t time_of(const struct io_mount *m, uint64_t ops)
{
    uint64_t time_ns = 0;

    for (unsigned op = 0; op < IO_OP_COUNT; op++)
        if (ops & BIT(op) && m->io.ops[op])
            time_ns += m->io.ops[op]->time_ns;
    return time_ns;
}

/* Insert; keeps the longest, longest first. */
static void add_place(struct place places[PLACES], struct place new)
{
    for (size_t i = 0; i < PLACES; i++)
        if (new.time_ns > places[i].time_ns) {
            struct place old = places[i];

            places[i] = new;
            new = old;
        }
}

static void add_mount(struct place places[PLACES], const struct io_mount *m)
{
    uint64_t rest = ~(BIT(IO_CREATE));

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        rest &= ~kinds[i].ops;
        add_place(places, (struct place){kinds[i].words, m->mount, time_of(m, kinds[i].ops)});
    }
    add_place(places, (struct place){OTHER, m->mount, time_of(m, rest)});
}

static void write_places(FILE *out, const struct io_summary *s, size_t most)
{
    struct place places[PLACES] = {{NULL, NULL, 0}};
    const char *between = ": ";

    for (size_t i = 0; i < s->n; i++)
        add_mount(places, s->rows[i].mount);
    for (size_t i = 0; i < most && summary_waiting(s, places[i].time_ns) >= 1; i++) {
        _free_ char *mount = utf8_sanitize(places[i].mount);

        (void)fprintf(out, "%s%s %s %.0f %%", between, places[i].words, mount ? mount : "?",
                      summary_waiting(s, places[i].time_ns));
        between = ", ";
    }
}

/* What the job waited for on the NFS mount. */
static void write_rpc_wait(FILE *out, const struct summary_rpc_wait *wait)
{
    _free_ char *mount = utf8_sanitize(wait->mount->mount);

    (void)fprintf(out, "; %.0f %% waiting on %s: %.0f %% server, %.0f %% client queue",
                  wait->percent, mount ? mount : "?", wait->server, wait->queued);
}

/* Whether the job has notes about errors. */
static bool has_errors(const struct io_summary *s)
{
    const struct advice_notes *notes = s->notes;

    return notes && notes->n && notes->items[0].level == ADVICE_ERROR;
}

static bool waited_little(const struct io_summary *s)
{
    return summary_waiting(s, s->total.sums.all.time_ns) < LEAST_PERCENT;
}

/* Many threads may have waited long in sum though none did by itself: whether other threads waited
 * for them is unknown. */
bool summary_is_harmless(const struct io_summary *s)
{
    return waited_little(s) && s->total.sums.all.time_ns / LEAST_PERCENT < s->job->elapsed_ns / 100;
}

/* The wait of an incomplete account is a lower bound. */
static void write_verdict(FILE *out, const struct io_summary *s)
{
    const char *least = job_is_complete(s->job) ? "" : "at least ";
    char waiting[UNITS_SIZE], together[UNITS_SIZE];
    struct summary_rpc_wait rpc;

    units_percent(s->wait_ns, s->job->elapsed_ns, waiting);
    if (summary_is_harmless(s)) {
        if (*least || has_errors(s))
            (void)fprintf(out, "I/O took %s%s of the run time", least, waiting);
        else
            (void)fprintf(out,
                          "I/O was not the bottleneck (%s of the run time): nothing to improve",
                          waiting);
    } else if (waited_little(s)) {
        (void)fprintf(out, "all threads together waited %s%s for I/O, ", least,
                      summary_time(s->total.sums.all.time_ns, together));
        (void)fprintf(out, "none of them longer than %s of the run time%s", waiting,
                      *least ? ", as far as known" : "");
    } else {
        (void)fprintf(out, "%s%s of the run time was spent waiting for I/O", least, waiting);
        if (summary_find_rpc_wait(s, &rpc)) { /* the text has room for two lines */
            write_places(out, s, PLACES - 1);
            write_rpc_wait(out, &rpc);
        } else {
            write_places(out, s, PLACES);
        }
    }
}

char *summary_verdict(const struct io_summary *s)
{
    struct text_buffer text;

    if (job_not_counted(s->job) || !s->n || !s->job->elapsed_ns || !text_buffer_open(&text))
        return NULL;
    write_verdict(text.out, s);
    return text_buffer_take(&text);
}
