/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/job_states.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "collector/daemon/limited_log.h"
#include "collector/daemon/recorder.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define ENTRIES_MAX 1024
/* slurmctld gets few questions of each node: one at a time, and at most this often. */
#define GAP_NS (NS_PER_S / 10)
#define ACCURACY_US 10000
/* slurmctld hears of the end of a batch script, and of the epilog, shortly after jobiod. */
#define FIRST_NS NS_PER_S
#define RETRY_MAX_NS NS_PER_MINUTE
#define GIVE_UP_NS NS_PER_HOUR

/* Times are CLOCK_MONOTONIC. */
struct entry {
    LIST_ENTRY(entry) link;
    struct job_states *states;
    struct job_key key;
    uint64_t due_ns, give_up_ns, retry_ns;
    struct slurm_end end; /* not SLURM_STATE_UNKNOWN: it must be stored */
};

struct job_states {
    struct job_states_options options;
    struct writer *writer; /* NULL: not attached */
    LIST_HEAD(, entry) entries;
    size_t n;
    struct entry *busy; /* with the recorder or the writer; still in `entries` */
    uint64_t next_ns;   /* no question before that */
    sd_event_source *timer;
};

static void drop(struct entry *e)
{
    LIST_REMOVE(e, link);
    e->states->n--;
    free(e->key.cluster);
    free(e);
}

static struct entry *find_due(const struct job_states *states)
{
    struct entry *first = NULL, *e;

    LIST_FOREACH (e, &states->entries, link)
        if (!first || e->due_ns < first->due_ns)
            first = e;
    return first;
}

/* Wake up for the next entry, unless one is being asked for or stored. */
static void arm(struct job_states *states)
{
    const struct entry *e = states->busy ? NULL : find_due(states);
    uint64_t at;

    if (!e || !states->timer) {
        if (states->timer)
            (void)sd_event_source_set_enabled(states->timer, SD_EVENT_OFF);
        return;
    }
    at = e->due_ns > states->next_ns ? e->due_ns : states->next_ns;
    (void)sd_event_source_set_time(states->timer, at / 1000 + 1);
    (void)sd_event_source_set_enabled(states->timer, SD_EVENT_ONESHOT);
}

/* Try it again later, twice as late as the last time. */
static void put_off(struct entry *e)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (now >= e->give_up_ns) {
        drop(e);
        return;
    }
    e->due_ns = now + e->retry_ns;
    e->retry_ns = 2 * e->retry_ns < RETRY_MAX_NS ? 2 * e->retry_ns : RETRY_MAX_NS;
}

/* --- storing ---------------------------------------------------------------------------------- */

/* Behind the row that ends the job in the writer's queue. The sinks got that row without the state.
 */
static int run_put(struct store *store, void *arg, struct error *error)
{
    const struct entry *e = arg;
    const char *const *sinks = e->states->options.sinks;
    int r = store_put_slurm_end(store, &e->key, &e->end, error);

    for (; sinks && *sinks && r >= 0; sinks++)
        r = store_outbox_put_job(store, &e->key, *sinks, error);
    return r;
}

static void on_put(int result, const struct error *error, void *arg)
{
    struct entry *e = arg;
    struct job_states *states = e->states;

    states->busy = NULL;
    if (result < 0) {
        log_limited("states-store", 60, "job %u: its state in Slurm cannot be stored: %s",
                    e->key.jobid, error->text);
        put_off(e);
    } else {
        drop(e);
        if (states->options.sinks)
            states->options.queued(states->options.arg);
    }
    arm(states);
}

static void put(struct entry *e)
{
    struct job_states *states = e->states;

    if (states->writer && writer_submit(states->writer, true, run_put, on_put, e) == 0)
        states->busy = e;
    else
        put_off(e);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* Slurm was not reached: the other jobs wait as well. */
static void on_no_answer(struct entry *e, const struct error *error)
{
    log_limited("states-slurm", 3600,
                "job %u: Slurm cannot be queried for its state, it is shown as ended: %s",
                e->key.jobid, error->text);
    put_off(e);
}

static void on_state(int result, const struct slurm_end *end, const struct error *error, void *arg)
{
    struct entry *e = arg;
    struct job_states *states = e->states;

    states->busy = NULL;
    states->next_ns = clock_ns(CLOCK_MONOTONIC) + GAP_NS;
    if (result == 0) {
        e->end = *end;
        put(e);
    } else if (result == -ESRCH) { /* slurmctld has forgotten it */
        drop(e);
    } else if (result == -EAGAIN) {
        put_off(e);
    } else {
        states->next_ns += e->retry_ns;
        on_no_answer(e, error);
    }
    arm(states);
}

static void ask(struct entry *e)
{
    struct job_states *states = e->states;

    if (recorder_ask_state(states->options.recorder, e->key.jobid, e->key.restart, on_state, e,
                           NULL) == 0)
        states->busy = e;
    else
        put_off(e);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct job_states *states = arg;
    struct entry *e = states->busy ? NULL : find_due(states);

    (void)source, (void)usec;
    if (e && e->end.state != SLURM_STATE_UNKNOWN)
        put(e);
    else if (e)
        ask(e);
    arm(states);
    return 0;
}

/* --- the jobs --------------------------------------------------------------------------------- */

static int add(struct job_states *states, const struct job_key *key)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    struct entry *e = states->n < ENTRIES_MAX ? calloc(1, sizeof(*e)) : NULL;

    if (!e)
        return states->n < ENTRIES_MAX ? -ENOMEM : -EAGAIN;
    e->states = states;
    e->key = *key;
    e->key.cluster = strdup(key->cluster ? key->cluster : "");
    if (!e->key.cluster) {
        free(e);
        return -ENOMEM;
    }
    e->due_ns = now + FIRST_NS;
    e->give_up_ns = now + GIVE_UP_NS;
    e->retry_ns = NS_PER_S;
    LIST_INSERT_HEAD(&states->entries, e, link);
    states->n++;
    return 0;
}

void job_states_add(struct job_states *states, const struct job_account *job)
{
    if (!states || job->first_node)
        return;
    if (add(states, &job->key) < 0)
        log_limited("states-full", 60,
                    "job %u: too many jobs wait for their state in Slurm, it is shown as ended",
                    job->key.jobid);
    arm(states);
}

static int resume(const struct job_key *key, void *arg)
{
    return add(arg, key) == -EAGAIN;
}

int job_states_create(struct job_states **ret, const struct job_states_options *options,
                      struct store *store, struct error *error)
{
    struct job_states *states = calloc(1, sizeof(*states));
    uint64_t now = clock_ns(CLOCK_REALTIME);
    int r;

    if (!states)
        return error_set(error, -ENOMEM, "no memory");
    states->options = *options;
    LIST_INIT(&states->entries);
    r = sd_event_add_time(options->loop, &states->timer, CLOCK_MONOTONIC, 0, ACCURACY_US, on_timer,
                          states);
    r = r < 0 ? error_errno(error, r, "cannot set up the event loop")
              : store_each_stateless(store, now > GIVE_UP_NS ? now - GIVE_UP_NS : 0, resume, states,
                                     error);
    if (r < 0) {
        job_states_destroy(states);
        return r;
    }
    arm(states);
    *ret = states;
    return 0;
}

void job_states_attach(struct job_states *states, struct writer *writer)
{
    if (states)
        states->writer = writer;
}

void job_states_destroy(struct job_states *states)
{
    if (!states)
        return;
    sd_event_source_disable_unref(states->timer);
    while (LIST_FIRST(&states->entries))
        drop(LIST_FIRST(&states->entries));
    free(states);
}
